"""Values of a question's journey: question, plan, hits, citations, answer and trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from lore.types.index import PUBLIC, Chunk

if TYPE_CHECKING:
    from lore.types.index import Vector

__all__ = [
    "Answer",
    "CandidateRank",
    "Check",
    "Citation",
    "Filters",
    "Hit",
    "Message",
    "Plan",
    "Question",
    "Reranking",
    "Trace",
    "Usage",
]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation, in the roles of chat models.

    In a question's history "user" is the asker, and "other" anybody else. Messages of others are context only: they
    set no filter and give no instruction.
    """

    role: Literal["system", "user", "assistant", "other"]
    content: str


@dataclass(frozen=True, slots=True)
class Question:
    """A person's question, the limits of its search, and the conversation so far, oldest message first.

    `sources` are the ids to search (empty: all); `audiences` are those of the asker. `surface` is the place of asking
    ("cli", "airflow", "slack" …) and `asker` a pseudonymous id; both serve the records alone.
    """

    text: str
    history: tuple[Message, ...] = ()
    sources: tuple[str, ...] = ()
    audiences: tuple[str, ...] = (PUBLIC,)
    surface: str = ""
    asker: str = ""


@dataclass(frozen=True, slots=True)
class Filters:
    """Limits that a question's own words set ("in #support, since March"). They never widen its audience or sources.

    `sources` are ids (empty: all). A passage matches when it was changed at `updated_after` or later and before
    `updated_before`: aware times, or None.
    """

    sources: tuple[str, ...] = ()
    updated_after: datetime | None = None
    updated_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The search for a question: its stand-alone form, its wordings (three with a model) and its filters.

    Without `search` the answer comes from the global context (`from_context`), or the message is small talk.
    """

    question: str
    wordings: tuple[str, ...]
    search: bool = True
    filters: Filters = Filters()
    from_context: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that a search found. `score` orders its own list only; higher is better.

    `vector_score` is the cosine to the query and `keyword_score` its BM25, None if not computed. `vector` is the
    chunk's embedding, for rerankers.
    """

    chunk: Chunk
    score: float
    vector_score: float | None = None
    keyword_score: float | None = None
    vector: Vector | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that the answer cites as `[number]`; `quote` is a verbatim piece of the passage.

    `updated_at` is when the cited document changed last; None if its source doesn't say.
    """

    number: int
    document_id: str
    chunk_id: str
    source_id: str
    url: str
    title: str
    headings: tuple[str, ...]
    quote: str
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """The result of checking an answer: citations kept, and everything that was removed or marked.

    Removed: citations of no passage, links and commands that no source has. Marked: `unsupported` sentences or names in
    code, and `misquoted` quotations. `cited` and `uncited` count factual sentences with and without a citation, and
    `supported` counts the cited ones that their passages support. `unverified` are those that a model's verification
    took out.
    """

    kept_citations: tuple[int, ...] = ()
    dropped_citations: tuple[str, ...] = ()
    dropped_links: tuple[str, ...] = ()
    dropped_commands: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    misquoted: tuple[str, ...] = ()
    uncited: int = 0
    cited: int = 0
    supported: int = 0
    unverified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens and cost of one model call. `stage` is the step that made it: "plan", "rerank", "answer" …

    Tokens are None if the provider doesn't report them; `cost`, in US dollars, is None without a known price.
    """

    model: str
    stage: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class CandidateRank:
    """A candidate's place after the search and after reranking (None: not kept). Places start at 1.

    `score` is the one that the search ordered by.
    """

    chunk_id: str
    document_id: str
    title: str
    found_at: int
    reranked_at: int | None
    score: float


@dataclass(frozen=True, slots=True)
class Reranking:
    """The best passages, best first, with notes on every fallback. `reranker` is "" for the order of the search."""

    hits: tuple[Hit, ...]
    reranker: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """The record of an answer's making. `seconds` has a figure for each stage; `notes` names every fallback.

    `ranking` lists the candidates in the order of the search and `usage` every model call. `prompts` maps each prompt
    to a hash of its text. `version` is the number of the index version that was searched. `ignored` says which parts of
    a model's reply the plan didn't use.
    """

    plan: Plan
    retrieved: int = 0
    candidates: int = 0
    passages: tuple[Hit, ...] = ()
    ranking: tuple[CandidateRank, ...] = ()
    check: Check = Check()
    models: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    usage: tuple[Usage, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    version: int | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in Markdown with `[n]`, and the citations that the numbers refer to.

    `found` is False when nothing in the index answers; `nearest` then lists the closest pages. `id` is unique: records,
    feedback and replays refer to the answer by it.
    """

    question: Question
    text: str
    citations: tuple[Citation, ...]
    found: bool
    trace: Trace
    nearest: tuple[Citation, ...] = ()
    id: str = ""
