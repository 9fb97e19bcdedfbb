"""What is read out of the records."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lore.types import Answer

__all__ = ["Cost", "Feedback", "Record", "Summary"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a person thought of an answer in the end; `asker` is "" where it is not known who."""

    asker: str
    helpful: bool
    reason: str
    given_at: datetime


@dataclass(frozen=True, slots=True)
class Record:
    """An answer as it was recorded, when it was asked, and what was thought of it.

    The answer is what was given, but for redaction, cuts, and the vectors of its passages, which are not kept.
    """

    answer: Answer
    asked_at: datetime
    feedback: tuple[Feedback, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """A line of a list of answers. `cost` is in US dollars, None where a call's price is not known."""

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
    """What the calls of one day, model or stage took.

    `cost` sums the calls whose price is known, in US dollars; `unpriced` is how many there are besides. Tokens are
    summed where the provider said them.
    """

    key: str
    questions: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    unpriced: int
