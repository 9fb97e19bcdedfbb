"""Errors of the databases that people ask; none of them has an address or a login."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lore.errors import DatabaseError

__all__ = ["StatementError", "database_errors"]

MAX_REASON = 500
UNREACHABLE = ("08", "28", "3D", "53", "57")
"""Classes of PostgreSQL's error codes about connections, logins, databases and resources."""


class StatementError(DatabaseError):
    """An error of the database about a statement, which a model may correct."""


@contextmanager
def database_errors(seconds: float) -> Iterator[None]:
    """Turn the errors of the block into StatementError, if the statement is to blame, or DatabaseError.

    `seconds` is the time limit, for the message.
    """
    from sqlalchemy import exc

    try:
        yield
    except exc.DBAPIError as error:
        original = error.orig or error
        text = (str(original).strip().splitlines() or [type(original).__name__])[0].rstrip(".")[:MAX_REASON]
        state = getattr(original, "sqlstate", None) or ""
        if state == "57014" or text == "interrupted":
            raise DatabaseError(
                f"The statement took longer than {seconds:g} s, so it was stopped.",
                remedy="Ask for less, or raise `policy.seconds` in the database's declaration.",
            ) from None
        if state.startswith(UNREACHABLE) or error.connection_invalidated or _no_connection(original):
            raise DatabaseError(
                "Couldn't reach the database.", remedy="Check its address and login.", retryable=True
            ) from None
        raise StatementError(f"The database refused the statement: {text}.") from None
    except exc.SQLAlchemyError as error:
        raise DatabaseError(f"The database failed: {type(error).__name__}.") from None


def _no_connection(error: BaseException) -> bool:
    kind, state = type(error).__name__, getattr(error, "sqlstate", None)
    return (kind == "OperationalError" and hasattr(error, "sqlstate") and not state) or "unable to open" in str(error)
