"""Results of an evaluation of the live index: each question with its search, answer and verdict, and the means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from lore.evaluation.report.read_back import read_back

__all__ = [
    "Assessment",
    "Changes",
    "Costs",
    "Figure",
    "FigureChange",
    "QuestionChange",
    "QuestionResult",
    "Setup",
    "Timing",
    "VerdictName",
]

VerdictName: TypeAlias = Literal["correct", "partly", "wrong", "no answer"]
RIGHTLY_NOT_ANSWERED = "rightly not answered"
CITES_A_RIGHT_PAGE = "cites a right page"
CREDIT: Mapping[VerdictName, float] = {"correct": 1.0, "partly": 0.5, "wrong": 0.0, "no answer": 0.0}


@dataclass(frozen=True, slots=True)
class Setup:
    """The evaluated setup. Two runs differ by chance, by their setup, or by what was synced in between.

    `chat_model` and `judge_model` are "" if unset; `prompts` are versions by name; `synced` is the time of each
    source's last sync.
    """

    question_set: str
    version: int | None
    embedder: str
    reranker: str
    chat_model: str
    judge_model: str
    alpha: float
    retrieve_limit: int
    rerank_limit: int
    prompts: Mapping[str, str] = field(default_factory=dict)
    synced: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of one question. Values that it can't have are None: no nDCG without pages, no support without a
    statement.

    `key` stays the same as long as the question and its judgements do. `ndcg`, `recall`, `reciprocal_rank` and `rank`
    (of the first judged page; None: not found) are those of the search for the question as written. `context_recall` is
    the share of the judged pages among the passages that the answer was written from. `citation_precision` is the share
    of cited pages that are judged ones, `citation_recall` the reverse. `support` is the share of factual sentences that
    their cited passages support, `mentions` that of the `must_mention` words that the answer contains.

    `judge_failure` explains a missing verdict. A `cold` question was the first of its process, which opened files,
    built graphs and loaded model clients, so its times differ from the others'. Tokens and cost are None if the model
    doesn't report them or its price is unknown.
    """

    key: str
    id: str
    question: str
    pages: tuple[str, ...]
    unanswerable: bool
    reference: str
    found: bool
    answer: str
    cited: tuple[str, ...]
    seconds: float
    first_token_seconds: float
    search_seconds: float
    ndcg: float | None = None
    recall: float | None = None
    reciprocal_rank: float | None = None
    rank: int | None = None
    context_recall: float | None = None
    citation_precision: float | None = None
    citation_recall: float | None = None
    support: float | None = None
    mentions: float | None = None
    verdict: VerdictName | None = None
    reason: str = ""
    judge_failure: str = ""
    calls: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost: float | None = 0.0
    judge_input_tokens: int | None = 0
    judge_output_tokens: int | None = 0
    judge_cost: float | None = 0.0
    cold: bool = False
    notes: tuple[str, ...] = ()

    @property
    def correctness(self) -> float | None:
        """1 for a correct answer, 0.5 for a partly correct one, else 0; None if it was not judged."""
        return None if self.verdict is None else CREDIT[self.verdict]

    @property
    def outcome(self) -> str:
        """The result in a few words: the verdict where there is one, else whether it was answered from a right page."""
        if self.unanswerable:
            return "answered, though nothing answers it" if self.found else RIGHTLY_NOT_ANSWERED
        if self.verdict:
            return self.verdict
        if not self.found:
            return "not answered"
        return CITES_A_RIGHT_PAGE if self.citation_precision else "cites no right page"

    @property
    def failed(self) -> bool:
        """True unless the answer is correct, cites a right page unjudged, or rightly says that there is none."""
        return self.outcome not in ("correct", CITES_A_RIGHT_PAGE, RIGHTLY_NOT_ANSWERED)


@dataclass(frozen=True, slots=True)
class Figure:
    """The mean of a metric over `count` questions, with its 95 % interval; None for too few or equal values."""

    name: str
    mean: float
    lower: float | None
    upper: float | None
    count: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that half of the questions, and 95 in a hundred, took at most."""

    name: str
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of all model calls, the judge's apart, in US dollars. None: unknown for some call."""

    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    judge_input_tokens: int | None
    judge_output_tokens: int | None
    judge_cost: float | None


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A metric over the `count` questions that both runs have a value for: both means, their difference, and its 95 %
    interval (None if it can't be computed).
    """

    name: str
    before: float
    now: float
    difference: float
    lower: float | None
    upper: float | None
    count: int


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """A question with another outcome: `moves` describes the differences, and `size` is their sum."""

    id: str
    question: str
    moves: tuple[str, ...]
    size: float


@dataclass(frozen=True, slots=True)
class Changes:
    """Differences from an earlier run, over the `common` questions; `setup` lists other settings."""

    before_at: str
    common: int
    added: int
    gone: int
    setup: tuple[str, ...]
    figures: tuple[FigureChange, ...]
    worse: tuple[QuestionChange, ...]
    better: tuple[QuestionChange, ...]


@dataclass(frozen=True, slots=True)
class Assessment:
    """A whole evaluation; `changes` is None for the first of its kind."""

    made_at: str
    setup: Setup
    results: tuple[QuestionResult, ...]
    figures: tuple[Figure, ...]
    timings: tuple[Timing, ...]
    costs: Costs
    notes: tuple[str, ...] = ()
    changes: Changes | None = None

    def figure(self, name: str) -> Figure | None:
        """Return the figure of a metric, None if it was not measured."""
        return next((figure for figure in self.figures if figure.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Assessment:
        """Rebuild an evaluation from `to_json`. Raises ConfigurationError for anything else."""
        return read_back(cls, values, called="evaluation", remedy="Evaluate again with this Lore.")
