"""`lore export` and `lore import`: the documents of an index in a file, and an index made from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lore.cli.output import message, print_json, progress

__all__ = ["register"]

File = Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A Parquet file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("export")(export_index)
    app.command("import")(import_index)


def export_index(
    file: File,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    no_vectors: Annotated[
        bool, typer.Option("--no-vectors", help="Leave out the vectors: a smaller file, embedded again on import.")
    ] = False,
    json: Json = False,
) -> None:
    """Write the documents of the index into a file, from which another installation can start."""
    from lore.settings import load_settings
    from lore.wiring.ingest import make_baseline
    from lore.wiring.stores import require_index

    settings = load_settings()
    require_index(settings)
    with progress("export") as on_progress:
        report = make_baseline(settings).export(file, force=force, vectors=not no_vectors, on_progress=on_progress)
    for source_id, documents in report.sources.items():
        message(f"{source_id}: {documents:,} documents")
    for source_id, count in report.unsettled.items():
        message(
            f"Note: {count:,} documents of {source_id} changed meanwhile. After an import, the next sync reads this "
            "source from its start and makes them again."
        )
    message(f"{file}: {report.documents:,} documents, {report.bytes / 1e6:,.1f} MB.")
    if json:
        print_json(report.to_json())


def import_index(
    file: File,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace these sources in the index; others stay."),
    ] = False,
    json: Json = False,
) -> None:
    """Fill the index from a file that `lore export` wrote; after an interruption, run it again."""
    from lore.settings import load_settings
    from lore.wiring.ingest import make_baseline

    with progress("import") as on_progress:
        report = make_baseline(load_settings()).load(file, replacing=replace, on_progress=on_progress)
    message(
        f"{file}: {report.documents:,} documents. {report.written:,} written, {report.unchanged:,} unchanged, "
        f"{report.removed:,} removed; {report.chunks:,} chunks, {report.embedded_texts:,} texts embedded."
    )
    if not report.same_converter:
        message(
            "Note: another converter made the documents in the file. They are in the index; the next sync of each "
            "source reads it from its start and makes them again."
        )
    if json:
        print_json(report.to_json())
