"""Events of a question's journey: Planned, Retrieved, Reranked, any number of Delta, Verified, Answered, in this order.

A greeting skips Retrieved and Reranked. An answer from the global context skips Retrieved; both follow if the context
turns out not to have the answer. Verified follows only a text by a language model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from lore.types import Answer, Hit, Plan

__all__ = ["Answered", "Delta", "Event", "Planned", "Reranked", "Retrieved", "Verified"]


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan of the search is made."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The search is done: numbers of hits for each wording, in the plan's order, and of different passages in all."""

    counts: tuple[int, ...]
    candidates: int


@dataclass(frozen=True, slots=True)
class Reranked:
    """The passages of the answer are chosen, best first; `[n]` cites the n-th."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer, already checked. Joined, all pieces are its text, unless Verified corrects them."""

    text: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The text by a language model was verified. If it was `corrected`, `text` takes the place of all pieces."""

    text: str
    corrected: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer is complete."""

    answer: Answer


Event: TypeAlias = Planned | Retrieved | Reranked | Delta | Verified | Answered
