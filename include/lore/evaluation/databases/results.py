"""The figures of a comparison of ways to pick the tables that a question to a database needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, median
from typing import Any

from lore.evaluation.live.figures import interval

__all__ = ["Share", "SqlComparison", "WayFigures", "WayQuestion", "way_figures"]

PREFERRED = ("linked", "keyword")


@dataclass(frozen=True, slots=True)
class Share:
    """A share of questions with its 95 % interval (Wilson); None for fewer than two."""

    value: float
    lower: float | None
    upper: float | None
    count: int

    @staticmethod
    def of(values: Sequence[bool]) -> Share | None:
        """Return the share of true values; None without any."""
        if not values:
            return None
        numbers = [float(value) for value in values]
        lower, upper = interval(numbers)
        return Share(fmean(numbers), lower, upper, len(values))


@dataclass(frozen=True, slots=True)
class WayQuestion:
    """The outcome of one way for one question. `right` is None if no statement was asked for."""

    question: str
    way: str
    needed: tuple[str, ...]
    found: tuple[str, ...]
    tokens: int
    whole_tokens: int
    seconds: float
    sql: str = ""
    right: bool | None = None
    failure: str = ""
    cost: float | None = None
    answer_seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def recalled(self) -> bool:
        """True if all needed tables were found."""
        return set(self.needed) <= set(self.found)


@dataclass(frozen=True, slots=True)
class WayFigures:
    """The figures of a way over all questions; tokens are means, `milliseconds` a median."""

    way: str
    recall: Share
    recall_at_5: Share
    tables: float
    tokens: float
    reduction: float
    milliseconds: float
    accuracy: Share | None = None
    cost: float | None = None
    answer_seconds: float | None = None


def way_figures(way: str, results: Sequence[WayQuestion]) -> WayFigures:
    """Return the figures of a way; at least one result is needed."""
    recall, at_5 = Share.of([one.recalled for one in results]), Share.of([_at_5(one) for one in results])
    if recall is None or at_5 is None:
        raise ValueError("figures need at least one result")
    answered = [one for one in results if one.right is not None]
    costs = [one.cost for one in answered]
    known = [cost for cost in costs if cost is not None]
    return WayFigures(
        way,
        recall,
        at_5,
        fmean(len(one.found) for one in results),
        fmean(one.tokens for one in results),
        fmean(1 - one.tokens / max(1, one.whole_tokens) for one in results),
        1000 * median(one.seconds for one in results),
        Share.of([bool(one.right) for one in answered]),
        sum(known) if known and len(known) == len(costs) else None,
        fmean(one.answer_seconds for one in answered) if answered else None,
    )


def _at_5(result: WayQuestion) -> bool:
    found = result.found if result.way.startswith("none") else result.found[:5]
    return set(result.needed) <= set(found)


@dataclass(frozen=True)
class SqlComparison:
    """A comparison: its setup, the figures of each way, and every question. `earlier` are runs of the same file."""

    database: str
    question_set: str
    tables: int
    whole_tokens: int
    questions: int
    limit: int
    chat_model: str
    embedder: str
    made_at: str
    ways: tuple[WayFigures, ...]
    results: tuple[WayQuestion, ...]
    notes: tuple[str, ...] = ()
    earlier: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, without the earlier runs."""
        values = asdict(self)
        del values["earlier"]
        return values

    def advice(self) -> list[str]:
        """Return which way to take, and why."""
        few = [way for way in self.ways if not way.way.startswith("none")]
        if not few:
            return []
        best = max(few, key=_quality)
        said = [
            f"Take {best.way}: it finds all needed tables for {best.recall.value:.1%} of the questions, with "
            f"{best.tokens:,.0f} tokens on average, {best.reduction:.0%} less than the whole schema."
        ]
        if best.accuracy:
            said.append(f"Its statements return the right rows for {best.accuracy.value:.1%} of {best.accuracy.count}.")
        equal = [way.way for way in few if way is not best and _overlap(way, best)]
        if equal:
            said.append(f"These questions are too few to tell it from {', '.join(equal)}.")
        whole = next((way for way in self.ways if way.way.startswith("none")), None)
        if whole and whole.tokens <= 1.5 * best.tokens:
            said.append("The schema is so small that sending all of it (none) costs little more.")
        return said


def _quality(way: WayFigures) -> tuple[float, ...]:
    """Return what decides, first things first; of equal ways, one that needs no other package."""
    accuracy = way.accuracy.value if way.accuracy else 0.0
    return accuracy, way.recall.value, way.recall_at_5.value, way.way.startswith(PREFERRED), -way.tokens


def _overlap(one: WayFigures, other: WayFigures) -> bool:
    """Return True if the intervals of what decides overlap."""
    first, second = (one.accuracy, other.accuracy) if one.accuracy and other.accuracy else (one.recall, other.recall)
    if first.lower is None or second.lower is None or first.upper is None or second.upper is None:
        return first.value == second.value
    return first.lower <= second.upper and second.lower <= first.upper
