"""`lore sources`: what is declared, and what the index holds of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lore.cli.output import clean, fits, message, print_json, print_rich, print_text, show_error
from lore.errors import LoreError

if TYPE_CHECKING:
    from lore.declarations import Declaration, Declarations
    from lore.protocols import Store
    from lore.settings import Settings
    from lore.types import SourceState

__all__ = ["register"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(sources)


def sources(json: Json = False) -> None:
    """List the declared sources and what the index holds of them."""
    from lore.declarations import load_declarations
    from lore.settings import load_settings

    settings = load_settings()
    declarations = load_declarations(settings.project.sources_dir)
    problem: LoreError | None = None
    rows: list[dict[str, Any]] = []
    try:
        store = _index(settings)
        rows = _source_rows(declarations, store)
    except LoreError as error:  # the declarations can be shown all the same
        problem = error
        unknown = {"state": "unknown", "documents": None, "chunks": None}
        rows = [row | unknown for row in _source_rows(declarations, None)]
    if json:
        broken = [{"error": error.message, "remedy": error.remedy} for error in declarations.broken]
        print_json({"sources": rows, "broken": broken})
    elif rows:
        table = _source_table(rows)
        if fits(table):
            print_rich(table)
        else:
            print_text("\n".join(map(_source_lines, rows)))
        for row in rows:
            if row["reason"]:
                message(f"{row['id']}: {row['reason']}")
    else:
        message(f"No source is declared in {settings.project.sources_dir}.")
    for broken_one in declarations.broken:
        show_error(broken_one)
    if problem is not None:
        raise problem
    if declarations.broken:
        raise typer.Exit(2)


def _index(settings: Settings) -> Store | None:
    """The index when there is one; its embedder is named but not loaded."""
    from lore.wiring.models import make_embedder
    from lore.wiring.stores import index_exists, open_store

    return open_store(settings, make_embedder(settings)) if index_exists(settings) else None


def _source_rows(declarations: Declarations, store: Store | None) -> list[dict[str, Any]]:
    states = dict(store.states()) if store else {}
    declared: dict[str, Declaration | None] = {declaration.id: declaration for declaration in declarations.valid}
    declared |= {source_id: None for source_id in sorted(states) if source_id not in declared}
    rows: list[dict[str, Any]] = []
    for source_id, declaration in declared.items():
        state = states.get(source_id)
        counts = store.count(source_id) if store else None
        rows.append(
            {
                "id": source_id,
                "kind": declaration.kind if declaration else None,
                "title": declaration.title if declaration else None,
                "schedule": declaration.schedule if declaration else None,
                "documents": counts.documents if counts else 0,
                "chunks": counts.chunks if counts else 0,
                "last_sync": state.synced_at.isoformat() if state and state.synced_at else None,
                "state": state.status if state else "never synced",
                "reason": state.report.get("reason", "") if state else "",
                "declared": declaration is not None,
                "duplicates": _duplicates(state),
                "failures": [
                    {"document_id": failure.document_id, "reason": failure.reason}
                    for failure in (state.failures if state else ())
                ],
            }
        )
    return rows


def _duplicates(state: SourceState | None) -> dict[str, Any]:
    """How many pages the last sync left hidden, and the first of them with the page that is shown instead."""
    told = (state.report.get("duplicates") if state else None) or {}
    return {"hidden": told.get("hidden", 0), "named": told.get("named", [])}


def _source_table(rows: Sequence[dict[str, Any]]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table("source", "kind", "title", "schedule", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("documents", justify="right")
    table.add_column("last sync")
    table.add_column("state")
    for row in rows:
        cells = (row["id"], row["kind"], row["title"], row["schedule"], _documents(row), _synced(row), _state(row))
        table.add_row(*(clean(str(cell or "")) for cell in cells))
    return table


def _source_lines(row: Mapping[str, Any]) -> str:
    """A source in short lines, for where the table does not fit."""
    documents = _documents(row) and f"{_documents(row)} documents"
    cells = (row["kind"], row["schedule"], documents, _synced(row), _state(row))
    below = (clean(str(cell)) for cell in (row["title"], *cells) if cell)
    return "\n  ".join((row["id"], *below))


def _state(row: Mapping[str, Any]) -> str:
    state = row["state"] if row["declared"] else f"{row['state']}, no longer declared"
    hidden = row["duplicates"]["hidden"]
    state += f", {len(row['failures'])} failed" if row["failures"] else ""
    return state + (f", {hidden:,} hidden" if hidden else "")


def _documents(row: Mapping[str, Any]) -> str:
    return "" if row["documents"] is None else f"{row['documents']:,}"


def _synced(row: Mapping[str, Any]) -> str:
    return (row["last_sync"] or "")[:16].replace("T", " ")
