"""A question to a database as the records keep it: an `Answer` without rows, which may be personal."""

from __future__ import annotations

from dataclasses import replace

from lore.databases.journey.proposal import SqlAnswer, SqlProposal
from lore.types import Answer, Plan, Trace

__all__ = ["SOURCE_PREFIX", "recorded_answer", "recorded_statement"]

SOURCE_PREFIX = "sql:"
"""Before the database's id, among the sources of the recorded question."""


def recorded_answer(proposal: SqlProposal, model: str, answer: SqlAnswer | None = None) -> Answer:
    """Return the record of a proposal that was refused, or of what came of running it.

    The statement is the plan's only wording; the text is the summary with the statement.
    """
    sql = proposal.statement.sql if proposal.statement else ""
    proposal = answer.proposal if answer else proposal
    said = (answer.summary or answer.failure) if answer else proposal.refusal
    notes = list(proposal.notes)
    if answer:
        notes.append(f"Approved by {answer.approval.by or 'the asker'} at {answer.approval.at:%Y-%m-%d %H:%M:%S} UTC.")
    if answer and answer.result:
        more = " and more" if answer.result.cut else ""
        notes.append(f"{len(answer.result.rows):,} rows{more} in {answer.result.seconds:.2f} s.")
    trace = Trace(
        Plan(proposal.question.text, (sql,) if sql else (), search=False),
        models={"sql": model},
        prompts=dict(proposal.prompts),
        usage=proposal.usage,
        seconds={**proposal.seconds, "total": sum(proposal.seconds.values())},
        notes=tuple(notes),
    )
    text = f"{said}\n\n```sql\n{sql}\n```" if sql else said
    question = replace(proposal.question, sources=(f"{SOURCE_PREFIX}{proposal.database}",))
    return Answer(question, text, (), bool(answer and answer.result), trace, id=proposal.id)


def recorded_statement(answer: Answer) -> tuple[str, str] | None:
    """Return the database and the statement of a recorded answer; None if it isn't one from a database."""
    database = next((name for name in answer.question.sources if name.startswith(SOURCE_PREFIX)), "")
    wordings = answer.trace.plan.wordings
    return (database.removeprefix(SOURCE_PREFIX), wordings[0]) if database and wordings else None
