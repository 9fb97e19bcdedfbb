"""`lore evaluate`: the figures of the live index on your own questions, or of the search on a benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lore.cli.output import message, one_line, print_json, print_table, print_text, progress, stages
from lore.errors import ConfigurationError

if TYPE_CHECKING:
    from lore.evaluation.beir.run import RunProgress
    from lore.evaluation.live.results import Assessment
    from lore.evaluation.metrics.retrieval import StageScore
    from lore.settings import Settings

__all__ = ["register"]

EVALUATIONS = Path(".lore/evaluations")
SHOWN = 5
"""Number of questions named that got worse, and better; the page has all."""
SHOWN_FAILED = 20
BEIR_HEADINGS = ("stage", "nDCG@10", "Recall@100", "MRR@10", "pages found", "their recall", "ms p50", "ms p95")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


def evaluate(
    questions: Annotated[
        Path | None,
        typer.Argument(metavar="QUESTIONS", help="YAML file of questions, or a BEIR folder.", show_default=False),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N questions.")] = None,
    judge_model: Annotated[
        str, typer.Option("--judge-model", help='Who judges answers: "PROVIDER:MODEL" or "none".', show_default=False)
    ] = "",
    save: Annotated[Path, typer.Option("--save", help="Folder of evaluations.")] = EVALUATIONS,
    resume: Annotated[bool, typer.Option("--resume/--no-resume", help="Go on with an interrupted run.")] = True,
    fail_below: Annotated[
        list[str] | None,
        typer.Option("--fail-below", metavar="METRIC=VALUE", help="Exit code 1 below it; may be repeated."),
    ] = None,
    beir: Annotated[
        Path | None,
        typer.Option("--beir", help="Instead: a folder with corpus.jsonl, queries.jsonl, qrels/test.tsv."),
    ] = None,
    stage: Annotated[
        Literal["keyword", "vector", "hybrid", "rerank", "all"], typer.Option("--stage", help="BEIR: what to score.")
    ] = "all",
    limit_queries: Annotated[int | None, typer.Option("--limit-queries", min=1, help="BEIR: only the first N.")] = None,
    convert: Annotated[
        bool, typer.Option("--convert", help="BEIR: convert each page by the suffix of its metadata.path.")
    ] = False,
    index: Annotated[
        Path | None, typer.Option("--index", help="BEIR: keep the index in this folder, and reuse it next time.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Ask the live index your own questions and measure search, answers, time and cost; or score a benchmark."""
    if (questions is None) == (beir is None):
        raise typer.BadParameter("Give either a file of questions or --beir FOLDER.")
    if beir is not None:
        if fail_below or limit is not None or judge_model:
            raise typer.BadParameter("--limit, --judge-model and --fail-below belong to a file of questions.")
        _evaluate_beir(beir, stage, limit_queries, convert, index, json)
        return
    assert questions is not None  # noqa: S101  one of both is given
    if stage != "all" or limit_queries is not None or convert or index is not None:
        raise typer.BadParameter("--stage, --limit-queries, --convert and --index belong to --beir.")
    from lore.settings import load_settings

    floors = _floors(fail_below or ())
    settings = load_settings(judge_model=judge_model) if judge_model else load_settings()
    assessment = _assess(questions, settings, save, limit, resume=resume, json=json)
    below = list(_below(assessment, floors))
    for line in below:
        message(line)
    if below:
        raise typer.Exit(1)


def _assess(
    questions: Path, settings: Settings, folder: Path, limit: int | None, *, resume: bool, json: bool
) -> Assessment:
    from dataclasses import replace

    from lore.cli.common import open_index
    from lore.evaluation.live.files import EvaluationJournal, check_folder, save
    from lore.evaluation.live.run import assess, open_evaluated
    from lore.evaluation.questions.question_set import load_questions

    check_folder(folder)
    loaded = load_questions(questions)
    if limit is not None:
        loaded = replace(loaded, questions=loaded.questions[:limit])
    store, embedder = open_index(settings)
    evaluated = open_evaluated(settings, store, embedder, loaded.name)
    try:
        with progress("questions") as listener:
            assessment = assess(
                loaded,
                evaluated,
                folder,
                resume=resume,
                on_resume=lambda done: message(
                    f"Going on with a run that was interrupted: {done:,} questions are done. --no-resume begins anew."
                ),
                listener=listener,
            )
    except KeyboardInterrupt:
        message("Interrupted. What is done is kept; the same command goes on with it.")
        raise
    saved = save(folder, assessment)
    EvaluationJournal(folder, evaluated.setup).remove()
    if json:
        print_json(assessment.to_json())
    else:
        _print(assessment)
    message(f"Saved: {saved / 'evaluation.html'}, {saved / 'evaluation.json'}")
    return assessment


def _floors(given: Sequence[str]) -> dict[str, float]:
    """Return each metric's lowest allowed value; a metric goes by its name or by its title in the table.

    Raises ConfigurationError for an unknown metric or a value that is not from 0 to 1.
    """
    from lore.evaluation.live.figures import METRICS

    names = {title: metric.name for metric in METRICS.values() for title in (metric.name, metric.title.lower())}
    floors: dict[str, float] = {}
    for text in given:
        given_name, _, value = text.partition("=")
        name = names.get(given_name.strip().lower())
        if name is None:
            raise ConfigurationError(f"Unknown metric {given_name!r}.", remedy=f"Known: {', '.join(METRICS)}.")
        try:
            floors[name] = float(value)
        except ValueError:
            floors[name] = -1.0
        if not 0 <= floors[name] <= 1:
            raise ConfigurationError(f"{text!r} has no valid value.", remedy=f"Write {name}=0.8, from 0 to 1.")
    return floors


def _below(assessment: Assessment, floors: Mapping[str, float]) -> Iterator[str]:
    for name, floor in floors.items():
        figure = assessment.figure(name)
        if figure is None:
            yield f"Failed: {name} was not measured; it should be at least {floor:g}."
        elif figure.mean < floor:
            yield f"Failed: {name} is {figure.mean:.3f}, below {floor:g}."


def _print(assessment: Assessment) -> None:
    from lore.evaluation.live.report_page import (
        FIGURE_HEADINGS,
        TIMING_HEADINGS,
        cost_sentences,
        figure_rows,
        headline,
        setup_sentence,
        timing_row,
    )

    print_text(f"{assessment.setup.question_set}: {len(assessment.results):,} questions; {setup_sentence(assessment)}")
    for note in assessment.notes:
        message(note)
    print_text(headline(assessment) + "\n")
    columns = FIGURE_HEADINGS if assessment.changes else FIGURE_HEADINGS[:4]
    print_table(columns, [row[: len(columns)] for row in figure_rows(assessment)], columns[1:])
    print_text("")
    print_table(TIMING_HEADINGS, list(map(timing_row, assessment.timings)), TIMING_HEADINGS[1:])
    print_text("")
    for sentence in cost_sentences(assessment.costs, len(assessment.results)):
        print_text(sentence)
    if failed := [result for result in assessment.results if result.failed]:
        print_text(f"\nFailed: {len(failed):,} of {len(assessment.results):,}")
        for result in failed[:SHOWN_FAILED]:
            print_text(f"  {result.id}: {one_line(result.question)[:100]} ({result.outcome})")
        if len(failed) > SHOWN_FAILED:
            print_text(f"  … and {len(failed) - SHOWN_FAILED:,} more; evaluation.html has all.")
    if assessment.changes:
        for title, moved in (("Worse", assessment.changes.worse), ("Better", assessment.changes.better)):
            if moved:
                print_text(f"\n{title}: {len(moved):,}")
            for change in moved[:SHOWN]:
                print_text(f"  {' '.join(change.question.split())[:100]}: {'; '.join(change.moves)}")


def _evaluate_beir(
    beir: Path,
    stage: Literal["keyword", "vector", "hybrid", "rerank", "all"],
    limit_queries: int | None,
    convert: bool,
    index: Path | None,
    json: bool,
) -> None:
    """Index a benchmark's corpus in a store of its own and score each stage of the search on whole pages."""
    from lore.evaluation.beir.run import run_beir
    from lore.evaluation.metrics.retrieval import STAGES
    from lore.settings import load_settings

    with _progress() as listener:
        evaluation = run_beir(
            beir,
            load_settings(),
            stages=STAGES if stage == "all" else (stage,),
            limit_queries=limit_queries,
            by_path=convert,
            index_dir=index,
            listener=listener,
        )
    if json:
        print_json(evaluation.to_json())
        return
    index_figures = evaluation.index
    print_text(
        f"{evaluation.dataset}: {index_figures.documents:,} pages, {evaluation.queries:,} queries; "
        f"{index_figures.chunks:,} chunks in {index_figures.seconds:.1f} s "
        f"({index_figures.embedded_texts:,} texts embedded)"
    )
    print_text(f"embedder {evaluation.embedder}, reranker {evaluation.reranker}, alpha {evaluation.alpha}")
    if index_figures.failed:
        message(f"{index_figures.failed} pages couldn't be converted.")
    if evaluation.missing_pages:
        message(f"{evaluation.missing_pages} relevant pages are not in the corpus and count as not found.")
    print_table(BEIR_HEADINGS, list(map(_stage_cells, evaluation.stages)), BEIR_HEADINGS[1:])


def _stage_cells(score: StageScore) -> list[str]:
    """Return the cells below `BEIR_HEADINGS`."""
    return [
        score.stage,
        f"{score.ndcg_at_10:.3f}",
        f"{score.recall_at_100:.3f}",
        f"{score.mrr_at_10:.3f}",
        f"{score.pages_retrieved:.0f}",
        f"{score.recall_retrieved:.3f}",
        f"{score.ms_p50:.1f}",
        f"{score.ms_p95:.1f}",
    ]


@contextmanager
def _progress() -> Iterator[RunProgress]:
    from lore.evaluation.beir.run import RunProgress

    with stages("index") as tell:
        yield RunProgress(
            index=lambda step: tell(f"index: {step.stage}", step.documents, step.total),
            queries=lambda stage, done, total: tell(f"queries: {stage}", done, total),
        )
