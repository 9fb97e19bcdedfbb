"""Execution of a checked statement: in a read-only transaction, with a time limit and a limit of rows."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from time import monotonic
from typing import TYPE_CHECKING, Any

from lore.databases.compliance.check import CheckedStatement
from lore.databases.run.connect import READS
from lore.databases.run.errors import database_errors

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["QueryResult", "explain_statement", "run_statement"]

MAX_CELL_CHARACTERS = 10_000
PROGRESS_STEPS = 1_000
"""SQLite's virtual machine instructions between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a statement. `cut` is True if there were more than the policy allows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool = False
    seconds: float = 0.0


def run_statement(engine: Engine, statement: CheckedStatement, *, rows: int, seconds: float) -> QueryResult:
    """Run a checked statement, and return at most `rows` rows of plain values.

    Raises StatementError for the database's own complaint, and DatabaseError if it can't be reached or takes too long.
    """
    started = monotonic()
    with database_errors(seconds), _reading(engine, seconds) as connection:
        cursor = connection.exec_driver_sql(statement.sql)
        columns = tuple(cursor.keys())
        found = cursor.fetchmany(rows + 1)
    values = tuple(tuple(_plain(value) for value in row) for row in found[:rows])
    return QueryResult(columns, values, len(found) > rows, monotonic() - started)


def explain_statement(engine: Engine, statement: CheckedStatement, *, seconds: float) -> tuple[str, ...]:
    """Return the database's plan of a checked statement, a step in each line; nothing is read. Raises as above."""
    prefix = "EXPLAIN QUERY PLAN " if engine.dialect.name == "sqlite" else "EXPLAIN "
    with database_errors(seconds), _reading(engine, seconds, cursor=False) as connection:
        return tuple(str(row[-1]) for row in connection.exec_driver_sql(prefix + statement.sql))


@contextmanager
def _reading(engine: Engine, seconds: float, *, cursor: bool = True) -> Iterator[Connection]:
    """Open a connection whose transaction only reads and is always rolled back.

    `no_parameters` keeps drivers from reading a percent sign as a placeholder. With `cursor`, PostgreSQL declares a
    cursor for the statement, which it does for a SELECT alone.
    """
    options = {"no_parameters": True}
    if engine.dialect.name == "postgresql":
        options |= {"postgresql_readonly": True, "stream_results": cursor}
    with engine.connect().execution_options(**options) as connection:
        try:
            if engine.dialect.name == "postgresql":
                _limit_postgres(connection, seconds)
            else:
                _limit_sqlite(connection, seconds)
            yield connection
        finally:
            connection.rollback()


def _limit_postgres(connection: Connection, seconds: float) -> None:
    limit = max(1, int(seconds * 1000))
    driver: Any = connection.connection.driver_connection
    for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
        driver.execute(f"SET LOCAL {name} = {limit}")
    driver.execute("SET LOCAL standard_conforming_strings = on")  # a backslash in a text is one, as the check read it


def _limit_sqlite(connection: Connection, seconds: float) -> None:
    """Stop a statement after its time, and deny SQLite everything but reading."""
    until = monotonic() + seconds
    driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(lambda: int(monotonic() > until), PROGRESS_STEPS)
    driver.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in READS else sqlite3.SQLITE_DENY)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; long texts and bytes are cut."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return value[:MAX_CELL_CHARACTERS]
        case Decimal():
            return int(value) if value == value.to_integral_value() and value.as_tuple().exponent == 0 else float(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case bytes() | memoryview():
            return base64.b64encode(bytes(value[:MAX_CELL_CHARACTERS])).decode()
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
    return str(value)[:MAX_CELL_CHARACTERS]
