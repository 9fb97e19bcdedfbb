"""Reading of a database's schema, by SQLAlchemy's inspector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lore.databases.schema.model import DatabaseSchema, ForeignKey, TableColumn, TableInfo

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["read_schema"]


def read_schema(engine: Engine, schemas: Sequence[str] = ()) -> DatabaseSchema:
    """Return all tables and views of these schemas, by default of the connection's own one.

    Tables of the default schema have plain names, the others SCHEMA.TABLE. Raises SQLAlchemy's errors.
    """
    from sqlalchemy import inspect
    from sqlalchemy.engine.reflection import ObjectKind

    inspector = inspect(engine)
    default = inspector.default_schema_name
    tables: list[TableInfo] = []
    for schema in schemas or (None,):
        at = None if schema in (None, default) else schema
        columns = inspector.get_multi_columns(schema=at, kind=ObjectKind.ANY)
        primary = inspector.get_multi_pk_constraint(schema=at, kind=ObjectKind.ANY)
        keys = inspector.get_multi_foreign_keys(schema=at, kind=ObjectKind.ANY)
        comments = _comments(inspector, at)
        views = {*inspector.get_view_names(schema=at), *_materialized(inspector, at)}
        for place, found in columns.items():
            name = place[1]
            tables.append(
                TableInfo(
                    _qualified(at, name),
                    _columns(found, _key_columns(primary.get(place))),
                    _foreign_keys(keys.get(place) or (), at, default),
                    comments.get(name, ""),
                    is_view=name in views,
                    definition=_definition(inspector, name, at) if name in views else "",
                    schema_name=at or "",
                )
            )
    return DatabaseSchema(engine.dialect.name, default or "main").with_tables(tables)


def _columns(found: Iterable[Any], primary: Iterable[str]) -> tuple[TableColumn, ...]:
    keys = set(primary)
    return tuple(
        TableColumn(
            column["name"],
            _type(column["type"]),
            bool(column.get("nullable", True)),
            column["name"] in keys,
            column.get("comment") or "",
        )
        for column in found
    )


def _key_columns(found: Any) -> tuple[str, ...]:
    return tuple((found or {}).get("constrained_columns") or ())


def _type(value: Any) -> str:
    try:
        return str(value).upper()
    except Exception:  # SQLAlchemy can't write a type that it doesn't know
        return ""


def _foreign_keys(found: Iterable[Any], schema: str | None, default: str | None) -> tuple[ForeignKey, ...]:
    keys = []
    for key in found:
        at = key.get("referred_schema")
        at = None if at == default else at or schema
        if key["referred_columns"]:  # SQLite leaves them out where the primary key is meant
            keys.append(
                ForeignKey(
                    tuple(key["constrained_columns"]),
                    _qualified(at, key["referred_table"]),
                    tuple(key["referred_columns"]),
                )
            )
    return tuple(keys)


def _qualified(schema: str | None, name: str) -> str:
    return f"{schema}.{name}" if schema else name


def _comments(inspector: Any, schema: str | None) -> Mapping[str, str]:
    try:
        found = inspector.get_multi_table_comment(schema=schema)
    except NotImplementedError:  # SQLite has none
        return {}
    return {place[1]: value.get("text") or "" for place, value in found.items()}


def _materialized(inspector: Any, schema: str | None) -> Sequence[str]:
    try:
        return list(inspector.get_materialized_view_names(schema=schema))
    except NotImplementedError:
        return ()


def _definition(inspector: Any, name: str, schema: str | None) -> str:
    return inspector.get_view_definition(name, schema=schema) or ""
