"""`lore sql`: questions to declared databases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lore.cli.output import message, print_json, print_table, print_text
from lore.cli.sql.ask import DatabaseName, Json, ask, replay
from lore.cli.sql.compare import compare

if TYPE_CHECKING:
    from lore.databases.schema.model import DatabaseSchema, TableInfo

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Ask a database in plain language.", no_args_is_help=True)
    group.command()(ask)
    group.command()(schema)
    group.command()(replay)
    group.command()(compare)
    app.add_typer(group, name="sql")


def schema(
    database: DatabaseName,
    ddl: Annotated[bool, typer.Option("--ddl", help="Print what a language model gets.")] = False,
    question: Annotated[str, typer.Option("--question", help="Only the tables that are found for this question.")] = "",
    json: Json = False,
) -> None:
    """Show the tables and columns that the assistant may read, and what its policy forbids."""
    from lore.databases.schema.render import render_schema
    from lore.settings import load_settings
    from lore.wiring.databases import find_database, open_declared, retrieve_tables

    settings = load_settings()
    found = open_declared(find_database(settings, database)).schema()
    if question:
        retrieved = retrieve_tables(settings, question, found)
        found = retrieved.schema
        message(retrieved.note or f"Found by {retrieved.way} in {1000 * retrieved.seconds:,.0f} ms.")
        message(
            f"{retrieved.tokens:,} of {retrieved.whole_tokens:,} tokens. Best first: {', '.join(retrieved.tables)}."
        )
    if json:
        print_json(_schema_json(found))
    elif ddl:
        print_text(render_schema(found))
    else:
        rows = [_row(table) for table in found.tables.values()]
        print_table(("Table", "Columns", "Forbidden", "Refers to", "Meaning"), rows, numbers=("Columns",))
        message(f"{len(found.tables):,} tables of {database} ({found.dialect}), fingerprint {found.fingerprint[:12]}.")


def _row(table: TableInfo) -> tuple[str, ...]:
    hidden = [column.name for column in table.columns if column.forbidden]
    forbidden = "all of it" if table.forbidden else ", ".join(hidden)
    refers = ", ".join(dict.fromkeys(key.table for key in table.foreign_keys))
    kind = " (view)" if table.is_view else ""
    return table.name + kind, f"{len(table.columns):,}", forbidden, refers, table.meaning or table.comment


def _schema_json(found: DatabaseSchema) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "dialect": found.dialect,
        "fingerprint": found.fingerprint,
        "tables": [asdict(table) for table in found.tables.values()],
    }
