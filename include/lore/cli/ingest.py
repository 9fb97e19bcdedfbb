"""`lore sync`: sources brought into the index."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lore.cli.common import INTERRUPTED, check_sources
from lore.cli.output import message, print_json, show_error, stderr_console
from lore.errors import ConfigurationError, LoreError, RemovalFloorError, SyncError

if TYPE_CHECKING:
    from lore.declarations import Declaration, Declarations
    from lore.ingest.report import Progress, SyncReport
    from lore.ingest.sync import Sync
    from lore.protocols import Store
    from lore.settings import Settings

__all__ = ["register"]

FAILURES_SHOWN = 10
DUPLICATES_SHOWN = 10
STAGES = {
    "wait": "waiting",
    "extract": "reading",
    "index": "embedding",
    "versions": "updating other versions",
    "reconcile": "finishing",
}

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(sync)


def sync(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of declared sources.")] = None,
    all_sources: Annotated[bool, typer.Option("--all", help="Every declared source.")] = False,
    force_removals: Annotated[
        bool, typer.Option("--force-removals", help="Remove deleted documents, even above the declared share.")
    ] = False,
    json: Json = False,
) -> None:
    """Bring the index up to date with its sources."""
    from lore.declarations import load_declarations
    from lore.settings import load_settings
    from lore.wiring.ingest import make_sync
    from lore.wiring.models import make_embedder
    from lore.wiring.stores import make_splitter, open_store

    _check_arguments(ids or (), all_sources)
    settings = load_settings()
    declarations = load_declarations(settings.project.sources_dir)
    chosen = _chosen(declarations, ids or (), settings)
    results: list[dict[str, Any]] = []
    if chosen:
        embedder = make_embedder(settings)
        store = open_store(settings, embedder, make_splitter(settings, embedder))
        syncs = {
            declaration.id: partial(make_sync, declaration, settings, store=store, embedder=embedder)
            for declaration in chosen
        }
        results = _sync_each(syncs, store, force_removals, "--all" if all_sources else " ".join(ids or ()))
        if all_sources and not declarations.broken:
            _report_undeclared(declarations, store)
    for error in declarations.broken:
        show_error(error)
    if json:
        print_json({"sources": results})
    if any(result["status"] == "failed" for result in results):
        raise typer.Exit(1)
    if all_sources and declarations.broken:
        raise typer.Exit(2)


def _check_arguments(ids: Sequence[str], all_sources: bool) -> None:
    if ids and all_sources:
        raise typer.BadParameter(f"--all syncs every source and takes no ids. Give either --all or: {' '.join(ids)}")
    if not ids and not all_sources:
        raise typer.BadParameter("Name the sources to sync, or give --all.")


def _chosen(declarations: Declarations, ids: Sequence[str], settings: Settings) -> list[Declaration]:
    """Return the declarations to sync, all of them without ids. Raises ConfigurationError for an unknown id."""
    known = {declaration.id: declaration for declaration in declarations.valid}
    folder = settings.project.sources_dir.absolute()
    if not ids:
        if not known and not declarations.broken:
            raise ConfigurationError(f"No source is declared in {folder}.", remedy="Add a declaration; see README.md.")
        return list(known.values())
    try:
        check_sources(ids, known, f"is declared in {folder}")
    except ConfigurationError as unknown:
        for error in declarations.broken:
            show_error(error)
        if declarations.broken:  # the source may be in one of these
            remedy = f"If it is in a file above, correct that file. {unknown.remedy}"
            raise ConfigurationError(unknown.message, remedy=remedy) from None
        raise
    return [known[source_id] for source_id in dict.fromkeys(ids)]


def _report_undeclared(declarations: Declarations, store: Store) -> None:
    """Name the sources that are in the index and no longer declared."""
    for source_id in sorted(set(store.states()).difference(one.id for one in declarations.valid)):
        message(
            f"Note: {source_id} is no longer declared, but its documents are still in the index and in answers.\n"
            f"  To remove them, run: lore sources remove {source_id}"
        )


def _report_interrupt(source_id: str, store: Store, arguments: str) -> None:
    """Say what an interrupted sync keeps, and how to continue it."""
    try:
        kept = f"{store.count(source_id).documents:,} documents of {source_id} are in the index and stay there."
    except LoreError:
        kept = f"What is already indexed of {source_id} stays."
    message(f"Interrupted. {kept}\n  To continue from there, run: lore sync {arguments}")


def _sync_each(
    syncs: Mapping[str, Callable[[], Sync]], store: Store, force_removals: bool, arguments: str
) -> list[dict[str, Any]]:
    """Sync one source after the other and return the reports; an interrupt ends the command."""
    results: list[dict[str, Any]] = []
    errors: dict[str, str] = {}
    for source_id, make in syncs.items():
        try:
            results.append(_sync_one(source_id, make, store, force_removals, errors))
        except KeyboardInterrupt:
            _report_interrupt(source_id, store, arguments)
            raise typer.Exit(INTERRUPTED) from None
    return results


def _sync_one(
    source_id: str, make: Callable[[], Sync], store: Store, force_removals: bool, errors: dict[str, str]
) -> dict[str, Any]:
    """Sync one source, print the outcome, and return its report; a failure is a report too.

    `errors` maps each printed error to its first source: an error that stops all sources is printed once.
    """
    problem: LoreError | None = None
    try:
        with _progress(source_id) as on_progress:
            report = make().run(progress=on_progress, force_removals=force_removals)
        result = report.to_json()
        _print_report(report)
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
            _print_report(replace(report, reason=""))  # the error below says it
            text = error.message.removesuffix(describe_failures(report.failures)).rstrip()  # listed one by one
            problem = LoreError(text, remedy=error.remedy)
        elif (first := errors.setdefault(str(error), source_id)) != source_id:
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
        message(f"  and {len(failures) - FAILURES_SHOWN} more; `lore sources --json` lists them all")
    if problem:
        text = problem.message if source_id in problem.message else f"{source_id}: {problem.message}"
        show_error(LoreError(text, remedy=problem.remedy))
    return result


def _print_report(report: SyncReport) -> None:
    """Print the outcome without the failed documents, which are listed below it."""
    from lore.ingest.finish.reconcile import describe_failures

    reason = report.reason.removeprefix(describe_failures(report.failures)).lstrip()
    message(replace(report, reason=reason).summary())
    for line in report.duplicates.lines(DUPLICATES_SHOWN):
        message(f"  {line}")


@contextmanager
def _progress(source_id: str) -> Iterator[Callable[[Progress], None]]:
    """Show a bar on a terminal; elsewhere print only that another sync runs, since the summary follows."""

    def print_wait(step: Progress) -> None:
        if step.stage == "wait":
            message(f"{source_id}: another sync of this source is running; this one starts when it ends.")

    if not sys.stderr.isatty():
        yield print_wait
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
            print_wait(step)
            bars.update(
                task,
                description=f"{source_id}: {STAGES[step.stage]}",
                completed=step.documents,
                total=step.total,
                chunks=step.chunks,
            )

        yield update
