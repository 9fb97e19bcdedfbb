"""The check of a statement before it may run: one statement, that reads, and only what its declaration allows.

A statement is parsed in the dialect of its database, checked, and written anew from its syntax tree without comments.
Only that text is run, so the database never sees anything that the check did not. Whatever the check doesn't know is
refused: kinds of syntax, functions, tables and columns are lists of what is allowed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from lore.databases.compliance.functions import refused_functions
from lore.databases.compliance.limits import with_limit
from lore.databases.compliance.names import NameCheck
from lore.databases.compliance.recursion import endless_recursion
from lore.databases.compliance.syntax import refused_syntax
from lore.databases.schema.model import DatabaseSchema
from lore.errors import StatementRefusedError

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["CheckedStatement", "check_statement", "readable_sql", "sqlglot_dialect"]

MAX_CHARACTERS = 20_000
MAX_NODES = 5_000
DIALECTS = {"postgresql": "postgres", "mssql": "tsql"}


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """A statement that may run: `sql` is what the database gets. `tables` and `columns` are all that it reads."""

    sql: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    ordered: bool = False


def sqlglot_dialect(name: str) -> str:
    """Return sqlglot's name of a dialect by SQLAlchemy's."""
    return DIALECTS.get(name, name)


def check_statement(sql: str, schema: DatabaseSchema, *, rows: int) -> CheckedStatement:
    """Return the statement as it may run, with a limit of at most `rows` + 1 rows, so that a cut becomes visible.

    Raises StatementRefusedError with every reason.
    """
    dialect = sqlglot_dialect(schema.dialect)
    tree = _parse(sql, dialect)
    _refuse_if(refused_syntax(tree))
    _refuse_if(refused_functions(tree, dialect))
    names = NameCheck(schema, dialect)
    _refuse_if(names.refused(tree))
    _refuse_if(endless_recursion(tree))
    ordered = tree.args.get("order") is not None
    limited = with_limit(tree, rows + 1)
    text = _write(limited, dialect)
    return CheckedStatement(text, tuple(sorted(names.tables)), tuple(sorted(names.columns)), ordered)


def readable_sql(sql: str, dialect: str) -> str:
    """Return a checked statement with line breaks and indentation, for people. `dialect` is SQLAlchemy's name."""
    import sqlglot

    return sqlglot.transpile(sql, read=sqlglot_dialect(dialect), write=sqlglot_dialect(dialect), pretty=True)[0]


def _parse(sql: str, dialect: str) -> exp.Expression:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    _silence_parser()
    if len(sql) > MAX_CHARACTERS:
        _refuse(f"it is longer than {MAX_CHARACTERS:,} characters")
    if "\0" in sql:
        _refuse("it has a null character")
    if "/*!" in sql or "/*+" in sql:
        _refuse("it has a comment that a database may execute")
    try:
        found = [tree for tree in sqlglot.parse(sql, dialect=dialect) if tree is not None]
    except (SqlglotError, RecursionError, ValueError) as error:
        _refuse(f"it couldn't be parsed as {dialect}: {_first_line(error)}")
    statements = [tree for tree in found if not isinstance(tree, exp.Semicolon)]
    if len(statements) != 1:
        _refuse("it has several statements" if statements else "it is empty")
    tree: Any = statements[0]
    if not isinstance(tree, (exp.Select, exp.SetOperation)):
        _refuse(f"it is {type(tree).__name__.upper()} instead of SELECT")
    try:
        nodes = sum(1 for _ in tree.walk())
    except RecursionError:
        nodes = MAX_NODES + 1
    if nodes > MAX_NODES:
        _refuse("it is too complex")
    return tree


@cache
def _silence_parser() -> None:
    """Keep sqlglot from logging the statements that it can't parse: they hold what people asked."""
    logging.getLogger("sqlglot").setLevel(logging.ERROR)


def _write(tree: exp.Expression, dialect: str) -> str:
    """Return the text, which must be parsed as the same tree again."""
    import sqlglot
    from sqlglot.errors import ErrorLevel, SqlglotError

    try:
        text = tree.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.RAISE)
        again = sqlglot.parse_one(text, dialect=dialect)
        same = again.sql(dialect=dialect, comments=False) == text
    except (SqlglotError, RecursionError, ValueError) as error:
        _refuse(f"it couldn't be written in {dialect}: {_first_line(error)}")
    if not same or not again.args.get("limit"):
        _refuse("it reads differently when written again")
    return text


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200].replace("\x1b[4m", "").replace("\x1b[0m", "").rstrip(".")


def _refuse_if(reasons: Iterator[str]) -> None:
    found = list(dict.fromkeys(reasons))
    if found:
        _refuse("; ".join(found[:5]))


def _refuse(reason: str) -> NoReturn:
    raise StatementRefusedError(f"The statement was refused: {reason}.", remedy="Only one SELECT may run.") from None
