"""A database behind a URL, opened so that several threads and processes may use it: SQLite or PostgreSQL.

SQLite, by default, lets a transaction begin as a reader and then fails at once when it wants to write beside another
writer. So transactions that write take the write lock at their beginning, and wait for it (BEGIN IMMEDIATE).
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore.errors import ConfigurationError, RecordsError, require

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

__all__ = ["BUSY_SECONDS", "check_url", "database_file", "explained", "insert_for", "open_engine", "reading"]

BUSY_SECONDS = 10.0
"""How long a writer waits for another one."""
CONNECT_SECONDS = 10
STATEMENT_SECONDS = 60

_SCHEMES = {
    "sqlite": "sqlite+pysqlite",
    "sqlite+pysqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_REMEDY = "Set LORE_RECORDS_URL to sqlite:///PATH, postgresql://USER:PASSWORD@HOST/DATABASE or none."


def check_url(url: str) -> None:
    """Raise ConfigurationError where no records can be behind the URL; nothing is imported or opened.

    The URL is never repeated: it may hold a password.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in _SCHEMES:
        raise ConfigurationError("LORE_RECORDS_URL names no database that Lore knows.", remedy=_REMEDY)
    if scheme.startswith("postgres"):
        require("psycopg", "postgres", "Recording in PostgreSQL")
    elif database_file(url) is None or "?" in rest:
        raise ConfigurationError("LORE_RECORDS_URL names no file: sqlite:/// and a path is wanted.", remedy=_REMEDY)


def database_file(url: str) -> Path | None:
    """The file of an SQLite URL; None where it names none, and for PostgreSQL."""
    match = re.fullmatch(r"sqlite(?:\+pysqlite)?:///(?!:memory:)([^?]+)", url)
    return Path(match[1]).expanduser() if match else None


def open_engine(url: str) -> Engine:
    """The database, with a pool of connections; its file and folders are made, readable for nobody else.

    Raises ConfigurationError for a URL that names none, and RecordsError.
    """
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError

    check_url(url)
    if file := database_file(url):
        return _open_sqlite(file)
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
    """Whether a piece of the password was taken for the host, the database or an option, which errors would repeat."""
    strange = re.search(r"[^\w.:,%-]", address.host or "") or re.search("[@/]", address.database or "")
    return bool(strange) or not all(re.fullmatch("[a-z_]+", name) for name in address.query)


def _postgres_options(url: URL) -> dict[str, Any]:
    """Limits of time, but for those that the URL sets."""
    options = {
        "connect_timeout": CONNECT_SECONDS,
        "tcp_user_timeout": STATEMENT_SECONDS * 1000,
        "options": f"-c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={STATEMENT_SECONDS}s",
        "application_name": "lore",
    }
    return {name: value for name, value in options.items() if name not in url.query}


def _open_sqlite(file: Path) -> Engine:
    from sqlalchemy import URL, create_engine, event

    _make_private(file)
    engine = create_engine(
        URL.create(_SCHEMES["sqlite"], database=str(file)),
        hide_parameters=True,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _make_private(file: Path) -> None:
    """Make what is missing of the folders and the file, for the owner alone; what is there stays as it is."""
    try:
        for folder in reversed([folder for folder in file.parents if not folder.exists()]):
            folder.mkdir(mode=0o700, exist_ok=True)
        # SQLite gives the files beside it (-wal, -shm) the permissions of this one.
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise RecordsError(
            f"The records at {file} cannot be opened: {error.strerror or error}.",
            remedy="Set LORE_RECORDS_URL to a place where this process may write.",
            retryable=True,
        ) from error


def _set_up(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # sqlite3 begins nothing by itself: `_begin` does
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is written over
    _use_wal(connection)


def _use_wal(connection: Any) -> None:
    """Let readers and a writer work side by side. Kept by the file, so this does something once.

    SQLite does not wait for a lock here: of two processes that switch at once, one is refused.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                return
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _begin(connection: Connection) -> None:
    reads = connection.get_execution_options().get("lore_reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that only reads, all of one moment, and waits for no writer."""
    options: dict[str, Any] = {"lore_reads": True}
    if engine.dialect.name == "postgresql":  # which lets each statement see another moment by default
        options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with engine.connect().execution_options(**options) as connection:
        yield connection


def insert_for(engine: Engine) -> Any:
    """The database's own `insert`, which knows what to do where the row is there already."""
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
        raise RecordsError(f"The records could not be {what}: {_reason(error)}.", retryable=True) from error
    except exc.DBAPIError as error:
        again = error.connection_invalidated or _may_be_mended(error.orig)
        raise RecordsError(f"The records could not be {what}: {_reason(error)}.", retryable=again) from error
    except sqlite3.Error as error:  # while a connection was set up, which SQLAlchemy does not translate
        again = isinstance(error, sqlite3.OperationalError)
        raise RecordsError(f"The records could not be {what}: {_reason(error)}.", retryable=again) from error
    except exc.SQLAlchemyError as error:
        raise RecordsError(f"The records could not be {what}: {type(error).__name__}.") from error


def _may_be_mended(error: BaseException | None) -> bool:
    """Whether PostgreSQL refuses everybody, not what was to be stored: it is a read-only stand-by, lacks a table …"""
    state = getattr(error, "sqlstate", None) or ""
    return state.startswith(("0A", "25", "42"))  # a stand-by begins no transaction that writes (0A) or writes in none


def _reason(error: Any) -> str:
    """The first line: the lines after it quote values."""
    original = getattr(error, "orig", None) or error
    lines = str(original).strip().splitlines() or [type(original).__name__]
    return lines[0].rstrip(".:")
