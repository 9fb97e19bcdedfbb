"""The tables of the records in this version; the files in `migrations/` create them.

Columns hold what is counted, filtered and joined. JSON columns hold what is only read as a whole: `more` has the fields
without a column of their own, so that a new field needs no migration.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator

from lore.records.clean import KEY_CHARACTERS

if TYPE_CHECKING:
    from sqlalchemy import Dialect

__all__ = [
    "HEAD",
    "VERSION_TABLE",
    "Moment",
    "answers",
    "calls",
    "candidates",
    "citations",
    "claims",
    "feedback",
    "keys",
    "metadata",
    "opinions",
    "passages",
    "places",
]

HEAD = "0005"
"""The newest migration, repeated here so that opening current records need not import Alembic."""

VERSION_TABLE = "lore_schema"
"""Alembic's table under a name of its own, because another program (Airflow, for example) may use the database."""


class Moment(TypeDecorator[datetime]):
    """An aware time in UTC on any database: SQLite stores no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; without the zone for SQLite, so that its texts compare like times."""
        if value is None:
            return None
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _key(name: str, **options: Any) -> Column[str]:
    return Column(name, String(KEY_CHARACTERS), nullable=False, **options)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _answer_id() -> Column[str]:
    link = ForeignKey("lore_answers.id", ondelete="CASCADE")
    return Column("answer_id", String(KEY_CHARACTERS), link, primary_key=True)


def _ordinal() -> Column[int]:
    return Column("ordinal", Integer, primary_key=True, autoincrement=False)


def _bag(name: str) -> Column[Any]:
    return Column(name, JSON, nullable=False)


answers = Table(
    "lore_answers",
    metadata,
    _key("id", primary_key=True),
    Column("asked_at", Moment, nullable=False),
    _key("surface"),
    _key("asker"),
    _text("question"),
    _bag("history"),
    _bag("scope"),  # what else the question says: sources, audiences
    _bag("plan"),
    _text("answer"),
    Column("found", Boolean, nullable=False),
    Column("index_version", Integer),
    Column("retrieved", Integer, nullable=False),
    Column("candidates", Integer, nullable=False),
    Column("seconds", Double),
    _bag("trace"),  # what else the trace says: check, models, prompts, seconds of each stage, notes
    _bag("more"),
    Column("packed", LargeBinary),  # passages and candidates; NULL in rows of older versions
    Index(None, "asked_at"),
    Index(None, "asker"),
)
"""One row for each answered question; `seconds` is the total time, `scope` and `trace` are JSON."""

calls = Table(
    "lore_calls",
    metadata,
    _answer_id(),
    _ordinal(),
    _text("model"),
    _text("stage"),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("cost", Double),
    _bag("more"),
)
"""Each call of a model: a `Usage`."""

candidates = Table(
    "lore_candidates",
    metadata,
    _answer_id(),
    _ordinal(),
    _text("chunk_id"),
    _text("document_id"),
    _text("title"),
    Column("found_at", Integer, nullable=False),
    Column("reranked_at", Integer),
    Column("score", Double, nullable=False),
    _bag("more"),
    sqlite_with_rowid=False,  # hundreds of rows for an answer: kept once, in the order of the key
)
"""Not written any more. Ranks of each passage found, before and after reranking: a `CandidateRank`."""

passages = Table(
    "lore_passages",
    metadata,
    _answer_id(),
    _ordinal(),
    _text("chunk_id"),
    _text("document_id"),
    _text("source_id"),
    _text("url"),
    _text("title"),
    _text("text"),
    Column("score", Double, nullable=False),
    Column("vector_score", Double),
    Column("keyword_score", Double),
    _bag("more"),  # of the chunk: headings, position, audiences …
)
"""Not written any more. The passages that the answer was written from, in order: a `Hit` without its vector."""

citations = Table(
    "lore_citations",
    metadata,
    _answer_id(),
    Column("kind", String(20), primary_key=True),  # "cited" or "nearest"
    _ordinal(),
    Column("number", Integer, nullable=False),
    _text("document_id"),
    _text("chunk_id"),
    _text("source_id"),
    _text("url"),
    _text("title"),
    _text("quote"),
    _bag("more"),
)
"""The pages that the answer cites, or the nearest ones if it found nothing: a `Citation`."""

feedback = Table(
    "lore_feedback",
    metadata,
    _answer_id(),
    _key("asker", primary_key=True),
    Column("helpful", Boolean, nullable=False),
    _text("reason"),
    Column("given_at", Moment, nullable=False),
    Index(None, "asker"),
)
"""One row for each person and answer; the last feedback replaces the one before."""

opinions = Table(
    "lore_opinions",
    metadata,
    _answer_id(),
    _key("asker", primary_key=True),
    _bag("said"),  # the newest word of each button and reaction, with its time
    _bag("told"),  # the message in which others were told of it
    Index(None, "asker"),
)
"""A person's votes on an answer in a chat, from which their feedback follows."""

claims = Table(
    "lore_claims",
    metadata,
    _key("key", primary_key=True),
    _key("owner"),
    Column("state", String(20), nullable=False),  # "held" or "finished"
    Column("lease_until", Moment, nullable=False),
    Column("attempts", Integer, nullable=False),
    _bag("data"),
    Index(None, "lease_until"),
)
"""The process that handles or handled an event."""

places = Table(
    "lore_places",
    metadata,
    _key("channel", primary_key=True),
    _key("ts", primary_key=True),
    _key("team", primary_key=True),
    _key("thread_ts"),
    _key("answer_id"),
    _key("asker"),
    Column("kept_at", Moment, nullable=False),
    Index(None, "thread_ts"),
    Index(None, "asker"),
    Index(None, "kept_at"),
)
"""Messages of a chat that hold an answer, or a part of one."""

keys = Table(
    "lore_keys",
    metadata,
    _key("id", primary_key=True),
    _key("digest"),
    _text("name"),
    _bag("audiences"),
    Column("rate", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index(None, "digest", unique=True),
)
"""Keys of the API: `digest` is the SHA-256 of the secret, `rate` the questions in ten minutes (0: no limit)."""
