"""A database behind a URL, opened for several threads and processes: SQLite or PostgreSQL."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore.errors import ConfigurationError, RecordsError, require
from lore.records.sqlite_file import BUSY_SECONDS, SqliteFile

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

__all__ = ["BUSY_SECONDS", "check_url", "database_file", "explained", "insert_for", "open_engine", "reading"]

CONNECT_SECONDS = 10
STATEMENT_SECONDS = 60

_SCHEMES = {
    "sqlite": "sqlite+pysqlite",
    "sqlite+pysqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_LOCAL_DISK = "Look at the disk: it may be full, or a network file system, over which SQLite can't share a file."
_BEGUN_ANEW = "The next question moves the damaged file aside and begins a new one."
_ANOTHER_PLACE = "Set LORE_RECORDS_URL to a place where this process may write."
_REMEDIES = {
    sqlite3.SQLITE_FULL: "Free space on the disk.",
    sqlite3.SQLITE_IOERR: _LOCAL_DISK,
    sqlite3.SQLITE_PROTOCOL: _LOCAL_DISK,
    sqlite3.SQLITE_PERM: _ANOTHER_PLACE,
    sqlite3.SQLITE_READONLY: _ANOTHER_PLACE,
    sqlite3.SQLITE_CANTOPEN: _ANOTHER_PLACE,
    sqlite3.SQLITE_CORRUPT: _BEGUN_ANEW,
    sqlite3.SQLITE_NOTADB: _BEGUN_ANEW,
}
"""Remedies by SQLite's primary result code."""
_REMEDY = "Set LORE_RECORDS_URL to sqlite:///PATH, postgresql://USER:PASSWORD@HOST/DATABASE or none."


def check_url(url: str) -> None:
    """Raise ConfigurationError for a URL that can't hold records, without importing or opening anything.

    The URL is never repeated: it may contain a password.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in _SCHEMES:
        raise ConfigurationError("LORE_RECORDS_URL names no database that Lore knows.", remedy=_REMEDY)
    if scheme.startswith("postgres"):
        require("psycopg", "postgres", "Recording in PostgreSQL")
    elif database_file(url) is None or "?" in rest:
        raise ConfigurationError("LORE_RECORDS_URL names no file: sqlite:/// and a path is wanted.", remedy=_REMEDY)


def database_file(url: str) -> Path | None:
    """Return the file of an SQLite URL; None without one, and for PostgreSQL."""
    match = re.fullmatch(r"sqlite(?:\+pysqlite)?:///(?!:memory:)([^?]+)", url)
    return Path(match[1]).expanduser() if match else None


def open_engine(url: str, prepare: Callable[[Engine], None] | None = None) -> Engine:
    """Return the database with a pool of connections; its file and folders are created, readable by nobody else.

    `prepare` creates the tables: at once, and in a file that replaces one that was damaged, moved or removed. Without
    it, a damaged file is an error. Raises ConfigurationError for an invalid URL, and RecordsError.
    """
    check_url(url)
    file = database_file(url)
    engine = _open_postgres(url) if file is None else SqliteFile(file, prepare).engine
    if prepare is not None:
        try:
            prepare(engine)
        except BaseException:
            engine.dispose()
            raise
    return engine


def _open_postgres(url: str) -> Engine:
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError

    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigurationError("LORE_RECORDS_URL cannot be read.", remedy=_REMEDY) from None
    if _torn_apart(address):
        raise ConfigurationError(
            "LORE_RECORDS_URL cannot be read.", remedy=f"{_REMEDY} In a password write @ as %40, / as %2F and ? as %3F."
        )
    return create_engine(
        address.set(drivername=_SCHEMES[address.drivername]),
        pool_pre_ping=True,
        hide_parameters=True,  # they are what people asked, and end in no log
        connect_args=_postgres_options(address),
    )


def _torn_apart(address: URL) -> bool:
    """Return True if a piece of the password was parsed as host, database or option, which errors would repeat."""
    strange = re.search(r"[^\w.:,%-]", address.host or "") or re.search("[@/]", address.database or "")
    return bool(strange) or not all(re.fullmatch("[a-z_]+", name) for name in address.query)


def _postgres_options(url: URL) -> dict[str, Any]:
    """Return time limits, except those that the URL sets."""
    options = {
        "connect_timeout": CONNECT_SECONDS,
        "tcp_user_timeout": STATEMENT_SECONDS * 1000,
        "options": f"-c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={STATEMENT_SECONDS}s",
        "application_name": "lore",
    }
    return {name: value for name, value in options.items() if name not in url.query}


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a connection that reads a single snapshot and waits for no writer."""
    options: dict[str, Any] = {"lore_reads": True}
    if engine.dialect.name == "postgresql":  # which lets each statement see another moment by default
        options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with engine.connect().execution_options(**options) as connection:
        yield connection


def insert_for(engine: Engine) -> Any:
    """Return the database's own `insert`, which supports upserts."""
    if engine.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as postgresql_insert

        return postgresql_insert
    from sqlalchemy.dialects.sqlite import insert as sqlite_insert

    return sqlite_insert


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn the errors of the database inside the block into RecordsError; `what` was to be done.

    Retryable is what can pass (no connection, locked, disk full) or be mended beside us (a permission, a lost table).
    """
    from sqlalchemy import exc

    try:
        yield
    except (exc.OperationalError, exc.InterfaceError, exc.TimeoutError) as error:
        raise _explained(what, error, again=True) from error
    except exc.DBAPIError as error:
        again = error.connection_invalidated or _may_be_mended(error.orig)
        raise _explained(what, error, again=again) from error
    except sqlite3.Error as error:  # of a statement that went past SQLAlchemy
        raise _explained(what, error, again=isinstance(error, sqlite3.OperationalError)) from error
    except exc.SQLAlchemyError as error:
        raise RecordsError(f"The records could not be {what}: {type(error).__name__}.") from error


def _explained(what: str, error: Exception, *, again: bool) -> RecordsError:
    original = getattr(error, "orig", None) or error
    remedy = _REMEDIES.get(getattr(original, "sqlite_errorcode", 0) & 0xFF, "")
    return RecordsError(f"The records could not be {what}: {_reason(original)}.", remedy=remedy, retryable=again)


def _may_be_mended(error: BaseException | None) -> bool:
    """Return True if PostgreSQL refuses everybody, not just this value: a read-only stand-by, a missing table …"""
    state = getattr(error, "sqlstate", None) or ""
    return state.startswith(("0A", "25", "42"))  # a stand-by begins no transaction that writes (0A) or writes in none


def _reason(error: BaseException) -> str:
    """Return the first line: the lines after it quote values."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".:")
