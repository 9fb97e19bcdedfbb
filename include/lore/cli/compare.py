"""`lore compare`: index strategies and ways to search, side by side on your own documents and questions."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lore.cli.output import clean, message, print_json, print_rich, print_text, stages
from lore.errors import ConfigurationError

if TYPE_CHECKING:
    from lore.evaluation.compare.results import Comparison, Retrieval

__all__ = ["register"]

REPORTS = Path(".lore/compare")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    corpus: Annotated[
        list[str], typer.Argument(metavar="FILE_OR_SOURCE", help="Declared sources, files, folders, BEIR folders.")
    ],
    questions: Annotated[Path, typer.Option("--questions", "-q", help="YAML file of questions, or a BEIR folder.")],
    index: Annotated[
        list[str] | None,
        typer.Option("--index", help="Index strategy, or STRATEGY:CHARACTERS; may be repeated. Default: all."),
    ] = None,
    retrieval: Annotated[
        list[str] | None,
        typer.Option("--retrieval", help="none, keyword, vector, hybrid, hybrid+rerank; may be repeated."),
    ] = None,
    answers: Annotated[int, typer.Option("--answers", min=0, help="Questions to answer in each way.")] = 10,
    limit_questions: Annotated[int | None, typer.Option("--limit-questions", min=1, help="Only the first N.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Folder for comparison.json and .html; default: .lore/compare/TIME.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Index the same documents by several strategies, search them in several ways, and compare the results."""
    from lore.evaluation.compare.report_page import comparison_page
    from lore.evaluation.compare.results import RETRIEVALS, STRATEGIES, IndexPlan
    from lore.evaluation.compare.run import compare as run
    from lore.settings import load_settings

    plans = [IndexPlan.parse(text) for text in dict.fromkeys(index or STRATEGIES)]
    folder = output or REPORTS / f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder.", remedy="Name another one with --output.")
    with stages("reading") as listener:
        comparison = run(
            corpus,
            questions,
            load_settings(),
            plans=plans,
            retrievals=_retrievals(retrieval) or RETRIEVALS,
            limit_questions=limit_questions,
            answers=answers,
            listener=listener,
        )
    folder.mkdir(parents=True, exist_ok=True)
    values = comparison.to_json()
    (folder / "comparison.json").write_text(json_module.dumps(values, indent=2), encoding="utf-8")
    (folder / "comparison.html").write_text(comparison_page(comparison), encoding="utf-8", errors="replace")
    if json:
        print_json(values)
    else:
        _print(comparison)
    message(f"Saved: {folder / 'comparison.html'}, {folder / 'comparison.json'}")


def _retrievals(names: Sequence[str] | None) -> list[Retrieval]:
    from lore.evaluation.compare.results import RETRIEVALS

    known = {retrieval: retrieval for retrieval in RETRIEVALS}
    for name in names or ():
        if name not in RETRIEVALS:
            raise ConfigurationError(f"Unknown way to search {name!r}.", remedy=f"Known: {', '.join(RETRIEVALS)}.")
    return [known[retrieval] for retrieval in RETRIEVALS if retrieval in (names or ())]


def _print(comparison: Comparison) -> None:
    from lore.evaluation.compare.report_page import INDEX_HEADINGS, PAIR_HEADINGS, index_row, pair_row

    print_text(
        f"{comparison.corpus}: {comparison.documents:,} documents, {comparison.questions:,} questions; embedder "
        f"{comparison.embedder}, reranker {comparison.reranker}, language model {comparison.chat_model or 'none'}"
    )
    for note in comparison.notes:
        message(note)
    if comparison.left_out:
        message(f"Questions left out, because none of their pages is in the corpus: {comparison.left_out:,}.")
    print_text("")
    print_rich(_table(INDEX_HEADINGS, [index_row(index) for index in comparison.indexes], text_columns=1))
    print_text("")
    searched = [pair_row(pair) for pair in comparison.pairs if pair.ndcg_at_10 is not None]
    print_rich(_table(PAIR_HEADINGS, searched, text_columns=2))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < text_columns else "right")
    for row in rows:
        table.add_row(*map(clean, row))
    return table
