"""A proposed statement and its result, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lore.cli.output import one_line
from lore.cli.record_text import money

if TYPE_CHECKING:
    from lore.databases.journey.proposal import SqlAnswer, SqlProposal

__all__ = ["answer_json", "cost_line", "proposal_json", "proposal_lines"]

PLAN_LINES = 5


def proposal_lines(proposal: SqlProposal, dialect: str) -> Iterator[str]:
    """Yield the statement with its explanation, what was assumed, and what the review and the database say."""
    from lore.databases.compliance.check import readable_sql

    if proposal.statement is None:
        yield proposal.refusal
        return
    yield readable_sql(proposal.statement.sql, dialect)
    yield ""
    if proposal.explanation:
        yield one_line(proposal.explanation)
    for title, items in (("Assumed", proposal.assumptions), ("The review doubts", proposal.problems)):
        if items:
            yield f"{title}:"
            yield from (f"  - {one_line(item)}" for item in items)
    yield f"Reads: {', '.join(proposal.statement.tables) or 'no table'}."
    if proposal.plan:
        more = " …" if len(proposal.plan) > PLAN_LINES else ""
        yield f"Plan: {'; '.join(one_line(step) for step in proposal.plan[:PLAN_LINES])}{more}"


def cost_line(proposal: SqlProposal) -> str:
    """Return calls, tokens, cost and time so far."""
    tokens = sum((usage.input_tokens or 0) + (usage.output_tokens or 0) for usage in proposal.usage)
    calls = f"{len(proposal.usage)} {'call' if len(proposal.usage) == 1 else 'calls'}"
    seconds = sum(proposal.seconds.values())
    return f"{calls} of the language model, {tokens:,} tokens, {money(proposal.cost)}, {seconds:.1f} s."


def proposal_json(proposal: SqlProposal) -> dict[str, Any]:
    """Return a proposal as JSON values."""
    statement, retrieved = proposal.statement, proposal.retrieved
    return {
        "id": proposal.id,
        "database": proposal.database,
        "question": proposal.question.text,
        "sql": statement.sql if statement else None,
        "refusal": proposal.refusal or None,
        "explanation": proposal.explanation,
        "assumptions": list(proposal.assumptions),
        "problems": list(proposal.problems),
        "reads": list(statement.tables) if statement else [],
        "plan": list(proposal.plan),
        "tables": list(retrieved.tables) if retrieved else [],
        "retrieval": retrieved.way if retrieved else None,
        "schema_tokens": retrieved.tokens if retrieved else None,
        "notes": list(proposal.notes),
        "calls": len(proposal.usage),
        "cost": proposal.cost,
        "seconds": {step: round(seconds, 4) for step, seconds in proposal.seconds.items()},
    }


def answer_json(answer: SqlAnswer) -> dict[str, Any]:
    """Return a result, with its proposal, as JSON values."""
    result = answer.result
    return {
        **proposal_json(answer.proposal),
        "approved_by": answer.approval.by,
        "approved_at": answer.approval.at.isoformat(),
        "failure": answer.failure or None,
        "summary": answer.summary,
        "columns": list(result.columns) if result else [],
        "rows": [list(row) for row in result.rows] if result else [],
        "cut": bool(result and result.cut),
    }
