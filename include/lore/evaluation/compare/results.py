"""Results of a comparison of strategies: how each index was built, and how each way to search it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

from lore.errors import ConfigurationError
from lore.types import Strategy

__all__ = [
    "RETRIEVALS",
    "STRATEGIES",
    "AnswerFigures",
    "AnswerOutcome",
    "Comparison",
    "IndexBuild",
    "IndexPlan",
    "PairScore",
    "QuestionOutcome",
    "Retrieval",
    "SearchOutcome",
]

Retrieval: TypeAlias = Literal["none", "keyword", "vector", "hybrid", "hybrid+rerank"]
RETRIEVALS: tuple[Retrieval, ...] = get_args(Retrieval)
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
SMALLEST, LARGEST = 200, 100_000


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """An index to build: the strategy, and the characters of a passage (None: the strategy's default)."""

    strategy: Strategy
    characters: int | None = None

    @property
    def name(self) -> str:
        return f"{self.strategy}:{self.characters}" if self.characters else self.strategy

    @staticmethod
    def parse(text: str) -> IndexPlan:
        """Parse "STRATEGY" or "STRATEGY:CHARACTERS". Raises ConfigurationError."""
        name, _, characters = text.partition(":")
        strategy = next((strategy for strategy in STRATEGIES if strategy == name), None)
        if strategy is None:
            raise ConfigurationError(f"Unknown strategy {name!r}.", remedy=f"Known: {', '.join(STRATEGIES)}.")
        if not characters:
            return IndexPlan(strategy)
        if not characters.isdecimal() or not SMALLEST <= int(characters) <= LARGEST:
            raise ConfigurationError(
                f"{text!r} names no size of passages.",
                remedy=f"Write {name}:N with {SMALLEST} to {LARGEST:,} characters.",
            )
        return IndexPlan(strategy, int(characters))


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """The cost of building one index.

    `embedded_tokens` are estimated from characters. This run made `summary_calls` of the `summaries`; the others came
    from the cache. Their tokens are the model's own figures, None if it gave none. `cost` is in US dollars, None if a
    price is unknown.
    """

    name: str
    splitter: str
    summarizer: str
    documents: int
    failed: int
    vectors: int
    mean_characters: float
    embedded_tokens: int
    summaries: int
    summary_calls: int
    summary_input_tokens: int | None
    summary_output_tokens: int | None
    cost: float | None
    embedding_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """Means over the answered questions. `cites_page` is the share of answers that cite a judged page, `mentions` the
    share of the expected words that they contain (None if no question names any).

    `input_tokens` and `output_tokens` are the model's own figures for the call that writes the answer.
    """

    questions: int
    found: float
    cites_page: float | None
    mentions: float | None
    input_tokens: float | None
    output_tokens: float | None
    cost: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class PairScore:
    """One way to search one index: means over the questions.

    `recall_at_10` and the other rank metrics are about pages. `context_tokens` is the estimated size of the passages
    that the answer is written from; seconds are those of the search alone. `difference` is that of nDCG@10 to the first
    index searched the same way, `lower` and `upper` its one-sided bounds at 95 % each (None for the first). All are
    None for "none".
    """

    index: str
    retrieval: Retrieval
    ndcg_at_10: float | None = None
    recall_at_10: float | None = None
    mrr_at_10: float | None = None
    context_tokens: float = 0.0
    seconds_p50: float | None = None
    seconds_p95: float | None = None
    difference: float | None = None
    lower: float | None = None
    upper: float | None = None
    answers: AnswerFigures | None = None

    @property
    def name(self) -> str:
        return f"{self.index} · {self.retrieval}" if self.index else self.retrieval


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """One question searched one way: `rank` is that of the first judged page (None: not found)."""

    ndcg: float
    recall: float
    reciprocal_rank: float
    rank: int | None
    context_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """One question answered one way; `seconds` is the time of the whole answer."""

    text: str
    found: bool
    cites_page: bool | None
    mentions: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """One question: the search and answer outcomes by the names of the ways."""

    id: str
    question: str
    pages: tuple[str, ...]
    searches: Mapping[str, SearchOutcome]
    answers: Mapping[str, AnswerOutcome]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A whole comparison, with the settings that it holds for."""

    corpus: str
    question_set: str
    made_at: str
    documents: int
    failed: int
    questions: int
    left_out: int
    embedder: str
    reranker: str
    chat_model: str
    alpha: float
    retrieve_limit: int
    rerank_limit: int
    indexes: tuple[IndexBuild, ...]
    pairs: tuple[PairScore, ...]
    outcomes: tuple[QuestionOutcome, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return asdict(self)
