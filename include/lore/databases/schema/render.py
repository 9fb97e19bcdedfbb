"""The schema as text for a language model: short CREATE TABLE statements with their meanings as comments."""

from __future__ import annotations

from collections.abc import Iterator

from lore.databases.schema.model import DatabaseSchema, TableColumn, TableInfo
from lore.visible_text import visible

__all__ = ["render_schema", "render_table"]

MAX_COMMENT = 200


def render_schema(schema: DatabaseSchema) -> str:
    """Return the tables as text; forbidden tables and columns are left out."""
    return "\n\n".join(render_table(table) for table in schema.readable.tables.values())


def render_table(table: TableInfo) -> str:
    """Return one table as text. Names and comments come from outside, so each stays on its line."""
    note = _comment(table.meaning, table.comment)
    kind = "VIEW" if table.is_view else "TABLE"
    lines = [f"CREATE {kind} {quoted_name(table.name)} ({' -- ' + note if note else ''}"]
    lines += (f"  {line}" for line in _column_lines(table))
    return "\n".join([*lines, ");"])


def quoted_name(name: str) -> str:
    """Return a name as it is written in a statement: quoted where case or signs need it."""
    return ".".join(
        part
        if part.isascii() and part.isidentifier() and part == part.lower()
        else '"' + visible(part).replace('"', '""') + '"'
        for part in name.split(".")
    )


def _column_lines(table: TableInfo) -> Iterator[str]:
    for column in table.columns:
        parts = [quoted_name(column.name), column.type.lower(), "primary key" if column.primary_key else ""]
        parts += (
            f"references {quoted_name(key.table)}({quoted_name(key.referred[0])})"
            for key in table.foreign_keys
            if key.columns == (column.name,)
        )
        note = _comment(column.meaning, column.comment, _samples(column))
        yield " ".join(part for part in parts if part) + "," + (f" -- {note}" if note else "")
    for key in table.foreign_keys:
        if len(key.columns) > 1:
            own, other = (", ".join(map(quoted_name, names)) for names in (key.columns, key.referred))
            yield f"foreign key ({own}) references {quoted_name(key.table)}({other}),"


def _samples(column: TableColumn) -> str:
    return "values: " + ", ".join(repr(visible(value)) for value in column.samples) if column.samples else ""


def _comment(*parts: str) -> str:
    return "; ".join(visible(part)[:MAX_COMMENT] for part in parts if part.strip())
