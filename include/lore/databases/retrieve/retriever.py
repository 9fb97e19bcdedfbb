"""Retrieval of the part of a schema that a question needs: one protocol, its result, and what happens on failure."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Protocol

from lore.databases.schema.model import DatabaseSchema
from lore.databases.schema.render import render_schema, render_table
from lore.errors import LoreError
from lore.query.answer.tokens import estimate_tokens

__all__ = ["RetrievedSchema", "SchemaRetriever", "retrieve_schema"]

_log = logging.getLogger(__name__)


class SchemaRetriever(Protocol):
    """A way to find the tables that a question needs."""

    @property
    def name(self) -> str: ...

    def rank(self, question: str, schema: DatabaseSchema, limit: int) -> list[str]:
        """Return the names of at most `limit` tables, best first. Raises LoreError."""
        ...


@dataclass(frozen=True)
class RetrievedSchema:
    """The retrieved tables, best first, as a schema. `way` found them; `note` says why it isn't the one asked for.

    `tokens` are those of the text for the model, `whole_tokens` those of the whole schema.
    """

    schema: DatabaseSchema
    tables: tuple[str, ...]
    way: str
    tokens: int
    whole_tokens: int
    seconds: float
    note: str = ""

    @property
    def columns(self) -> int:
        """The number of columns of these tables."""
        return sum(len(table.columns) for table in self.schema.tables.values())


def retrieve_schema(
    question: str,
    schema: DatabaseSchema,
    retriever: SchemaRetriever,
    fallback: SchemaRetriever,
    *,
    limit: int,
    max_tokens: int,
) -> RetrievedSchema:
    """Return at most `limit` tables for a question, of about `max_tokens` in all but never none.

    A retriever that fails is replaced by `fallback`, and the note says so.
    """
    readable, started, note, way = schema.readable, perf_counter(), "", retriever.name
    try:
        names = retriever.rank(question, readable, limit)
    except LoreError as error:
        _log.warning("Schema retrieval by %s failed: %s", way, error)
        note = f"The tables were found by {fallback.name}, because {way} failed: {error.message}"
        names, way = fallback.rank(question, readable, limit), fallback.name
    seconds = perf_counter() - started
    kept = _within(names, readable, max_tokens)
    part = readable.only(kept)
    tokens = estimate_tokens(render_schema(part))
    return RetrievedSchema(part, tuple(kept), way, tokens, _whole_tokens(readable), seconds, note)


@lru_cache(maxsize=4)
def _whole_tokens(schema: DatabaseSchema) -> int:
    return estimate_tokens(render_schema(schema))


def _within(names: list[str], schema: DatabaseSchema, max_tokens: int) -> list[str]:
    kept: list[str] = []
    tokens = 0
    for name in names:
        tokens += estimate_tokens(render_table(schema.tables[name], schema.dialect))
        if kept and tokens > max_tokens:
            break
        kept.append(name)
    return kept
