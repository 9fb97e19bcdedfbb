"""An answer as rows of the tables, and back without loss.

A field goes to the column of its name if the table has one; the others share a JSON column.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_type_hints

from lore.records import tables
from lore.types import Answer, CandidateRank, Chunk, Citation, Hit, Message, Plan, Question, Trace, Usage

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from sqlalchemy import Table

__all__ = ["PACKED", "PARTS", "Rows", "answer_of", "rows_of"]

Value = TypeVar("Value")
Row: TypeAlias = Mapping[str, Any]

PARTS = (tables.calls, tables.candidates, tables.passages, tables.citations)
"""The tables whose rows are parts of an answer."""
PACKED = (tables.candidates, tables.passages)
"""Those whose rows are packed into the answer's own row, because they are only read as a whole and take most space."""
RECORDED_CANDIDATES = 10
"""Candidates recorded by their rank in the search, besides those that the reranking kept."""

_QUESTION = ("text", "history", "surface", "asker")
_TRACE = ("plan", "retrieved", "candidates", "passages", "ranking", "usage", "version")
_ANSWER = ("question", "text", "citations", "found", "trace", "nearest", "id")
"""Fields with a column or table; each value's other fields share a JSON column."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The row of an answer, and its parts' rows by table name."""

    answer: Row
    parts: Mapping[str, Sequence[Row]]


def rows_of(answer: Answer, asked_at: datetime) -> Rows:
    """Return the rows of an answer."""
    question, trace = answer.question, answer.trace
    row = {
        "id": answer.id,
        "asked_at": asked_at,
        "surface": question.surface,
        "asker": question.asker,
        "question": question.text,
        "history": _json(question.history),
        "scope": _bag(question, _QUESTION),
        "plan": _json(trace.plan),
        "answer": answer.text,
        "found": answer.found,
        "index_version": trace.version,
        "retrieved": trace.retrieved,
        "candidates": trace.candidates,
        "seconds": trace.seconds.get("total"),
        "trace": _bag(trace, _TRACE),
        "more": _bag(answer, _ANSWER),
    }
    ranking = [one for one in trace.ranking if one.reranked_at or one.found_at <= RECORDED_CANDIDATES]
    packed = {
        tables.candidates.name: [_row(ranked, tables.candidates) for ranked in ranking],
        tables.passages.name: [_passage(hit) for hit in trace.passages],
    }
    parts = {
        tables.calls: [_row(usage, tables.calls) for usage in trace.usage],
        tables.citations: [*_cited("cited", answer.citations), *_cited("nearest", answer.nearest)],
    }
    numbered = {
        table.name: [{"answer_id": answer.id, "ordinal": number, **row} for number, row in enumerate(rows)]
        for table, rows in parts.items()
    }
    return Rows({**row, "packed": zlib.compress(json.dumps(packed).encode(), 9)}, numbered)


def answer_of(rows: Rows) -> Answer:
    """Return the answer of the rows; parts keep their order."""
    row, parts = rows.answer, rows.parts
    if row["packed"] is not None:
        parts = {**parts, **json.loads(zlib.decompress(row["packed"]))}
    question = _value(
        Question,
        row["scope"],
        text=row["question"],
        history=_loader(tuple[Message, ...]).validate_python(row["history"]),
        surface=row["surface"],
        asker=row["asker"],
    )
    trace = _value(
        Trace,
        row["trace"],
        plan=_loader(Plan).validate_python(row["plan"]),
        retrieved=row["retrieved"],
        candidates=row["candidates"],
        version=row["index_version"],
        usage=tuple(_of_row(Usage, part) for part in parts[tables.calls.name]),
        ranking=tuple(_of_row(CandidateRank, part) for part in parts[tables.candidates.name]),
        passages=tuple(_hit(part) for part in parts[tables.passages.name]),
    )
    cited = {
        kind: tuple(_of_row(Citation, part) for part in parts[tables.citations.name] if part["kind"] == kind)
        for kind in ("cited", "nearest")
    }
    return _value(
        Answer,
        row["more"],
        question=question,
        text=row["answer"],
        citations=cited["cited"],
        nearest=cited["nearest"],
        found=row["found"],
        trace=trace,
        id=row["id"],
    )


def _passage(hit: Hit) -> dict[str, Any]:
    row = _row(hit.chunk, tables.passages, skip=("id",))
    scores = {name: _number(getattr(hit, name)) for name in ("score", "vector_score", "keyword_score")}
    return row | {"chunk_id": hit.chunk.id} | scores


def _hit(row: Row) -> Hit:
    chunk = _of_row(Chunk, row, id=row["chunk_id"])
    return Hit(chunk, row["score"], row["vector_score"], row["keyword_score"])


def _cited(kind: str, citations: Sequence[Citation]) -> Iterator[dict[str, Any]]:
    for citation in citations:
        yield _row(citation, tables.citations) | {"kind": kind}


def _row(value: Any, table: Table, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    columns = set(table.columns.keys())
    row = {field.name: _number(getattr(value, field.name)) for field in fields(value) if field.name in columns}
    return row | {"more": _bag(value, (*row, *skip))}


def _of_row(kind: type[Value], row: Row, **given: Any) -> Value:
    own = {name: row[name] for name in _names(kind) if name in row and name not in given}
    return _value(kind, row["more"], **given, **own)


def _value(kind: type[Value], bag: Row, **given: Any) -> Value:
    """Return a value of the given fields and those in the JSON column, ignoring fields of another version of Lore."""
    known = set(_names(kind)).intersection(bag)
    hints = get_type_hints(kind) if known else {}
    found = {name: _loader(hints[name]).validate_python(bag[name]) for name in known}
    return kind(**(found | given))


def _names(kind: Any) -> Iterator[str]:
    return (field.name for field in fields(kind))


def _bag(value: Any, skip: Sequence[str]) -> dict[str, Any]:
    return {field.name: _json(getattr(value, field.name)) for field in fields(value) if field.name not in skip}


def _json(value: Any) -> Any:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value)


def _number(value: Any) -> Any:
    """Return numpy's numbers as Python's, which databases require."""
    return value.item() if hasattr(value, "item") else value


@cache
def _loader(hint: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(hint)
