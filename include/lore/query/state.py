"""State of one question while it is being answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from lore.errors import ModelError
from lore.protocols import Index, OnUsage
from lore.query.budget import QuestionBudget
from lore.query.retrieve.passages import SourcePassage
from lore.types import Check, Citation, Hit, Plan, Question, Usage

__all__ = ["QuestionState"]


@dataclass
class QuestionState:
    """A question and the results of its stages. Every search reads one version of the `index`, number `version`.

    `sources` are the passages that the answer is written from; `[n]` cites the n-th. `quotes` are the lines that a
    quoted answer shows of them, by number. `is_written` means that a language model wrote the whole text.
    """

    question: Question
    models: Mapping[str, str]
    plan: Plan
    index: Index
    version: int | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    notes: list[str] = field(default_factory=list)
    failures: list[ModelError] = field(default_factory=list)
    ignored: tuple[str, ...] = ()
    retrieved: int = 0
    candidates: tuple[Hit, ...] = ()
    ranked: tuple[Hit, ...] = ()
    sources: tuple[SourcePassage, ...] = ()
    prompts: dict[str, str] = field(default_factory=dict)
    usage: list[Usage] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    check: Check = field(default_factory=Check)
    found: bool = True
    nearest: tuple[Citation, ...] = ()
    is_written: bool = False
    quotes: dict[int, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    budget: QuestionBudget | None = None

    @property
    def passages(self) -> tuple[Hit, ...]:
        """The sources of the answer, as hits."""
        return tuple(source.hit for source in self.sources)

    def on_usage(self, stage: str) -> OnUsage:
        """Return the function that takes the usage of a stage's model calls."""
        return partial(self._add_usage, stage)

    def _add_usage(self, stage: str, usage: Usage) -> None:
        usage = replace(usage, stage=stage)
        self.usage.append(usage)
        if self.budget:
            self.budget.add(usage)

    def model_failed(self, consequence: str, error: ModelError) -> None:
        """Note what a failed call of a language model led to. Askers read notes, so the remedy isn't part of them."""
        self.notes.append(f"{consequence}: {error.message}")
        self.failures.append(error)

    def refusal(self, stage: str, model: str, size: int | None = None) -> str:
        """Return the note that says why the budget refuses a stage its model call, or ""."""
        return self.budget.refusal(stage, model, size) if self.budget else ""

    def close(self) -> None:
        """Close the question's budget; the answer is complete or abandoned."""
        if self.budget:
            self.budget.close()
