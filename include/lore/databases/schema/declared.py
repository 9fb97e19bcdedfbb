"""The schema that a declaration leaves of a database's own: tables in and out, meanings, and the forbidden marked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from lore.databases.schema.model import DatabaseSchema, TableInfo
from lore.declarations.database import DatabaseDeclaration
from lore.errors import ConfigurationError

__all__ = ["keep_declared", "mark_declared", "matches"]


def mark_declared(schema: DatabaseSchema, declaration: DatabaseDeclaration) -> DatabaseSchema:
    """Return the schema with the declaration's meanings, and with what it forbids marked.

    Raises ConfigurationError for a declared name that the database doesn't have: a misspelt name in the policy would
    protect nothing. Patterns with `*` may match nothing.
    """
    _check_names(schema, declaration)
    hidden = [name for name in declaration.exclude if _is_column(name, schema)]
    return schema.with_tables(_declared(table, declaration, hidden) for table in schema.tables.values())


def keep_declared(schema: DatabaseSchema, declaration: DatabaseDeclaration) -> DatabaseSchema:
    """Return the schema of the included tables without the excluded ones."""
    kept = {
        name
        for name in schema.tables
        if (not declaration.include or matches(name, declaration.include)) and not matches(name, declaration.exclude)
    }
    return schema.only(kept)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return True if a name fits one of the patterns, in any case; `*` is any text."""
    return any(_pattern(pattern).fullmatch(name) for pattern in patterns)


@lru_cache(maxsize=10_000)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.IGNORECASE | re.DOTALL)


def _declared(table: TableInfo, declaration: DatabaseDeclaration, excluded: Collection[str]) -> TableInfo:
    policy = declaration.policy
    columns = []
    for column in table.columns:
        name = f"{table.name}.{column.name}"
        if matches(name, excluded):
            column = replace(column, forbidden=True)
        meaning, forbidden = _meaning(declaration.columns, name), matches(name, policy.forbidden_columns)
        columns.append(replace(column, meaning=meaning, forbidden=column.forbidden or forbidden))
    return replace(
        table,
        columns=tuple(columns),
        meaning=_meaning(declaration.tables, table.name),
        forbidden=matches(table.name, policy.forbidden_tables),
    )


def _meaning(meanings: Mapping[str, str], name: str) -> str:
    return next((text for pattern, text in meanings.items() if matches(name, [pattern])), "")


def _is_column(name: str, schema: DatabaseSchema) -> bool:
    """Return True for TABLE.COLUMN, as opposed to SCHEMA.TABLE."""
    return "." in name and not any(matches(table, [name]) for table in schema.tables)


def _check_names(schema: DatabaseSchema, declaration: DatabaseDeclaration) -> None:
    columns = [f"{table.name}.{column.name}" for table in schema.tables.values() for column in table.columns]
    for key, name, known in _names(declaration, list(schema.tables), columns):
        if "*" in name or matches_one(name, known):
            continue
        near = difflib.get_close_matches(name, known, n=1)
        raise ConfigurationError(
            f"The declaration of {declaration.id} names {name!r} in `{key}`, which the database doesn't have.",
            remedy=f"Did you mean {near[0]}?" if near else "Correct the name; `lore sql schema` lists all.",
        )


def matches_one(name: str, known: Iterable[str]) -> bool:
    """Return True if the name is known, in any case."""
    return any(name.casefold() == each.casefold() for each in known)


def _names(
    declaration: DatabaseDeclaration, tables: list[str], columns: list[str]
) -> Iterator[tuple[str, str, list[str]]]:
    policy = declaration.policy
    for key, names, known in (
        ("include", declaration.include, tables),
        ("exclude", declaration.exclude, [*tables, *columns]),
        ("tables", declaration.tables, tables),
        ("columns", declaration.columns, columns),
        ("samples", declaration.samples, columns),
        ("policy.forbidden_tables", policy.forbidden_tables, tables),
        ("policy.forbidden_columns", policy.forbidden_columns, columns),
    ):
        for name in names:
            yield key, name, known
