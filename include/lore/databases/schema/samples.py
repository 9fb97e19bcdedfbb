"""Sample values of columns that have few of them, for columns whose declaration shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lore.databases.compliance.check import check_statement, sqlglot_dialect
from lore.databases.run.execute import run_statement
from lore.databases.schema.declared import matches
from lore.databases.schema.model import DatabaseSchema, TableColumn, TableInfo

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["with_samples"]

MAX_VALUES = 20
MAX_CHARACTERS = 60


def with_samples(schema: DatabaseSchema, engine: Engine, patterns: Sequence[str], *, seconds: float) -> DatabaseSchema:
    """Return the schema with the values of the columns that fit a pattern and have at most 20.

    Forbidden ones have none. Raises DatabaseError if a column can't be read in time.
    """
    if not patterns:
        return schema

    def sampled(table: TableInfo, column: TableColumn) -> TableColumn:
        hidden = table.forbidden or column.forbidden
        if hidden or not matches(f"{table.name}.{column.name}", patterns):
            return column
        statement = check_statement(_distinct_values(table, column, schema), schema, rows=MAX_VALUES)
        found = run_statement(engine, statement, rows=MAX_VALUES, seconds=seconds)
        values = [str(row[0])[:MAX_CHARACTERS] for row in found.rows]
        return column if found.cut else replace(column, samples=tuple(sorted(values)))

    return schema.with_tables(
        replace(table, columns=tuple(sampled(table, column) for column in table.columns))
        for table in schema.tables.values()
    )


def _distinct_values(table: TableInfo, column: TableColumn, schema: DatabaseSchema) -> str:
    from sqlglot import exp

    name = exp.to_identifier(column.name, quoted=True)
    place = exp.Table(
        this=exp.to_identifier(table.plain_name, quoted=True),
        db=exp.to_identifier(table.schema_name, quoted=True) if table.schema_name else None,
    )
    query = exp.select(exp.Column(this=name)).distinct().from_(place)
    return query.where(exp.Column(this=name.copy()).is_(exp.null()).not_()).sql(dialect=sqlglot_dialect(schema.dialect))
