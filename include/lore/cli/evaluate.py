"""`lore evaluate`: the figures of the search on a benchmark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from include.lore.cli.output import message, print_json, print_rich, print_text, stderr_console

if TYPE_CHECKING:
    from include.lore.evaluation.retrieval import Evaluation
    from include.lore.evaluation.run import Listener

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


def evaluate(
    beir: Annotated[Path, typer.Option("--beir", help="Folder with corpus.jsonl, queries.jsonl, qrels/test.tsv.")],
    stage: Annotated[
        Literal["keyword", "vector", "hybrid", "rerank", "all"], typer.Option("--stage", help="What to score.")
    ] = "all",
    limit_queries: Annotated[int | None, typer.Option("--limit-queries", min=1, help="Only the first N.")] = None,
    convert: Annotated[
        bool, typer.Option("--convert", help="Convert each page by the suffix of its metadata.path.")
    ] = False,
    index: Annotated[
        Path | None, typer.Option("--index", help="Keep the index in this folder, and reuse it next time.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Index a benchmark's corpus in a store of its own and score each stage of the search on whole pages."""
    from include.lore.evaluation.retrieval import STAGES
    from include.lore.evaluation.run import run_beir
    from include.lore.settings import load_settings

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
        message(f"{index_figures.failed} pages could not be converted.")
    if evaluation.missing_pages:
        message(f"{evaluation.missing_pages} relevant pages are not in the corpus and count as not found.")
    print_rich(_table(evaluation))


def _table(evaluation: Evaluation) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table("stage", box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("nDCG@10", "Recall@100", "MRR@10", "pages found", "their recall", "ms p50", "ms p95"):
        table.add_column(heading, justify="right")
    for score in evaluation.stages:
        table.add_row(
            score.stage,
            f"{score.ndcg_at_10:.3f}",
            f"{score.recall_at_100:.3f}",
            f"{score.mrr_at_10:.3f}",
            f"{score.pages_retrieved:.0f}",
            f"{score.recall_retrieved:.3f}",
            f"{score.ms_p50:.1f}",
            f"{score.ms_p95:.1f}",
        )
    return table


@contextmanager
def _progress() -> Iterator[Listener]:
    from include.lore.evaluation.run import Listener

    if not sys.stderr.isatty():
        yield Listener()
        return
    from rich.progress import Progress

    with Progress(console=stderr_console(), transient=True) as bars:
        task = bars.add_task("index", total=None)
        yield Listener(
            index=lambda step: bars.update(
                task, description=f"index: {step.stage}", completed=step.documents, total=step.total
            ),
            queries=lambda stage, done, total: bars.update(
                task, description=f"queries: {stage}", completed=done, total=total
            ),
        )
