"""The schema of a database as the assistant sees it: tables, views, columns and foreign keys, with their meanings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

__all__ = ["DatabaseSchema", "ForeignKey", "TableColumn", "TableInfo"]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column. `samples` are its values if it has few of them and its declaration shows them."""

    name: str
    type: str
    nullable: bool = True
    primary_key: bool = False
    comment: str = ""
    meaning: str = ""
    samples: tuple[str, ...] = ()
    forbidden: bool = False


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns of a table that refer to those of another, in the same order."""

    columns: tuple[str, ...]
    table: str
    referred: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table or view. `name` is qualified (SCHEMA.TABLE, with a `schema_name`) outside the connection's own schema.

    `definition` is a view's statement, which decides what it lets through; `forbidden` ones may not be read.
    """

    name: str
    columns: tuple[TableColumn, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()
    comment: str = ""
    meaning: str = ""
    is_view: bool = False
    definition: str = ""
    forbidden: bool = False
    schema_name: str = ""

    @property
    def plain_name(self) -> str:
        """The name without its schema."""
        return self.name.removeprefix(f"{self.schema_name}.") if self.schema_name else self.name

    def allowed(self) -> TableInfo:
        """Return the table without its forbidden columns, and without foreign keys over them."""
        hidden = {column.name for column in self.columns if column.forbidden}
        if not hidden:
            return self
        columns = tuple(column for column in self.columns if not column.forbidden)
        keys = tuple(key for key in self.foreign_keys if not hidden & set(key.columns))
        return replace(self, columns=columns, foreign_keys=keys)


@dataclass(frozen=True, eq=False)
class DatabaseSchema:
    """The tables of a database, by name. `dialect` is SQLAlchemy's name of the kind of database.

    `default` is the name of the connection's own schema, whose tables have plain names here.
    """

    dialect: str
    default: str = "main"
    tables: Mapping[str, TableInfo] = field(default_factory=dict)

    def with_tables(self, tables: Iterable[TableInfo]) -> DatabaseSchema:
        """Return the schema with these tables instead, in the order of their names."""
        return replace(self, tables={table.name: table for table in sorted(tables, key=lambda each: each.name)})

    @cached_property
    def readable(self) -> DatabaseSchema:
        """The schema without forbidden tables and columns: all that a model, a prompt or a search may see."""
        return self.with_tables(table.allowed() for table in self.tables.values() if not table.forbidden)

    @cached_property
    def by_plain_name(self) -> Mapping[str, tuple[TableInfo, ...]]:
        """The tables by their names in lower case, without schemas."""
        found: dict[str, tuple[TableInfo, ...]] = {}
        for table in self.tables.values():
            name = table.plain_name.lower()
            found[name] = (*found.get(name, ()), table)
        return found

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything in it; a change means that what was made from the schema is out of date."""
        text = json.dumps([self.dialect, *(asdict(table) for table in self.tables.values())], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def only(self, names: Iterable[str]) -> DatabaseSchema:
        """Return the schema of these tables alone, with the foreign keys among them."""
        wanted = {name for name in names if name in self.tables}
        tables = (self.tables[name] for name in wanted)
        return self.with_tables(
            replace(table, foreign_keys=tuple(key for key in table.foreign_keys if key.table in wanted))
            for table in tables
        )
