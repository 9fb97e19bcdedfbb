"""Migration of a database to this version's schema: on first open, by one process at a time, wholly or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lore.errors import ConfigurationError
from lore.records.engine import explained, reading
from lore.records.tables import HEAD, VERSION_TABLE

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["MIGRATIONS", "bring_up_to_date", "is_up_to_date", "migrate"]

MIGRATIONS = Path(__file__).with_name("migrations")
ADVISORY_LOCK = 0x4C6F7265  # "Lore"; PostgreSQL's lock of this number is held while the schema is changed


def bring_up_to_date(engine: Engine) -> None:
    """Create the tables or migrate them to this version's schema, if necessary.

    Raises ConfigurationError if a newer version of Lore has changed them, and RecordsError.
    """
    with explained("opened"):
        with reading(engine) as connection:
            if _revision(connection) == HEAD:
                return
        with engine.begin() as connection:  # in SQLite this takes the write lock
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})")
            revision = _revision(connection)  # another process may have been first
            if revision != HEAD:
                _check_known(revision)
                migrate(connection, "head")


def is_up_to_date(engine: Engine) -> bool:
    """Return True if the tables have this version's schema, without changing anything.

    Raises ConfigurationError if a newer version of Lore has changed them, and RecordsError.
    """
    with explained("opened"), reading(engine) as connection:
        revision = _revision(connection)
        _check_known(revision)
        return revision == HEAD


def migrate(connection: Connection, revision: str) -> None:
    """Migrate the tables to a revision ("head", "base" …) inside the open transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    change = command.downgrade if revision == "base" else command.upgrade
    change(config, revision)


def _revision(connection: Connection) -> str | None:
    from sqlalchemy import inspect, text

    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found: str | None = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608
    return found


def _check_known(revision: str | None) -> None:
    from alembic.script import ScriptDirectory

    if revision is None:
        return
    known = {script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()}
    if revision not in known:
        raise ConfigurationError(
            f"The records were written by a newer Lore: their schema is {revision!r}, this one knows {HEAD!r}.",
            remedy="Update this Lore, or point LORE_RECORDS_URL to another database.",
        )
