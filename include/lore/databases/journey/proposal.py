"""The statement that the assistant proposes to run, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

from lore.databases.compliance.check import CheckedStatement
from lore.databases.retrieve.retriever import RetrievedSchema
from lore.databases.run.execute import QueryResult
from lore.types import Question, Usage

__all__ = ["Approval", "SqlAnswer", "SqlProposal"]


@dataclass(frozen=True)
class SqlProposal:
    """A statement that waits for approval; without a `statement` the question was refused, and `refusal` says why.

    `plan` is the database's own plan of the statement. `problems` are the review's. `usage` and `seconds` (by step)
    cover everything so far, and `notes` names every fallback and repair.
    """

    database: str
    question: Question
    retrieved: RetrievedSchema | None = None
    statement: CheckedStatement | None = None
    explanation: str = ""
    assumptions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    refusal: str = ""
    notes: tuple[str, ...] = ()
    usage: tuple[Usage, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    repairs: int = 0
    id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def cost(self) -> float | None:
        """US dollars of the calls so far; None if the price of one of them is unknown."""
        costs = [usage.cost for usage in self.usage]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody's consent to one statement, word for word."""

    by: str
    at: datetime
    sql: str


@dataclass(frozen=True)
class SqlAnswer:
    """A result with its summary in words. Without a `result` the statement failed, and `failure` says how."""

    proposal: SqlProposal
    approval: Approval
    result: QueryResult | None = None
    summary: str = ""
    failure: str = ""
