"""`lore sql compare`: ways to pick the tables for a question, side by side on your own questions."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from lore.cli.output import message, print_json, print_table, print_text, stages
from lore.errors import ConfigurationError

__all__ = ["compare"]

REPORTS = Path(".lore/sql-compare")


def compare(
    questions: Annotated[
        Path, typer.Argument(metavar="QUESTIONS", help="YAML file of questions with gold statements.")
    ],
    way: Annotated[
        list[str] | None, typer.Option("--way", help="none, keyword, faiss, chroma, linked; may be repeated.")
    ] = None,
    answers: Annotated[
        int,
        typer.Option("--answers", min=0, help="Questions that the language model writes a statement for, each way."),
    ] = 0,
    plain: Annotated[bool, typer.Option("--plain", help="Also without review and repair.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve all statements unseen.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", help="Folder of reports; default: .lore/sql-compare.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare ways to pick tables: recall, tokens and time, and with --answers the rows that statements return."""
    from lore.evaluation.databases.question_file import load_gold_questions
    from lore.evaluation.databases.report_page import WAY_HEADINGS, sql_comparison_page, way_row
    from lore.evaluation.databases.run import WAYS, SqlCompareOptions, compare_ways, earlier_runs
    from lore.settings import load_settings

    for name in way or ():
        if name not in WAYS:
            raise ConfigurationError(f"Unknown way {name!r}.", remedy=f"Known: {', '.join(WAYS)}.")
    gold = load_gold_questions(questions)
    if answers and not yes:
        _confirm(min(answers, len(gold.questions)), gold.database)
    folder = output or REPORTS
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder.", remedy="Name another one with --output.")
    options = SqlCompareOptions([name for name in WAYS if not way or name in way], answers, plain)
    with stages("comparing") as listener:
        comparison = compare_ways(gold, questions.name, load_settings(), options, listener=listener)
    comparison = replace(comparison, earlier=earlier_runs(folder, questions.name))
    place = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
    place.mkdir(parents=True)
    values = comparison.to_json()
    (place / "comparison.json").write_text(json_module.dumps(values, indent=2), encoding="utf-8")
    (place / "comparison.html").write_text(sql_comparison_page(comparison), encoding="utf-8", errors="replace")
    if json:
        print_json(values)
    else:
        print_table(WAY_HEADINGS, [way_row(each) for each in comparison.ways], numbers=WAY_HEADINGS[1:])
        for line in (*comparison.notes, "", *comparison.advice()):
            print_text(line)
    message(f"Saved: {place / 'comparison.html'}, {place / 'comparison.json'}")


def _confirm(answers: int, database: str) -> None:
    """Raise ConfigurationError unless somebody approves all statements at once."""
    asked = (
        f"Statements for {answers} questions will be written by the model and run on {database}, in each way. Go on?"
    )
    if not sys.stdin.isatty() or not typer.confirm(asked):
        raise ConfigurationError("The statements are not approved.", remedy="Pass --yes, or --answers 0.")
