"""`lore index`: versions of the index, built beside each other, judged, promoted and rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lore.cli.output import message, print_json, print_table, print_text, progress

if TYPE_CHECKING:
    from lore.evaluation.gate.verdict import Verdict
    from lore.evaluation.versions import IndexVersions, VersionStatus
    from lore.settings import Settings
    from lore.types import Recipe

__all__ = ["register"]

Number = Annotated[int, typer.Argument(metavar="N", min=1, show_default=False, help="Number of a version.")]
Questions = Annotated[
    Path | None,
    typer.Option(
        "--questions", help="Question set (YAML or BEIR folder); default: LORE_QUESTIONS.", show_default=False
    ),
]
Margin = Annotated[
    float | None,
    typer.Option("--margin", help="Tolerated loss of nDCG@10; default: LORE_GATE_MARGIN.", show_default=False),
]
SCORES = {
    "ndcg_at_10": "nDCG@10",
    "mrr_at_10": "MRR@10",
    "live_ndcg_at_10": "nDCG@10, live",
    "against": "judged against",
}
"""Labels in `show` for scores of the manifest whose own names are unclear."""

HEADINGS = ("version", "role", "splitter", "embedder", "documents", "chunks", "behind", "nDCG@10", "made")
NUMBERS = ("documents", "chunks", "behind", "nDCG@10")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(
        name="index", help="Versions of the index: build, judge, promote, roll back.", no_args_is_help=True
    )
    group.command("list")(list_versions)
    group.command()(show)
    group.command()(build)
    group.command("judge")(judge_version)
    group.command()(promote)
    group.command()(rollback)
    group.command()(prune)
    app.add_typer(group)


def list_versions(json: Json = False) -> None:
    """List the versions of the index, their roles and contents."""
    from lore.wiring.stores import index_place

    settings = _settings()
    statuses = _versions(settings).all()
    if json:
        print_json({"versions": [status.to_json() for status in statuses]})
    elif statuses:
        print_table(HEADINGS, list(map(_cells, statuses)), NUMBERS)
    else:
        message(f"There is no index at {index_place(settings)} yet. Run: lore sync --all")


def show(number: Number, json: Json = False) -> None:
    """Show a version: its settings, contents and scores."""
    status = _versions(_settings()).one(number)
    if json:
        print_json(status.to_json())
        return
    for name, value in _details(status):
        print_text(f"{name:<16}{value}")


def build(
    embedder: Annotated[
        str | None, typer.Option("--embedder", help="Instead of LORE_EMBEDDER.", show_default=False)
    ] = None,
    chunk_characters: Annotated[
        int | None,
        typer.Option("--chunk-characters", help="Instead of LORE_CHUNK_CHARACTERS.", show_default=False),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Make another one, even if an equal one exists.")] = False,
    json: Json = False,
) -> None:
    """Build a version with the present settings beside the live one, from the kept documents; may be resumed."""
    settings = _settings(embedder=embedder, chunk_characters=chunk_characters)
    versions = _versions(settings)
    version = versions.prepare(new=new)
    message(f"Version {version.number}: {version.recipe.splitter}, {version.recipe.embedder}.")
    with progress("build") as listener:
        report = versions.build(version.number, listener=listener)
    status = versions.finish(version.number)
    message(
        f"{report.documents:,} documents written, {report.removed:,} removed; {report.chunks:,} chunks, "
        f"{report.embedded_texts:,} of them newly embedded, {report.seconds:.1f} s. It holds "
        f"{status.counts.documents:,} documents."
    )
    asked = "" if settings.evaluation.questions else " --questions FILE"
    message(f"Not live yet. Next: lore index promote {version.number}{asked}")
    if json:
        print_json({"version": status.to_json(), "build": report.to_json()})


def judge_version(number: Number, questions: Questions = None, margin: Margin = None, json: Json = False) -> None:
    """Compare a version with the live one on a question set; changes only the scores in the manifest."""
    verdict = _judge(_versions(_settings(questions=questions, gate_margin=margin)), number)
    _report(verdict, json)
    if not verdict.may_promote:
        raise typer.Exit(1)


def promote(
    number: Number,
    questions: Questions = None,
    margin: Margin = None,
    force: Annotated[
        bool, typer.Option("--force", help="Promote it against the gate, or without a question set.")
    ] = False,
    json: Json = False,
) -> None:
    """Make a version live if the gate accepts it; questions are then answered from it."""
    settings = _settings(questions=questions, gate_margin=margin)
    versions = _versions(settings)
    versions.one(number)
    verdict = None
    if settings.evaluation.questions is not None or not force:
        verdict = _judge(versions, number)
        _report(verdict, json)
    versions.promote(number, verdict, force=force)
    message(f"Version {number} is live.")
    _tell_settings(versions, number)


def rollback(json: Json = False) -> None:
    """Make the previously live version live again."""
    versions = _versions(_settings())
    number = versions.rollback()
    message(f"Version {number} is live again.")
    status = versions.one(number)
    if status.behind:  # after the flip, which doesn't wait for it
        report = versions.build(number)
        message(f"It was {status.behind:,} documents behind; wrote {report.documents:,}.")
    _tell_settings(versions, number)
    if json:
        print_json(versions.one(number).to_json())


def prune(
    numbers: Annotated[
        list[int] | None,
        typer.Argument(metavar="[N]...", show_default=False, help="Default: all but the live and the last one."),
    ] = None,
    json: Json = False,
) -> None:
    """Remove versions for good: the given ones, or all former live ones except the last."""
    versions = _versions(_settings())
    gone = versions.prune(numbers or ())
    message(f"Removed: {', '.join(map(str, gone))}." if gone else "Nothing to remove.")
    kept = [] if numbers else versions.all()
    for previous in (status.version.number for status in kept if status.role == "previous"):
        message(f"Kept for a rollback: {previous}. To remove it too: lore index prune {previous}")
    if waiting := [status for status in kept if status.role in ("candidate", "building")]:
        names = ", ".join(f"{status.version.number} ({status.role})" for status in waiting)
        message(f"Kept because they were never live: {names}. To remove one: lore index prune N")
    if json:
        print_json({"removed": gone})


# ------------------------------------------------------------------------------------------------------------ helpers


def _settings(**overrides: Any) -> Settings:
    from lore.settings import load_settings

    return load_settings(**{name: value for name, value in overrides.items() if value is not None})


def _versions(settings: Settings) -> IndexVersions:
    from lore.evaluation.versions import IndexVersions

    return IndexVersions(settings)


def _judge(versions: IndexVersions, number: int) -> Verdict:
    with progress("judge") as listener:
        return versions.judge(number, listener=listener)


def _report(verdict: Verdict, json: bool) -> None:
    from lore.evaluation.gate.report_text import report_lines

    if json:
        print_json(verdict.to_json())
        return
    for line in report_lines(verdict):
        print_text(line)


def _tell_settings(versions: IndexVersions, number: int) -> None:
    """Warn if processes started with the present settings would not read the live version."""
    if not versions.fits(number):
        message(
            f"Note: the present settings differ from those of version {number}. Processes with another embedder keep "
            f"reading the version that fits them; all others now answer from version {number}. "
            f"{versions.needed_settings(number)}"
        )


def _choices(recipe: Recipe) -> str:
    """Return the settings that a version was made with."""
    return ", ".join(f"LORE_{name.upper()}={value}" for name, value in recipe.choices.items())


def _cells(status: VersionStatus) -> list[str]:
    """Return the cells below `HEADINGS`."""
    version, score = status.version, status.version.scores.get("ndcg_at_10")
    return [
        str(version.number),
        status.role,
        version.recipe.splitter,
        version.recipe.embedder,
        f"{status.counts.documents:,}",
        f"{status.counts.chunks:,}",
        f"{status.behind:,}",
        "" if score is None else f"{score:.3f}",
        f"{version.created_at:%Y-%m-%d %H:%M}",
    ]


def _details(status: VersionStatus) -> Iterator[tuple[str, str]]:
    version, counts = status.version, status.counts
    yield "version", f"{version.number} ({status.role})"
    yield "embedder", f"{version.recipe.embedder}, {version.recipe.dimensions} dimensions"
    yield "splitter", version.recipe.splitter
    yield "strategy", version.recipe.strategy
    yield "schema", str(version.schema)
    yield "settings", _choices(version.recipe)
    for name, moment in (
        ("made", version.created_at),
        ("ready", version.ready_at),
        ("live since", version.promoted_at),
    ):
        yield name if status.role == "live" else name.replace("live since", "was live"), _moment(moment)
    yield "holds", f"{counts.documents:,} documents, {counts.chunks:,} chunks; {status.behind:,} behind"
    if version.counts:
        yield "when ready", f"{version.counts.documents:,} documents, {version.counts.chunks:,} chunks"
    for name, value in version.scores.items():
        yield SCORES.get(name, name.replace("_", " ")), _score(name, value)


def _score(name: str, value: Any) -> str:
    """Format a score of the manifest."""
    if name.endswith("_at"):
        return _moment(datetime.fromisoformat(value))
    if isinstance(value, list):
        return " to ".join(_score(name, part) for part in value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _moment(moment: Any) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment else "never"
