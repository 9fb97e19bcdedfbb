"""The SQL assistant: question → tables → statement → review → check → plan → approval → rows → summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from time import perf_counter
from typing import Any, TypeVar

from lore.databases.database import OpenDatabase
from lore.databases.journey.proposal import Approval, SqlAnswer, SqlProposal
from lore.databases.journey.recording import recorded_answer
from lore.databases.journey.replies import ReviewReply, StatementReply, SummaryReply
from lore.databases.journey.requests import (
    Failed,
    prompt_hash,
    review_request,
    statement_request,
    summary_request,
)
from lore.databases.journey.rows import as_csv, checked_summary, plain_summary
from lore.databases.retrieve.retriever import RetrievedSchema
from lore.databases.run.errors import StatementError
from lore.databases.run.execute import QueryResult
from lore.databases.schema.model import DatabaseSchema
from lore.errors import ConfigurationError, DatabaseError, ModelError, StatementRefusedError
from lore.protocols import ChatModel, Recorder
from lore.query.budget import Budget, QuestionBudget
from lore.query.understand.follow_up import standalone_question
from lore.types import Message, Question, Usage

__all__ = ["MAX_REPAIRS", "SqlAssistant"]

MAX_REPAIRS = 2
MAX_QUESTION_CHARACTERS = 10_000
SUMMARY_ROWS = 50
Reply = TypeVar("Reply")


class SqlAssistant:
    """Answers questions to one database. It keeps no state between questions; nothing runs without an approval.

    `retrieve` finds the tables for a question. Without `review` the second call is left out. Errors go back to the
    model at most `repairs` times. A `recorder` keeps each answer and each refusal.
    """

    def __init__(
        self,
        database: OpenDatabase,
        chat: ChatModel,
        retrieve: Callable[[str, DatabaseSchema], RetrievedSchema],
        *,
        review: bool = True,
        repairs: int = MAX_REPAIRS,
        budget: Budget | None = None,
        recorder: Recorder | None = None,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        self._database = database
        self._chat = chat
        self._retrieve = retrieve
        self._review = review
        self._repairs = repairs
        self._budget = budget
        self._recorder = recorder
        self._today = today

    @property
    def declaration_id(self) -> str:
        """The id of the database."""
        return self._database.declaration.id

    @property
    def audiences(self) -> tuple[str, ...]:
        """The audiences that may ask."""
        return self._database.declaration.audiences

    @property
    def dialect(self) -> str:
        """SQLAlchemy's name of the kind of database."""
        return self._database.engine.dialect.name

    def propose(self, question: Question) -> SqlProposal:
        """Return a checked statement that waits for approval, or a refusal.

        Raises ConfigurationError for an asker who may not ask, ModelError without a reply, and DatabaseError.
        """
        self._check_asker(question)
        with self._steps(SqlProposal(self.declaration_id, question)) as steps:
            with steps.timed("schema"):
                schema = self._database.schema()
            with steps.timed("retrieve"):
                retrieved = self._retrieve(standalone_question(question), schema)
            steps.change(retrieved=retrieved)
            if retrieved.note:
                steps.note(retrieved.note)
            self._write(steps, schema, None)
            return self._finished(steps.proposal)

    def repaired(self, answer: SqlAnswer) -> SqlProposal:
        """Return another proposal for a statement that failed when it ran; it waits for its own approval.

        Raises DatabaseError after two corrections.
        """
        before = answer.proposal
        if before.statement is None or before.repairs >= self._repairs:
            raise DatabaseError(f"The statement failed, and {self._repairs} corrections didn't help: {answer.failure}")
        anew = SqlProposal(before.database, before.question, before.retrieved, repairs=before.repairs + 1)
        with self._steps(anew) as steps:
            steps.note(f"A statement failed: {answer.failure}")
            self._write(steps, self._database.schema(), Failed(before.statement.sql, answer.failure))
            return self._finished(steps.proposal)

    def edited(self, proposal: SqlProposal, sql: str) -> SqlProposal:
        """Return the proposal with a person's own statement, checked as any other. Raises DatabaseError."""
        statement = self._database.check(sql, self._database.schema())
        plan = self._database.explain(statement)
        notes = (*proposal.notes, "The statement was edited by hand.")
        own = replace(proposal, explanation="", assumptions=(), problems=())  # the model's words are about another one
        return replace(own, statement=statement, plan=plan, notes=notes)

    def may_approve(self, name: str) -> bool:
        """Return True if this person may approve statements."""
        approvers = self._database.declaration.approvers
        return not approvers or name in approvers

    def approve(self, proposal: SqlProposal, by: str) -> Approval:
        """Return somebody's consent to the proposal's statement. Raises ConfigurationError without the right to it."""
        if proposal.statement is None:
            raise ConfigurationError("There is no statement to approve.", remedy="Ask another question.")
        if not self.may_approve(by):
            raise ConfigurationError(
                f"{by or 'You'} may not approve statements on {self.declaration_id}.",
                remedy=f"Ask one of: {', '.join(self._database.declaration.approvers)}.",
            )
        return Approval(by, datetime.now(UTC), proposal.statement.sql)

    def run(self, proposal: SqlProposal, approval: Approval, *, summarize: bool = True) -> SqlAnswer:
        """Run the approved statement, and return its rows and a summary, or the database's complaint.

        The statement is checked again, against the schema as it is now. Raises ConfigurationError if the approval is
        for another statement or by somebody without the right, and DatabaseError if the database can't be asked.
        """
        if proposal.statement is None or approval.sql != proposal.statement.sql or not self.may_approve(approval.by):
            raise ConfigurationError("The approval doesn't fit the statement.", remedy="Approve it again.")
        with self._steps(proposal) as steps:
            try:
                with steps.timed("run"):
                    result = self._database.run(approval.sql)
            except StatementError as error:
                return self._recorded(SqlAnswer(steps.proposal, approval, failure=error.message))
            summary = self._summary(steps, result) if summarize else plain_summary(result)
            return self._recorded(SqlAnswer(steps.proposal, approval, result, summary))

    def _write(self, steps: _Steps, schema: DatabaseSchema, failed: Failed | None) -> None:
        """Add a statement that passed every check, or a refusal; errors go back to the model at most twice."""
        while True:
            reply = self._draft(steps, failed)
            if not reply.answerable or not reply.sql.strip():
                missing = reply.missing.strip() or "the model didn't say what is missing."
                steps.change(refusal=failed.error if failed else f"The database can't answer this: {missing}")
                return
            sql, problems = self._reviewed(steps, reply.sql)
            try:
                with steps.timed("check"):
                    statement = self._database.check(sql, schema)
                    plan = self._database.explain(statement)
            except (StatementRefusedError, StatementError) as error:
                if steps.proposal.repairs >= self._repairs:
                    steps.change(refusal=error.message)
                    return
                failed = Failed(sql, error.message)
                steps.note(f"A statement was written again: {error.message}")
                steps.change(repairs=steps.proposal.repairs + 1)
                continue
            explanation, assumptions = reply.explanation.strip(), tuple(reply.assumptions)
            steps.change(statement=statement, explanation=explanation, assumptions=assumptions)
            steps.change(problems=problems, plan=plan)
            return

    def _draft(self, steps: _Steps, failed: Failed | None) -> StatementReply:
        declaration, part = self._database.declaration, _part(steps.proposal)
        messages = statement_request(steps.proposal.question, part, declaration, self._today(), failed)
        reply = self._call(steps, "sql", messages, StatementReply)
        if isinstance(reply, str):
            raise DatabaseError(reply, remedy="Raise LORE_BUDGET_PER_DAY or LORE_BUDGET_PER_QUESTION.")
        return reply

    def _reviewed(self, steps: _Steps, sql: str) -> tuple[str, tuple[str, ...]]:
        """Return the statement, corrected if the review says how, and the review's problems."""
        if not self._review:
            return sql, ()
        question, part = steps.proposal.question, _part(steps.proposal)
        messages = review_request(question, part, self._database.declaration, self._today(), sql)
        try:
            reply = self._call(steps, "sql_review", messages, ReviewReply)
        except ModelError as error:
            reply = f"The statement was not reviewed: {error.message}"
        if isinstance(reply, str):
            steps.note(reply)
            return sql, ()
        corrected = reply.sql.strip() if reply.problems else ""
        if corrected and corrected != sql.strip():
            steps.note(f"The review corrected the statement: {' '.join(reply.problems)}")
            return corrected, ()
        return sql, tuple(reply.problems)

    def _summary(self, steps: _Steps, result: QueryResult) -> str:
        """Return the result in words: the model's, as far as the rows have its numbers, else our own."""
        if not result.rows:
            return plain_summary(result)
        question = steps.proposal.question
        try:
            messages = summary_request(question, as_csv(result, SUMMARY_ROWS))
            reply = self._call(steps, "sql_summary", messages, SummaryReply)
        except ModelError as error:
            reply = f"The result has no summary by a model: {error.message}"
        if isinstance(reply, str):
            steps.note(reply)
            return plain_summary(result)
        kept, dropped = checked_summary(reply.summary, result, question.text)
        if dropped:
            steps.note(f"{len(dropped)} sentences of the summary had numbers that the rows don't have.")
        return kept or plain_summary(result)

    def _call(self, steps: _Steps, stage: str, messages: list[Message], schema: type[Reply]) -> Reply | str:
        """Return the model's reply, or the reason why the budget doesn't allow the call."""
        size = sum(len(message.content.encode()) for message in messages)
        refusal = steps.money.refusal(stage, self._chat.name, size) if steps.money else ""
        if refusal:
            return refusal
        steps.change(prompts={**steps.proposal.prompts, stage: prompt_hash(stage)})
        with steps.timed(stage):
            return self._chat.structured(messages, schema, on_usage=lambda usage: steps.used(usage, stage))

    @contextmanager
    def _steps(self, proposal: SqlProposal) -> Iterator[_Steps]:
        """Open the budget of a question for as long as the block lasts."""
        money = self._budget.open_question() if self._budget else None
        try:
            yield _Steps(proposal, money)
        finally:
            if money:
                money.close()

    def _check_asker(self, question: Question) -> None:
        declaration = self._database.declaration
        if not set(question.audiences) & set(declaration.audiences):
            raise ConfigurationError(
                f"You may not ask {declaration.id}.", remedy=f"It is open to: {', '.join(declaration.audiences)}."
            )
        if not question.text.strip() or len(question.text) > MAX_QUESTION_CHARACTERS:
            raise ConfigurationError(
                "The question is empty or too long.", remedy=f"Ask in at most {MAX_QUESTION_CHARACTERS:,} characters."
            )

    def _finished(self, proposal: SqlProposal) -> SqlProposal:
        """Record a refusal, which has no run that would."""
        if proposal.statement is None and self._recorder:
            self._recorder.record(recorded_answer(proposal, self._chat.name))
        return proposal

    def _recorded(self, answer: SqlAnswer) -> SqlAnswer:
        if self._recorder:
            self._recorder.record(recorded_answer(answer.proposal, self._chat.name, answer))
        return answer


@dataclass
class _Steps:
    """The proposal so far, which each step changes, and the question's budget."""

    proposal: SqlProposal
    money: QuestionBudget | None

    def change(self, **values: Any) -> None:
        self.proposal = replace(self.proposal, **values)

    def note(self, text: str) -> None:
        self.change(notes=(*self.proposal.notes, text))

    def used(self, usage: Usage, stage: str) -> None:
        """Add the usage of a call."""
        usage = replace(usage, stage=stage)
        self.change(usage=(*self.proposal.usage, usage))
        if self.money:
            self.money.add(usage)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time of the block to the step's seconds."""
        started = perf_counter()
        try:
            yield
        finally:
            passed = self.proposal.seconds.get(step, 0.0) + perf_counter() - started
            self.change(seconds={**self.proposal.seconds, step: passed})


def _part(proposal: SqlProposal) -> DatabaseSchema:
    if proposal.retrieved is None:
        raise ValueError("the proposal has no tables")
    return proposal.retrieved.schema
