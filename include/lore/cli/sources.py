"""`lore sources`: the declared sources, what the index holds of them, and the removal of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from lore.cli.common import check_sources, open_index
from lore.cli.output import message, print_json, print_table, show_error
from lore.errors import LoreError

__all__ = ["register"]

LOST_TEXT_SHOWN = 3
HEADINGS = ("source", "kind", "title", "schedule", "documents", "last sync", "state")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(name="sources", invoke_without_command=True, callback=list_sources)
    group.command()(remove)
    app.add_typer(group)


def list_sources(context: typer.Context, json: Json = False) -> None:
    """List the declared sources and what the index holds of them; or remove a source from the index."""
    if context.invoked_subcommand is not None:
        return
    from lore.declarations import load_declarations
    from lore.settings import load_settings
    from lore.wiring.source_rows import source_rows
    from lore.wiring.stores import summarize_index

    settings = load_settings()
    declarations = load_declarations(settings.project.sources_dir)
    problem: LoreError | None = None
    rows: list[dict[str, Any]] = []
    try:
        summary = summarize_index(settings, [declaration.id for declaration in declarations.valid])
        rows = source_rows(declarations, summary)
    except LoreError as error:  # the declarations can be shown all the same
        problem = error
        unknown = {"state": "unknown", "documents": None, "chunks": None}
        rows = [row | unknown for row in source_rows(declarations, None)]
    if json:
        broken = [{"error": error.message, "remedy": error.remedy} for error in declarations.broken]
        print_json({"sources": rows, "broken": broken})
    elif rows:
        _print_rows(rows)
    else:
        message(f"No source is declared in {settings.project.sources_dir.absolute()}.")
    for broken_one in declarations.broken:
        show_error(broken_one)
    if problem is not None:
        raise problem
    if declarations.broken:
        raise typer.Exit(2)


def remove(
    source_id: Annotated[str, typer.Argument(metavar="ID", show_default=False, help="Id of the source.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove it without asking.")] = False,
    json: Json = False,
) -> None:
    """Remove a source from the index: its documents, their passages in every version, and its state."""
    from lore.declarations import load_declarations
    from lore.ingest.removal import remove_source
    from lore.settings import load_settings
    from lore.wiring.records import make_source_leases

    settings = load_settings()
    store, _ = open_index(settings)
    documents = store.count(source_id).documents
    if not documents:
        check_sources([source_id], store.states(), "is in the index")
    if not yes:
        typer.confirm(f"Remove {source_id} with {documents:,} documents from the index?", abort=True, err=True)
    removed = remove_source(
        store, source_id, staging_uri=settings.ingest.staging_uri, leases=make_source_leases(settings)
    )
    message(f"Removed {source_id}: {removed:,} document{'s' * (removed != 1)}.")
    folder = settings.project.sources_dir
    declared = load_declarations(folder).valid if folder.is_dir() else ()
    if any(declaration.id == source_id for declaration in declared):
        message(f"Note: {source_id} is still declared in {folder.absolute()}; its next sync indexes it again.")
    if json:
        print_json({"id": source_id, "removed": removed})


def _print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    print_table(HEADINGS, [_cells(row) for row in rows], numbers=("documents",))
    for row in rows:
        if row["reason"]:
            message(f"{row['id']}: {row['reason']}")
        if row["lost_text"]:
            message(f"{row['id']}: {_lost_text(row['lost_text'])}")
        if not row["declared"]:
            message(f"{row['id']} is no longer declared. To remove it, run: lore sources remove {row['id']}")


def _lost_text(lost: Mapping[str, int]) -> str:
    shown = ", ".join(f"{name} ({percent} %)" for name, percent in list(lost.items())[:LOST_TEXT_SHOWN])
    more = f", and {len(lost) - LOST_TEXT_SHOWN:,} more" if len(lost) > LOST_TEXT_SHOWN else ""
    return f"Conversion left out much of the text of {len(lost):,} documents: {shown}{more}."


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    documents = "" if row["documents"] is None else f"{row['documents']:,}"
    synced = (row["last_sync"] or "")[:16].replace("T", " ")
    return (row["id"], row["kind"] or "", row["title"] or "", row["schedule"] or "", documents, synced, _state(row))


def _state(row: Mapping[str, Any]) -> str:
    state = row["state"] if row["declared"] else f"{row['state']}, no longer declared"
    hidden = row["duplicates"]["hidden"]
    state += f", {len(row['failures'])} failed" if row["failures"] else ""
    return state + (f", {hidden:,} hidden" if hidden else "")
