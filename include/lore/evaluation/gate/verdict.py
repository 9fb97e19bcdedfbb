"""Results of the gate: the decision, the figures behind it, and the outcome of each question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from lore.evaluation.report.read_back import read_back

__all__ = ["Decision", "Figures", "LeftOut", "Outcome", "Verdict"]

Decision: TypeAlias = Literal["accepted", "undecided", "refused"]


@dataclass(frozen=True, slots=True)
class Figures:
    """One side's means over the questions: nDCG@10 and MRR@10 on whole pages, the recall of all pages that one search
    finds, their number, and the median time of a search in milliseconds.
    """

    ndcg_at_10: float
    mrr_at_10: float
    recall: float
    pages_retrieved: float
    ms_p50: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question on both sides. `live` and `candidate` are its nDCG@10; a rank is that of the first page that
    answers, from 1, None if the search misses it. `pages` are the expected ones as the question set names them. `kept`
    is the share of the live version's first ten pages among the candidate's first ten.
    """

    id: str
    question: str
    pages: tuple[str, ...]
    live: float
    candidate: float
    live_rank: int | None
    candidate_rank: int | None
    kept: float

    @property
    def difference(self) -> float:
        """Candidate minus live: negative if the candidate is worse."""
        return self.candidate - self.live


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A question that was not judged, because the index holds none of its pages."""

    id: str
    question: str
    pages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's decision on a candidate.

    `difference` is the mean of candidate minus live nDCG@10; `lower` and `upper` are its one-sided bounds, each at
    `confidence`. `gate.decide` explains how these decide. `kept` is the mean of the questions' `kept`.
    `questions_needed` is the number of questions that would decide if the undecided difference stayed the same; None if
    it is decided, or no realistic set would do.
    """

    decision: Decision
    question_set: str
    margin: float
    difference: float
    lower: float
    upper: float
    confidence: float
    resamples: int
    kept: float
    live: Figures
    candidate: Figures
    outcomes: tuple[Outcome, ...]
    questions_needed: int | None = None
    left_out: tuple[LeftOut, ...] = ()
    missing_pages: tuple[str, ...] = ()

    @property
    def may_promote(self) -> bool:
        """True if the candidate may go live without approval."""
        return self.decision == "accepted"

    @property
    def worse(self) -> tuple[Outcome, ...]:
        """The questions that lost, largest loss first."""
        return tuple(sorted((o for o in self.outcomes if o.difference < 0), key=lambda o: o.difference))

    @property
    def better(self) -> tuple[Outcome, ...]:
        """The questions that gained, largest gain first."""
        return tuple(sorted((o for o in self.outcomes if o.difference > 0), key=lambda o: -o.difference))

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values; tuples become lists."""
        values = asdict(self)
        for name in ("outcomes", "left_out"):
            values[name] = [{**item, "pages": list(item["pages"])} for item in values[name]]
        return values | {"missing_pages": list(self.missing_pages)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Verdict:
        """Rebuild a verdict from `to_json`. Raises ConfigurationError for anything else."""
        return read_back(cls, dict(values), called="verdict of the gate", remedy="Judge the candidate again.")
