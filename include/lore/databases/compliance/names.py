"""Tables and columns of a statement, resolved as the database resolves them, against what may be read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lore.databases.schema.model import DatabaseSchema, TableInfo

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["NameCheck", "qualified"]

_UNKNOWN = re.compile(r"Unknown column: (\w+)|Column '([^']+)' could not be resolved|Ambiguous column: (\w+)")
NO_TABLE = "lore_no_table"
CASELESS = ("sqlite",)
"""Dialects in which no name's case counts."""


class NameCheck:
    """The check of one statement's names. `tables` and `columns` are what it reads, after `refused`."""

    def __init__(self, schema: DatabaseSchema, dialect: str) -> None:
        self._schema = schema
        self._dialect = dialect
        self._known = {self._place(table): table for table in schema.tables.values()}
        self._plain_names = {name for _, name in self._known}
        self.tables: set[str] = set()
        self.columns: set[str] = set()

    def refused(self, tree: exp.Expression) -> Iterator[str]:
        """Yield a reason for each name that is unknown, forbidden or ambiguous."""
        from sqlglot import exp
        from sqlglot.errors import SqlglotError
        from sqlglot.optimizer.scope import traverse_scope

        try:
            full = qualified(tree, self._schema, self._dialect)
            scopes = traverse_scope(full)
        except (SqlglotError, RecursionError, ValueError, KeyError, AttributeError) as error:
            yield from self._refused_tables(_normalized(tree, self._dialect), strict=False)
            yield self._unresolved(error)
            return
        yield from self._refused_tables(full, strict=True)
        yield from self._refused_aliases(tree)
        yield from _whole_rows(full)
        resolved: set[int] = set()
        for scope in scopes:
            for column in scope.columns:
                if column.table in scope.sources:
                    resolved.add(id(column))
                    yield from self._refused_column(column, scope.sources[column.table])
        forbidden = self._forbidden_names()
        for column in full.find_all(exp.Column):
            if column.table and id(column) not in resolved:
                yield f"the column {column.sql()[:60]} couldn't be resolved"
            elif not column.table and self._fold(column.name) in forbidden:
                yield f"the column {column.name[:60]} is forbidden"

    def _refused_tables(self, full: exp.Expression, *, strict: bool) -> Iterator[str]:
        from sqlglot import exp

        for table in full.find_all(exp.Table):
            if not isinstance(table.this, exp.Identifier):
                continue  # a function, which has a check of its own
            if table.catalog:
                yield f"the table {table.sql()[:60]} is in another database"
            elif _names_cte(table):
                if table.db and strict:
                    yield f"the name {table.name[:60]} is ambiguous"
            else:
                yield from self._refused_table(table)
        for cte in full.find_all(exp.CTE):
            if self._fold(cte.alias) in self._plain_names:
                yield f"the CTE {cte.alias[:60]} has the name of a table"

    def _refused_table(self, table: exp.Table) -> Iterator[str]:
        info = self._known.get((self._fold(table.db or self._schema.default), self._fold(table.name)))
        name = f"{table.db}.{table.name}" if table.db and table.db != self._schema.default else table.name
        if info is None:
            near = difflib.get_close_matches(table.name, self._schema.readable.tables, n=1)
            yield f"the table {name[:60]} is unknown" + (f", the nearest is {near[0]}" if near else "")
        elif info.forbidden:
            yield f"the table {name[:60]} is forbidden"
        else:
            self.tables.add(info.name)

    def _refused_aliases(self, tree: exp.Expression) -> Iterator[str]:
        """An alias with a forbidden column's name could stand for that column by the database's own rules."""
        from sqlglot import exp

        forbidden = self._forbidden_names()
        for alias in tree.find_all(exp.Alias, exp.TableAlias):
            if self._fold(alias.alias or alias.name) in forbidden:
                yield f"the alias {alias.alias[:60]} has the name of a forbidden column"

    def _forbidden_names(self) -> set[str]:
        columns = (column for name in self.tables for column in self._schema.tables[name].columns)
        return {self._fold(column.name) for column in columns if column.forbidden}

    def _refused_column(self, column: exp.Column, source: Any) -> Iterator[str]:
        from sqlglot import exp

        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            return
        info = self._known.get((self._fold(source.db or self._schema.default), self._fold(source.name)))
        if info is None:
            return
        found = next((each for each in info.columns if self._fold(each.name) == self._fold(column.name)), None)
        if found is None:
            near = difflib.get_close_matches(column.name, [each.name for each in info.allowed().columns], n=1)
            yield f"the column {info.name}.{column.name[:60]} is unknown" + (
                f", the nearest is {near[0]}" if near else ""
            )
        elif found.forbidden:
            yield f"the column {info.name}.{found.name} is forbidden"
        else:
            self.columns.add(f"{info.name}.{found.name}")

    def _unresolved(self, error: Exception) -> str:
        """Return the reason for a name that couldn't be resolved, with the tables that have such a column."""
        found = _UNKNOWN.search(str(error))
        if found is None:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            return f"a name couldn't be resolved: {lines[0][:150].rstrip('.')}"
        name = next(part for part in found.groups() if part)
        readable = self._schema.readable.tables.values()
        owners = [table.name for table in readable for each in table.columns if each.name.lower() == name.lower()]
        read = [owner for owner in owners if owner in self.tables]
        if len(read) > 1:
            return f"the column {name[:60]} is ambiguous, it is in {' and '.join(read)}: name its table"
        if owners:
            return f"the column {name[:60]} isn't in a table of its FROM; it is in {', '.join(owners[:5])}"
        columns = [each.name for table in readable if table.name in self.tables for each in table.columns]
        near = difflib.get_close_matches(name, columns, n=1, cutoff=0.5)
        return f"the column {name[:60]} is unknown" + (f", the nearest is {near[0]}" if near else "")

    def _place(self, table: TableInfo) -> tuple[str, str]:
        return self._fold(table.schema_name or self._schema.default), self._fold(table.plain_name)

    def _fold(self, name: str) -> str:
        return name.lower() if self._dialect in CASELESS else name


def qualified(tree: exp.Expression, schema: DatabaseSchema, dialect: str) -> exp.Expression:
    """Return a copy with every name qualified and every `*` expanded. Raises SqlglotError for an unknown column."""
    from sqlglot import exp
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.schema import MappingSchema

    mapping: dict[str, Any] = {schema.default: {NO_TABLE: {NO_TABLE: "unknown"}}}  # without any, sqlglot would guess
    for name in {table.name.lower() for table in tree.find_all(exp.Table)}:
        for table in schema.by_plain_name.get(name, ()):
            columns = {column.name: "unknown" for column in table.columns}
            mapping.setdefault(table.schema_name or schema.default, {})[table.plain_name] = columns
    known = MappingSchema(mapping, dialect=dialect, normalize=dialect in CASELESS)
    return qualify(tree.copy(), schema=known, dialect=dialect, db=schema.default)


def _normalized(tree: exp.Expression, dialect: str) -> exp.Expression:
    from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

    return normalize_identifiers(tree.copy(), dialect=dialect)


def _whole_rows(full: exp.Expression) -> Iterator[str]:
    from sqlglot import exp

    for node in full.find_all(exp.TableColumn, exp.Star):
        if isinstance(node, exp.TableColumn):
            yield f"it reads a whole row of {node.name[:60]}"
        elif not isinstance(node.parent, exp.Count):
            yield "it has a * that isn't a list of columns"


def _names_cte(table: exp.Table) -> bool:
    """Return True if the name is that of a CTE which is visible here, by the rules of SQL."""
    name, inside, node = table.name, None, table.parent
    while node is not None:
        kind = type(node).__name__
        if kind == "CTE":
            inside = node
        elif node.args.get("with_"):
            clause = node.args["with_"]
            earlier = True
            for cte in clause.expressions:
                if cte is inside:
                    earlier = False
                visible = earlier or inside is None or clause.args.get("recursive")
                if visible and cte.alias == name:
                    return True
            inside = None
        node = node.parent
    return False
