"""What happens while a question is answered, as typed events, in this order.

Planned, Retrieved, Reranked, any number of Delta, Answered. A greeting skips the search and so Retrieved and Reranked.
An answer from the global context skips Retrieved; both come where the context does not hold the answer after all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from lore.types import Answer, Hit, Plan

__all__ = ["Answered", "Delta", "Event", "Planned", "Reranked", "Retrieved"]


@dataclass(frozen=True, slots=True)
class Planned:
    """It is known how the question will be searched."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The search is done: hits for each wording, in the plan's order, and how many different passages they are."""

    counts: tuple[int, ...]
    candidates: int


@dataclass(frozen=True, slots=True)
class Reranked:
    """The passages that the answer is written from, best first; passage n is the one that `[n]` cites."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer, already checked. All pieces in a row are the answer's text, to the letter."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The end: the whole answer."""

    answer: Answer


Event: TypeAlias = Planned | Retrieved | Reranked | Delta | Answered
