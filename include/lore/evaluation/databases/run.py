"""The comparison: each way to pick tables, on the same questions, with or without statements by a language model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lore.databases.database import OpenDatabase
from lore.databases.journey.assistant import SqlAssistant
from lore.databases.journey.proposal import SqlAnswer, SqlProposal
from lore.databases.retrieve.retriever import SchemaRetriever, retrieve_schema
from lore.databases.retrieve.words import KeywordRetriever
from lore.databases.run.execute import QueryResult
from lore.databases.schema.model import DatabaseSchema
from lore.errors import ConfigurationError, DatabaseError, LoreError, ModelError
from lore.evaluation.databases.equality import same_result
from lore.evaluation.databases.question_file import GoldQuestion, GoldQuestions
from lore.evaluation.databases.results import SqlComparison, WayQuestion, way_figures
from lore.settings import Settings
from lore.types import Question
from lore.wiring.databases import find_database, make_schema_retriever, make_sql_assistant, open_declared
from lore.wiring.models import make_embedder

__all__ = ["WAYS", "SqlCompareOptions", "compare_ways", "earlier_runs"]

WAYS = ("none", "keyword", "faiss", "chroma", "linked")
PLAIN = "without review and repair"
APPROVER = "lore sql compare"


@dataclass(frozen=True, slots=True)
class SqlCompareOptions:
    """The scope of a comparison.

    `answers` questions get a statement in each way, with `plain` also without review and repair.
    """

    ways: Sequence[str] = WAYS
    answers: int = 0
    plain: bool = False


@dataclass(frozen=True)
class _Gold:
    """A question with the tables and results of its gold statements."""

    question: GoldQuestion
    tables: tuple[frozenset[str], ...]
    results: tuple[QueryResult, ...]

    def needed(self, found: Sequence[str]) -> tuple[str, ...]:
        """Return the tables of the gold statement that `found` serves best."""
        missing = [len(tables.difference(found)) for tables in self.tables]
        return tuple(sorted(self.tables[missing.index(min(missing))]))


def compare_ways(
    gold: GoldQuestions,
    question_set: str,
    settings: Settings,
    options: SqlCompareOptions,
    *,
    listener: Callable[[str, int, int | None], None] = lambda stage, done, total: None,
) -> SqlComparison:
    """Compare the ways; a way whose package is missing is left out with a note.

    Statements run without an approval, so the caller must have asked for one for all of them. Approvers of the
    declaration are not asked; with any, statements can't be compared. Raises ConfigurationError for a gold statement
    that may not run.
    """
    declaration = find_database(settings, gold.database)
    if options.answers and declaration.approvers:
        raise ConfigurationError(
            f"Statements on {gold.database} need an approval each.", remedy="Compare with --answers 0."
        )
    database = open_declared(declaration)
    schema = database.schema()
    known = [_checked(question, database, schema, options) for question in gold.questions]
    results: list[WayQuestion] = []
    notes: list[str] = []
    embedder = make_embedder(settings)
    for way in options.ways:
        retriever = make_schema_retriever(settings, embedder, way)
        try:
            retriever.rank("anything", schema.readable, 1)
        except LoreError as error:
            notes.append(f"{way} was left out: {error}")
            continue
        full = settings.with_values(sql_retrieval=way)
        plain = full.with_values(sql_review=False, sql_repairs=0)
        variants = {way: full, f"{way}, {PLAIN}": plain} if options.plain and options.answers else {way: full}
        for name, own in variants.items():
            assistant = make_sql_assistant(own, declaration) if options.answers else None
            for number, one in enumerate(known):
                listener(name, number, len(known))
                result = replace(_retrieved(one, schema, retriever, settings), way=name)
                asked = assistant is not None and number < options.answers
                results.append(_answered(result, one, assistant) if assistant and asked else result)
    names = dict.fromkeys(one.way for one in results)
    return SqlComparison(
        gold.database,
        question_set,
        len(schema.readable.tables),
        results[0].whole_tokens if results else 0,
        len(known),
        settings.sql.tables,
        settings.models.chat_model if options.answers else "",
        embedder.name,
        datetime.now(UTC).isoformat(),
        tuple(way_figures(name, [one for one in results if one.way == name]) for name in names),
        tuple(results),
        tuple(notes),
    )


def earlier_runs(folder: Path, question_set: str) -> tuple[Mapping[str, Any], ...]:
    """Return the figures of earlier comparisons of the same questions, newest first; broken files are skipped."""
    found = []
    for path in sorted(folder.glob("*/comparison.json"), reverse=True):
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if values["question_set"] == question_set and values["ways"]:
                found.append(values)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return tuple(found)


def _checked(
    question: GoldQuestion, database: OpenDatabase, schema: DatabaseSchema, options: SqlCompareOptions
) -> _Gold:
    """Return the tables of the gold statements, and their rows if statements are compared."""
    try:
        tables = tuple(frozenset(database.check(sql, schema).tables) for sql in question.sql)
        results = tuple(database.run(sql) for sql in question.sql) if options.answers else ()
    except DatabaseError as error:
        raise ConfigurationError(
            f"A gold statement of {question.question[:100]!r} doesn't run: {error.message}", remedy="Correct the file."
        ) from None
    return _Gold(question, tables, results)


def _retrieved(one: _Gold, schema: DatabaseSchema, retriever: SchemaRetriever, settings: Settings) -> WayQuestion:
    found = retrieve_schema(
        one.question.question,
        schema,
        retriever,
        KeywordRetriever(),
        limit=settings.sql.tables,
        max_tokens=10**9 if retriever.name == "none" else settings.sql.schema_tokens,
    )
    needed, notes = one.needed(found.tables), (found.note,) if found.note else ()
    tokens = (found.tokens, found.whole_tokens)
    return WayQuestion(one.question.question, retriever.name, needed, found.tables, *tokens, found.seconds, notes=notes)


def _answered(result: WayQuestion, one: _Gold, assistant: SqlAssistant) -> WayQuestion:
    """Return the result with the statement of the assistant, run at once, and whether its rows are right."""
    answer: SqlAnswer | None = None
    try:
        audiences = assistant.audiences
        proposal = assistant.propose(Question(one.question.question, audiences=audiences, surface="compare"))
        while proposal.statement is not None:
            answer = assistant.run(proposal, assistant.approve(proposal, APPROVER), summarize=False)
            if answer.result is not None:
                break
            proposal = assistant.repaired(answer)
    except ModelError as error:  # an outage says nothing about the way
        return replace(result, failure=error.message)
    except DatabaseError as error:
        return replace(result, right=False, failure=error.message)
    if answer is None or answer.result is None:
        return _with_proposal(replace(result, right=False, failure=proposal.refusal), proposal)
    found = answer.result
    right = any(same_result(gold, found, ordered=one.question.ordered) for gold in one.results)
    return _with_proposal(replace(result, right=right), answer.proposal)


def _with_proposal(result: WayQuestion, proposal: SqlProposal) -> WayQuestion:
    return replace(
        result,
        sql=proposal.statement.sql if proposal.statement else "",
        cost=proposal.cost,
        answer_seconds=sum(proposal.seconds.values()),
        notes=(*result.notes, *proposal.notes),
    )
