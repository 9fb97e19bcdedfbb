"""What an evaluation of the live index found: each question with its search, answer and verdict, and the means."""

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
    """What was evaluated: figures of two runs differ by chance, by this, or by what was synced in between.

    `chat_model` and `judge_model` are "" where there is none; `prompts` are versions by name; `synced` is when each
    source was synced last.
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
    """One question. What cannot be said of it is None: there is no nDCG without pages, no support without a sentence.

    `key` is the same as long as the question and its judgements are. `ndcg`, `recall`, `reciprocal_rank` and `rank` (of
    the first judged page; None: not found) are those of the search for the question as it is written; `context_recall`
    is the share of the judged pages among the passages that the answer was written from. `citation_precision` is the
    share of the cited pages that are judged ones, `citation_recall` the reverse, `support` the share of the sentences
    that state a fact which the cited passages bear out, `mentions` that of the words in `must_mention` that it holds.

    `judge_failure` says why a verdict is missing that should be there. A `cold` question was the first of its process,
    which opened files, built graphs and loaded clients of models: its times are not those of the others. Tokens and
    cost are None where a model does not tell them or its price is not known.
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
        """1 for a correct answer, 0.5 for one that is partly so, else 0; None where none was judged."""
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
    """The mean of a metric over `count` questions, with its 95 % interval; None where too few, or equal, values tell
    nothing of it.
    """

    name: str
    mean: float
    lower: float | None
    upper: float | None
    count: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that half of the questions, and 95 of a hundred, took at most."""

    name: str
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Costs:
    """All calls of models, those of the judge apart; US dollars. None: not known of every call."""

    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    judge_input_tokens: int | None
    judge_output_tokens: int | None
    judge_cost: float | None


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A metric over the `count` questions that both runs have a value for: its means, their difference, and the 95 %
    interval of that (None where it cannot be told).
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
    """A question that went otherwise: `moves` says in words what, and `size` is the sum of the differences."""

    id: str
    question: str
    moves: tuple[str, ...]
    size: float


@dataclass(frozen=True, slots=True)
class Changes:
    """What is otherwise than in an earlier run, over the `common` questions; `setup` says what else differs."""

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
    """The whole of an evaluation; `changes` is None for the first of its kind."""

    made_at: str
    setup: Setup
    results: tuple[QuestionResult, ...]
    figures: tuple[Figure, ...]
    timings: tuple[Timing, ...]
    costs: Costs
    notes: tuple[str, ...] = ()
    changes: Changes | None = None

    def figure(self, name: str) -> Figure | None:
        """The figure of a metric, None where it was not measured."""
        return next((figure for figure in self.figures if figure.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """The evaluation as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Assessment:
        """The evaluation that `to_json` gave. Raises ConfigurationError for anything else."""
        return read_back(cls, values, called="evaluation", remedy="Evaluate again with this Lore.")
