"""Forbidden columns of views: those that hand out what a forbidden column or table holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from lore.databases.compliance.functions import refused_functions
from lore.databases.compliance.names import qualified
from lore.databases.schema.model import DatabaseSchema, TableInfo

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["forbid_view_columns"]


def forbid_view_columns(schema: DatabaseSchema, dialect: str) -> DatabaseSchema:
    """Return the schema with every column of a view marked that comes from a forbidden column or table.

    A view may itself read views. One whose definition can't be followed is forbidden whole. Without anything forbidden,
    the views are as they were.
    """
    tables = dict(schema.tables)
    if not any(table.forbidden or any(column.forbidden for column in table.columns) for table in tables.values()):
        return schema
    waiting = [table for table in tables.values() if table.is_view]
    while waiting:
        pending = {view.name for view in waiting}
        ready = [view for view in waiting if not _read_tables(view, schema, dialect) & (pending - {view.name})]
        current = schema.with_tables(tables.values())
        for view in ready or waiting:
            tables[view.name] = _checked(view, current, dialect)
        waiting = [view for view in waiting if view not in (ready or waiting)]
    return schema.with_tables(tables.values())


def _checked(view: TableInfo, schema: DatabaseSchema, dialect: str) -> TableInfo:
    from sqlglot.errors import SqlglotError

    try:
        origins = list(_origins(view, schema, dialect))
        if len(origins) != len(view.columns):
            raise ValueError
    except (SqlglotError, RecursionError, ValueError, KeyError, AttributeError):
        return replace(view, forbidden=True)
    columns = (
        replace(column, forbidden=column.forbidden or any(_is_forbidden(each, schema, dialect) for each in found))
        for column, found in zip(view.columns, origins, strict=True)
    )
    return replace(view, columns=tuple(columns))


def _origins(view: TableInfo, schema: DatabaseSchema, dialect: str) -> Iterator[set[tuple[str, str]]]:
    """Yield for each column of a view the tables and columns that its value depends on."""
    from sqlglot import exp
    from sqlglot.optimizer.scope import traverse_scope

    query = _query(view, dialect)
    if any(refused_functions(query, dialect)) or not all(table.name for table in query.find_all(exp.Table)):
        raise ValueError  # a function may read any table
    full: Any = qualified(query, schema, dialect)
    scopes = traverse_scope(full)
    places = {id(column): scope for scope in scopes for column in scope.columns if column.table in scope.sources}
    for number in range(len(full.selects)):
        yield set(_of_projection(full, number, places))


def _of_projection(query: Any, number: int, places: dict[int, Any]) -> Iterator[tuple[str, str]]:
    from sqlglot import exp

    if isinstance(query, exp.Subquery):
        yield from _of_projection(query.this, number, places)
        return
    if isinstance(query, exp.SetOperation):
        for side in (query.this, query.expression):
            yield from _of_projection(side, number, places)
        return
    for column in query.selects[number].find_all(exp.Column):
        source = places[id(column)].sources[column.table]
        if isinstance(source, exp.Table):
            yield ".".join(part for part in (source.db, source.name) if part), column.name
        else:
            inner = source.expression
            names = [each.lower() for each in (_alias_columns(source) or inner.named_selects)]
            yield from _of_projection(inner, names.index(column.name.lower()), places)


def _alias_columns(scope: Any) -> list[str]:
    alias = scope.expression.parent.args.get("alias") if scope.expression.parent else None
    return [column.name for column in (alias.args.get("columns") or ())] if alias else []


def _is_forbidden(origin: tuple[str, str], schema: DatabaseSchema, dialect: str) -> bool:
    name = origin[0].removeprefix(f"{schema.default}.").lower()
    named = schema.by_plain_name.get(name.rpartition(".")[2], ())
    table = next((table for table in named if table.name.lower() == name), None)
    if table is None or table.forbidden:
        return True
    return any(column.forbidden and column.name.lower() == origin[1].lower() for column in table.columns)


def _query(view: TableInfo, dialect: str) -> exp.Expression:
    import sqlglot
    from sqlglot import exp

    tree: Any = sqlglot.parse_one(view.definition, dialect=dialect)
    return cast("exp.Expression", tree.expression if isinstance(tree, exp.Create) else tree)


def _read_tables(view: TableInfo, schema: DatabaseSchema, dialect: str) -> set[str]:
    """Return the tables that a view's definition may read; none if it can't be parsed."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tables = list(_query(view, dialect).find_all(exp.Table))
    except (SqlglotError, RecursionError, ValueError):
        return set()
    return {found.name for table in tables for found in schema.by_plain_name.get(table.name.lower(), ())}
