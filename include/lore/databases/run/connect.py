"""Connections to the databases that people ask, opened so that they can only read."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lore.errors import ConfigurationError, require

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

__all__ = ["open_database"]

CONNECT_SECONDS = 10
REMEDY = "Write it as sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE."
READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, getattr(sqlite3, "SQLITE_RECURSIVE", 33))


def open_database(url: str, where: str) -> Engine:
    """Return the database at a URL, opened to read. `where` names the place of the URL, for errors.

    SQLite opens the file itself read-only; PostgreSQL starts each transaction read-only. Raises ConfigurationError,
    which never repeats the URL: it may hold a password.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigurationError(f"{where} holds no address of a database.", remedy=REMEDY) from None
    match address.get_backend_name():
        case "sqlite":
            return _open_sqlite(address, where)
        case "postgresql" | "postgres":
            return _open_postgres(address)
    raise ConfigurationError(f"{where} names an unsupported kind of database.", remedy=REMEDY)


def _open_sqlite(address: URL, where: str) -> Engine:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    path = Path(address.database or "").expanduser()
    if not address.database or address.database == ":memory:" or not path.is_file():
        raise ConfigurationError(f"{where} names no existing SQLite file.", remedy=REMEDY)

    def connect() -> Any:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=CONNECT_SECONDS, check_same_thread=False
        )
        connection.execute("PRAGMA query_only=ON")
        return connection

    return create_engine("sqlite+pysqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)


def _open_postgres(address: URL) -> Engine:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    require("psycopg", "postgres", "Asking PostgreSQL")
    options = {
        "connect_timeout": CONNECT_SECONDS,
        "options": "-c default_transaction_read_only=on",
        "application_name": "lore",
    }
    return create_engine(
        address.set(drivername="postgresql+psycopg"),
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={name: value for name, value in options.items() if name not in address.query},
    )
