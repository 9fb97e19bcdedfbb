"""The schema as text for a language model: short CREATE TABLE statements with their meanings as comments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from lore.databases.schema.model import DatabaseSchema, TableColumn, TableInfo
from lore.query.verify.injection import contains_injection
from lore.visible_text import visible

__all__ = ["render_schema", "render_table"]

MAX_COMMENT = 200
CASELESS = ("sqlite",)
_RESERVED = """
all and as asc by case check column default desc distinct end from group in index is join limit not null offset on or
order primary references select set table to union user using values when where
"""
RESERVED = frozenset(_RESERVED.split())


def render_schema(schema: DatabaseSchema) -> str:
    """Return the tables as text; forbidden tables and columns are left out."""
    return "\n\n".join(render_table(table, schema.dialect) for table in schema.readable.tables.values())


def render_table(table: TableInfo, dialect: str) -> str:
    """Return one table as text. Names and comments come from outside, so each stays on its line."""
    quote = partial(quoted_name, dialect=dialect)
    note = _comment(table.meaning, table.comment)
    kind = "VIEW" if table.is_view else "TABLE"
    lines = [f"CREATE {kind} {quote(table.name)} ({' -- ' + note if note else ''}"]
    lines += (f"  {line}" for line in _column_lines(table, quote))
    return "\n".join([*lines, ");"])


def quoted_name(name: str, dialect: str) -> str:
    """Return a name as it is written in a statement: quoted where case, signs or reserved words need it."""
    return ".".join(part if _is_plain(part, dialect) else _quoted(part) for part in name.split("."))


def _is_plain(name: str, dialect: str) -> bool:
    lower = name.lower()
    return name.isascii() and name.isidentifier() and lower not in RESERVED and (dialect in CASELESS or name == lower)


def _quoted(name: str) -> str:
    return '"' + visible(name).replace('"', '""') + '"'


def _column_lines(table: TableInfo, quote: Callable[[str], str]) -> Iterator[str]:
    for column in table.columns:
        parts = [quote(column.name), column.type.lower(), "primary key" if column.primary_key else ""]
        parts += (
            f"references {quote(key.table)}({quote(key.referred[0])})"
            for key in table.foreign_keys
            if key.columns == (column.name,)
        )
        note = _comment(column.meaning, column.comment, _samples(column))
        yield " ".join(part for part in parts if part) + "," + (f" -- {note}" if note else "")
    for key in table.foreign_keys:
        if len(key.columns) > 1:
            own, other = (", ".join(map(quote, names)) for names in (key.columns, key.referred))
            yield f"foreign key ({own}) references {quote(key.table)}({other}),"


def _samples(column: TableColumn) -> str:
    return "values: " + ", ".join(repr(visible(value)) for value in column.samples) if column.samples else ""


def _comment(*parts: str) -> str:
    """Return the notes of a name on one line; one that gives a language model orders is left out."""
    kept = (part for part in parts if part.strip() and not contains_injection(part))
    return "; ".join(visible(part)[:MAX_COMMENT] for part in kept)
