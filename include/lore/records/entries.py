"""Types of what is read from the records."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lore.types import Answer

__all__ = ["Cost", "Feedback", "Record", "Summary"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """A person's final feedback on an answer; `asker` is "" if unknown."""

    asker: str
    helpful: bool
    reason: str
    given_at: datetime


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded answer with its time and feedback.

    It is the answer as given, except for redaction, cuts, and the vectors of its passages, which are not stored.
    """

    answer: Answer
    asked_at: datetime
    feedback: tuple[Feedback, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """A line in a list of answers. `cost` is in US dollars, None if a call's price is unknown."""

    id: str
    asked_at: datetime
    surface: str
    asker: str
    question: str
    found: bool
    seconds: float | None
    calls: int
    cost: float | None
    helpful: int
    unhelpful: int


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of the calls of one day, model or stage.

    `cost` sums the calls of known price, in US dollars; `unpriced` counts the others. Tokens are summed as far as the
    provider reported them.
    """

    key: str
    questions: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    unpriced: int
