"""`lore sync` and `lore convert`: from declarations and files to what is indexed."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lore.cli.common import check_sources
from lore.cli.output import message, print_json, print_text, show_error, stderr_console
from lore.errors import ConfigurationError, ConversionError, LoreError, RemovalFloorError, SyncError

if TYPE_CHECKING:
    from lore.declarations import Declaration, Declarations
    from lore.ingest.report import Progress, SyncReport
    from lore.ingest.sync import Sync
    from lore.protocols import Store
    from lore.settings import Settings

__all__ = ["register"]

FAILURES_SHOWN = 10
DUPLICATES_SHOWN = 10

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(sync)
    app.command()(convert)


def sync(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of declared sources.")] = None,
    all_sources: Annotated[bool, typer.Option("--all", help="Every declared source.")] = False,
    force_removals: Annotated[
        bool, typer.Option("--force-removals", help="Remove what vanished, even above the declared share.")
    ] = False,
    json: Json = False,
) -> None:
    """Bring the index up to date with its sources."""
    from lore.declarations import load_declarations
    from lore.settings import load_settings
    from lore.wiring.ingest import make_sync
    from lore.wiring.models import make_embedder
    from lore.wiring.stores import make_splitter, open_store

    if bool(ids) == all_sources:
        raise typer.BadParameter("Name the sources to sync, or give --all.")
    settings = load_settings()
    declarations = load_declarations(settings.project.sources_dir)
    chosen = _chosen(declarations, ids or (), settings)
    results: list[dict[str, Any]] = []
    if chosen:
        embedder = make_embedder(settings)
        store = open_store(settings, embedder, make_splitter(settings, embedder))
        told: dict[str, str] = {}
        for declaration in chosen:
            make = partial(make_sync, declaration, settings, store=store, embedder=embedder)
            results.append(_sync_one(declaration.id, make, store, force_removals, told))
    for error in declarations.broken:
        show_error(error)
    if json:
        print_json({"sources": results})
    if any(result["status"] == "failed" for result in results):
        raise typer.Exit(1)
    if all_sources and declarations.broken:
        raise typer.Exit(2)


def convert(
    path: Annotated[Path, typer.Argument(help="The file to convert.")],
    format_name: Annotated[
        str | None, typer.Option("--format", help="What the file is written in; default from its name.")
    ] = None,
) -> None:
    """Print a file as the Markdown that would be indexed."""
    from lore.convert import FORMATS, format_of
    from lore.convert import convert as to_markdown
    from lore.types import Document

    known = ", ".join(sorted(name for name in FORMATS if ":" not in name)) + ", or code:LANGUAGE such as code:python"
    if format_name is not None and format_name not in FORMATS:
        near = difflib.get_close_matches(format_name, FORMATS, n=1)
        raise ConfigurationError(
            f"Unknown format {format_name!r}.", remedy=f"Did you mean {near[0]}?" if near else f"Known: {known}."
        )
    if path.is_dir() or path.is_char_device() or path.is_block_device():  # a device may have no end; a pipe has one
        raise ConfigurationError(f"{path} is not a file.", remedy="Name one file; `lore sync` reads whole folders.")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    found = format_name or format_of(path.name)
    if found is None:
        raise ConversionError(
            f"{path}: its name does not say what it is written in.", remedy=f"Say it with --format: {known}."
        )
    document = Document(id=f"file:{path}", source_id="file", url="", title=path.stem, text="", format=found, data=data)
    print_text(to_markdown(document).text.rstrip("\n"))


def _chosen(declarations: Declarations, ids: Sequence[str], settings: Settings) -> list[Declaration]:
    known = {declaration.id: declaration for declaration in declarations.valid}
    if not ids:
        if not known and not declarations.broken:
            raise ConfigurationError(
                f"No source is declared in {settings.project.sources_dir}.",
                remedy="Add a declaration there; see README.md.",
            )
        return list(known.values())
    try:
        check_sources(ids, known, f"is declared in {settings.project.sources_dir}")
    except ConfigurationError as unknown:
        for error in declarations.broken:
            show_error(error)
        if declarations.broken:  # the source that is missed may be in one of these
            remedy = f"If it is in a file above, correct that file. {unknown.remedy}"
            raise ConfigurationError(unknown.message, remedy=remedy) from None
        raise
    return [known[source_id] for source_id in dict.fromkeys(ids)]


def _sync_one(
    source_id: str, make: Callable[[], Sync], store: Store, force_removals: bool, told: dict[str, str]
) -> dict[str, Any]:
    """Sync one source, say how it went, and give its report; a failure is a report too.

    `told` holds the errors that were said already, each with the source that it was said of: one that stops all
    sources is said once.
    """
    problem: LoreError | None = None
    try:
        with _progress(source_id) as tell:
            report = make().run(progress=tell, force_removals=force_removals)
        result = report.to_json()
        _tell(report)
    except LoreError as error:
        problem = error
        reached_the_end = isinstance(error, SyncError | RemovalFloorError)
        state = store.state(source_id) if reached_the_end else None
        result = dict(state.report) if state else {"source_id": source_id}
        result |= {"status": "failed", "error": error.message, "remedy": error.remedy}
        if state:
            from lore.ingest.finish.reconcile import describe_failures
            from lore.ingest.report import SyncReport

            report = SyncReport.from_json(state.report)
            _tell(replace(report, reason=""))  # which is the error below
            words = error.message.removesuffix(describe_failures(report.failures)).rstrip()  # they are named one by one
            problem = LoreError(words, remedy=error.remedy)
        elif (first := told.setdefault(str(error), source_id)) != source_id:
            message(f"{source_id}: failed for the same reason as {first}.")
            problem = None
        else:
            message(f"{source_id}: failed.")
    failures = result.get("failures", ())
    if failures:
        from lore.ingest.finish.reconcile import describe_failure
        from lore.types import Failure

        for failure in failures[:FAILURES_SHOWN]:
            message(f"  {describe_failure(Failure(**failure))}")
    if len(failures) > FAILURES_SHOWN:
        message(f"  and {len(failures) - FAILURES_SHOWN} more; `lore sources --json` has them all")
    if problem:
        words = problem.message if source_id in problem.message else f"{source_id}: {problem.message}"
        show_error(LoreError(words, remedy=problem.remedy))
    return result


def _tell(report: SyncReport) -> None:
    """How it went, without the documents that failed: they are named below it."""
    from lore.ingest.finish.reconcile import describe_failures

    message(replace(report, reason=report.reason.removeprefix(describe_failures(report.failures)).lstrip()).summary())
    for line in report.duplicates.lines(DUPLICATES_SHOWN):
        message(f"  {line}")


@contextmanager
def _progress(source_id: str) -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal; elsewhere nothing, as the summary follows, but for what this one waits for."""

    def waiting(step: Progress) -> None:
        if step.stage == "wait":
            message(f"{source_id}: another sync of this source is going on; this one begins when it has ended.")

    if not sys.stderr.isatty():
        yield waiting
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("documents, {task.fields[chunks]} chunks", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=stderr_console(), transient=True) as bars:
        task = bars.add_task(source_id, total=None, chunks=0)

        def update(step: Any) -> None:
            waiting(step)
            bars.update(
                task,
                description=f"{source_id} {step.stage}",
                completed=step.documents,
                total=step.total,
                chunks=step.chunks,
            )

        yield update
