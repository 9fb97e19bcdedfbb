"""The nouns: frozen values that travel along the two journeys, ingest and ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:  # numpy costs 60 ms to import, and these are annotations only
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]
    """One embedding, shape (dimensions,), unit length."""
    Matrix: TypeAlias = NDArray[np.float32]
    """Embeddings in the order of their texts, shape (texts, dimensions), each of unit length."""

PUBLIC = "public"
"""The audience that everybody belongs to."""

Strategy: TypeAlias = Literal["basic", "summary", "summary_parent"]
"""How a document is made searchable: passages embedded and given to the model; large passages whose summary is embedded
and given; large passages whose summary is embedded while the passage itself is given."""

Cursor: TypeAlias = str
"""Where a source was read up to: opaque to everybody but the source that wrote it."""

__all__ = [
    "PUBLIC",
    "Answer",
    "Batch",
    "CandidateRank",
    "Check",
    "Chunk",
    "Citation",
    "Counts",
    "Cursor",
    "Document",
    "DocumentInfo",
    "EmbeddedDocument",
    "Failure",
    "Filters",
    "Hit",
    "IndexVersion",
    "Message",
    "Plan",
    "Question",
    "Recipe",
    "Reranking",
    "SourceState",
    "Strategy",
    "Trace",
    "Usage",
]


# --------------------------------------------------------------------------------------------------------- ingest


@dataclass(frozen=True, slots=True)
class Document:
    """A page, thread, issue or file. A source yields it as it has it; conversion turns it into Markdown.

    `id` is unique in an index and the same in every run; it starts with `source_id` and a colon.
    `text` is what the source gave, in `format` (a key of `convert.FORMATS`, "markdown" once converted). A source that
    holds bytes gives them in `data` and leaves `text` empty: conversion finds the charset and decodes.
    `url` is the page's public address, or "" where it has none. `metadata` holds JSON values only.
    """

    id: str
    source_id: str
    url: str
    title: str
    text: str
    format: str = "markdown"
    updated_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    audiences: tuple[str, ...] = (PUBLIC,)
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be read or converted: which, and why, in words a person can act on."""

    document_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Batch:
    """A piece of what a source holds. `cursor` is where to go on once this batch, and all before it, is indexed."""

    documents: tuple[Document, ...]
    cursor: Cursor | None = None
    deleted_ids: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: `text` is `document.text[start:end]` of the converted document, to the letter.

    `id` is a uuid5 of document id, heading path and text (and a counter where these repeat in one document).
    `headings` is the path of headings above the passage, outermost first, without the title.
    `summary` is what is embedded instead of the text, in strategies that make one; otherwise "". `strategy` is the one
    that the passage was made by.
    """

    id: str
    document_id: str
    source_id: str
    url: str
    title: str
    headings: tuple[str, ...]
    text: str
    position: int
    start: int
    end: int
    summary: str = ""
    audiences: tuple[str, ...] = (PUBLIC,)
    updated_at: datetime | None = None
    strategy: Strategy = "basic"

    @property
    def passage(self) -> str:
        """The text below the title and headings that it stands under: what keyword search and rerankers read."""
        return "\n".join((" > ".join((self.title, *self.headings)), self.text))

    @property
    def embedded_text(self) -> str:
        """What is embedded."""
        return self.summary or self.passage

    @property
    def given_text(self) -> str:
        """What a language model is given to answer from. What is cited, quoted and checked against is always `text`."""
        return self.summary if self.strategy == "summary" and self.summary else self.text

    @property
    def content_hash(self) -> str:
        """sha256 of what is embedded: equal hash, equal vector."""
        return sha256(self.embedded_text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class EmbeddedDocument:
    """A document ready to be stored: converted, split and embedded. `vectors` has one row for each chunk."""

    document: Document
    fingerprint: str
    chunks: tuple[Chunk, ...]
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A kept document without its text: what the documents of a source are told apart and compared by."""

    id: str
    url: str
    title: str
    audiences: tuple[str, ...]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Counts:
    """What a store holds. `recorded_chunks` is the sum that the documents say they have; it must equal `chunks`."""

    documents: int
    chunks: int
    recorded_chunks: int


@dataclass(frozen=True, slots=True)
class SourceState:
    """What the store remembers of a source's last sync; `report` is the sync's own summary as JSON values.

    `recipe` names the converter that made the documents: by another one they are made anew.
    """

    source_id: str
    cursor: Cursor | None = None
    recipe: str = ""
    status: Literal["ok", "warning", "failed"] = "ok"
    synced_at: datetime | None = None
    failures: tuple[Failure, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How passages and vectors are made of the kept documents: what two versions of an index differ in.

    `choices` are the settings that make the same splitter and embedder again, and how a server is to lay them out.
    """

    embedder: str
    dimensions: int
    splitter: str = ""
    strategy: str = "passages"
    choices: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """What the manifest says of one version. One is live; another is "building" until every document is in it.

    `schema` is the number of the code's layout of passages; `counts` were taken when it became ready (None before),
    `scores` when it was judged; `promoted_at` is when it last became the live one (None: never).
    """

    number: int
    recipe: Recipe
    schema: int
    status: Literal["building", "ready"]
    created_at: datetime
    ready_at: datetime | None = None
    promoted_at: datetime | None = None
    counts: Counts | None = None
    scores: Mapping[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------------------------------------------------ ask


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation, as chat models take it.

    In a question's history, "user" is who asks, and "other" anybody else: what they wrote is context, and nothing is
    done on their word.
    """

    role: Literal["system", "user", "assistant", "other"]
    content: str


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asks. `sources` narrows the search to source ids (empty: all); `audiences` are those the asker
    belongs to; `history` is the conversation so far, oldest first.

    `surface` is where it was asked ("cli", "airflow", "slack" …) and `asker` who asked, by an id that says nothing
    about the person; both are for the records alone.
    """

    text: str
    history: tuple[Message, ...] = ()
    sources: tuple[str, ...] = ()
    audiences: tuple[str, ...] = (PUBLIC,)
    surface: str = ""
    asker: str = ""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a question itself narrows the search to ("in #support, since March"). They never widen what it may see.

    `sources` are ids (empty: all). A passage fits when it was changed at `updated_after` or later, and before
    `updated_before`; both are aware times, None where the question sets no bound.
    """

    sources: tuple[str, ...] = ()
    updated_after: datetime | None = None
    updated_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question is searched: the stand-alone question, its wordings (three with a model), and whether at all.

    Without a search it is answered from the assistant's global context (`from_context`), or it is small talk.
    """

    question: str
    wordings: tuple[str, ...]
    search: bool = True
    filters: Filters = Filters()
    from_context: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found. `score` orders the list it is in (higher is better, comparable within it only).

    `vector_score` is the cosine to the query and `keyword_score` its BM25, None where not computed;
    `vector` is the chunk's embedding, for rerankers that want it.
    """

    chunk: Chunk
    score: float
    vector_score: float | None = None
    keyword_score: float | None = None
    vector: Vector | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that the answer cites as `[number]`; `quote` is a verbatim piece of the passage."""

    number: int
    document_id: str
    chunk_id: str
    source_id: str
    url: str
    title: str
    headings: tuple[str, ...]
    quote: str


@dataclass(frozen=True, slots=True)
class Check:
    """What the check of an answer kept and took out: citation numbers that point nowhere, links and commands in no
    source. `unsupported` are sentences that the passages they cite do not bear out, and names in code that no source
    has; `misquoted` are quotations that are in no cited passage; both are marked in the answer. `uncited` is how many
    sentences state a fact without a citation, `cited` how many state one with a citation, and `supported` how many of
    these the cited passages bear out.
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


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call of a model took. `stage` is the step of the journey that made it: "plan", "rerank", "answer" …

    Tokens are None where the provider does not say, `cost` (US dollars) where the model's price is not known.
    """

    model: str
    stage: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class CandidateRank:
    """Where a passage stood: its place among the candidates of the search, and after reranking (None: not kept).

    Places start at 1. `score` is the one that the search ordered by.
    """

    chunk_id: str
    document_id: str
    title: str
    found_at: int
    reranked_at: int | None
    score: float


@dataclass(frozen=True, slots=True)
class Reranking:
    """The best passages, best first; the name of the reranker that ordered them ("" for the order of the search); and
    every fallback taken on the way there.
    """

    hits: tuple[Hit, ...]
    reranker: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """How an answer came about. `seconds` has a figure for each stage; `notes` names every fallback taken.

    `ranking` has the candidates in the order of the search, `usage` every call of a model, `prompts` the version (a
    hash of its text) of each prompt that was used, and `version` the number of the index version that was searched.
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


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person gets: Markdown with `[n]`, and the citations that the numbers mean.

    `found` is False when nothing in the index answers; `nearest` then lists the closest pages. `id` is unique to this
    asking: records, feedback and replays name the answer by it.
    """

    question: Question
    text: str
    citations: tuple[Citation, ...]
    found: bool
    trace: Trace
    nearest: tuple[Citation, ...] = ()
    id: str = ""
