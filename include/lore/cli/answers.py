"""`lore answers` and `lore costs`: recorded questions with their answers, feedback and costs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lore.cli.output import fits, message, one_line, print_json, print_rich, print_text
from lore.cli.record_text import money, record_lines, replay_lines, shortened

if TYPE_CHECKING:
    from lore.records.entries import Cost, Summary
    from lore.records.records import Records

__all__ = ["register"]

SHORT_ID = 10
LONGEST_QUESTION = 100
LEAST_QUESTION = 30
"""Fewest characters of a question that a terminal must have room for beside the other columns."""
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

Id = Annotated[str, typer.Argument(metavar="ID", show_default=False, help="An answer's id, or its first characters.")]
Since = Annotated[
    str | None,
    typer.Option("--since", help="Only since: 2026-11-30, 2026-11-30T08:00 (UTC), 12h, 7d.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        name="answers", help="Recorded answers: list, show, replay, judge, forget.", no_args_is_help=True
    )
    group.command("list")(list_answers)
    group.command()(show)
    group.command("replay")(replay_answer)
    group.command()(feedback)
    group.command()(forget)
    app.add_typer(group)
    app.command("costs")(show_costs)


def list_answers(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
    since: Since = None,
    not_found: Annotated[bool, typer.Option("--not-found", help="Only questions without an answer.")] = False,
    json: Json = False,
) -> None:
    """List the latest answers, newest first."""
    moment = _moment(since)
    with _records() as records:
        summaries = records.latest(limit, since=moment, found=False if not_found else None)
    if json:
        print_json({"answers": [_json(summary) for summary in summaries]})
    elif summaries and fits(_answers_table(summaries, LEAST_QUESTION)):
        print_rich(_answers_table(summaries, LONGEST_QUESTION))
    elif summaries:
        for one in summaries:
            print_text(_two_lines(one))
    else:
        message("No answers are recorded." if moment is None and not not_found else "No such answers are recorded.")


def show(answer_id: Id, json: Json = False) -> None:
    """Show an answer and how it came about."""
    with _records() as records:
        record = records.get(answer_id)
    if json:
        print_json(_json(record))
        return
    for line in record_lines(record):
        print_text(line)


def replay_answer(answer_id: Id, json: Json = False) -> None:
    """Ask a recorded question again, by the same plan and version of the index, and show the differences."""
    from lore.evaluation.replay import replay
    from lore.settings import load_settings

    with _records() as records:
        record = records.get(answer_id)
    replayed = replay(record, load_settings())
    if json:
        moves = [asdict(move) for move in replayed.moves()]
        values = _json(replayed)
        print_json({**values, "passages": moves, "answer_diff": replayed.answer_diff()})
        return
    for line in replay_lines(replayed):
        print_text(line)


def feedback(
    answer_id: Id,
    verdict: Annotated[
        Literal["up", "down"], typer.Argument(metavar="up|down", show_default=False, help="Whether it helped.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why.", show_default=False)] = "",
    json: Json = False,
) -> None:
    """Record whether an answer helped; the last verdict counts."""
    with _records() as records:
        full_id = records.judge(answer_id, verdict == "up", reason=reason)
    message(f"Recorded for answer {full_id}.")
    if json:
        print_json({"id": full_id, "helpful": verdict == "up", "reason": reason})


def forget(
    asker: Annotated[str, typer.Argument(metavar="ASKER", show_default=False, help="The person's id in the records.")],
    json: Json = False,
) -> None:
    """Remove everything recorded about a person."""
    with _records() as records:
        gone = records.forget(asker)
    message(f"Removed {gone:,} answers, and this person's feedback on others.")
    if json:
        print_json({"removed": gone})


def show_costs(
    by: Annotated[Literal["day", "model", "stage"], typer.Option("--by", help="What to sum by.")] = "day",
    since: Since = None,
    json: Json = False,
) -> None:
    """Show the tokens and US dollars that model calls took."""
    from lore.records.costs import costs

    moment = _moment(since)
    with _records() as records:
        sums = costs(records.engine, by, moment)
    if json:
        print_json({"by": by, "costs": [_json(one) for one in sums]})
    elif sums:
        print_rich(_costs_table(by, sums))
        if unpriced := sum(one.unpriced for one in sums):
            message(f"Note: the sums leave out calls of unknown price: {unpriced:,}.")
    else:
        message("No costs are recorded.")


# ------------------------------------------------------------------------------------------------------------ helpers


def _records() -> Records:
    from lore.settings import load_settings
    from lore.wiring.records import open_records

    return open_records(load_settings())


def _moment(since: str | None) -> datetime | None:
    """Parse a moment given as a date, a time or a duration."""
    if since is None:
        return None
    if ago := re.fullmatch(r"(\d{1,5})([mhdw])", since.strip()):
        return datetime.now(UTC) - timedelta(**{UNITS[ago[2]]: int(ago[1])})
    try:
        moment = datetime.fromisoformat(since.strip())
    except ValueError:
        raise typer.BadParameter(f"{since!r} is not a time. Examples: 2026-11-30, 12h, 7d.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _json(value: Any) -> Any:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=lambda _: None)  # vectors, which nobody reads


def _two_lines(one: Summary) -> str:
    """Format an answer for a narrow terminal, with the question on a line of its own."""
    parts = (
        one_line(one.id)[:SHORT_ID],
        f"{one.asked_at:%Y-%m-%d %H:%M}",
        shortened(one.surface, 10),
        shortened(one.asker, 20),
        "found" if one.found else "not found",
        "" if one.seconds is None else f"{one.seconds:.2f} s",
        money(one.cost) if one.calls else "",
        _opinions(one),
    )
    return f"{'  '.join(part for part in parts if part)}\n  {shortened(one.question, LONGEST_QUESTION)}"


def _opinions(one: Summary) -> str:
    return ", ".join([f"{one.helpful} up"] * bool(one.helpful) + [f"{one.unhelpful} down"] * bool(one.unhelpful))


def _answers_table(summaries: Sequence[Summary], characters: int) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    named = any(one.asker for one in summaries)
    table = Table("id", "asked (UTC)", "where", *["who"] * named, "found", box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("seconds", "cost"):
        table.add_column(heading, justify="right")
    table.add_column("feedback")
    for column in table.columns:
        column.no_wrap = True
    table.add_column("question", overflow="fold")
    for one in summaries:
        table.add_row(
            one_line(one.id)[:SHORT_ID],
            f"{one.asked_at:%Y-%m-%d %H:%M}",
            shortened(one.surface, 10),
            *[shortened(one.asker, 20)] * named,
            "yes" if one.found else "no",
            "" if one.seconds is None else f"{one.seconds:.2f}",
            money(one.cost) if one.calls else "",
            _opinions(one),
            shortened(one.question, characters),
        )
    return table


def _costs_table(by: str, sums: Sequence[Cost]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(by, box=SIMPLE_HEAD, pad_edge=False, show_footer=True)
    table.columns[0].footer = "all"
    totals = {
        "questions": f"{sum(one.questions for one in sums):,}" if by == "day" else "",
        "calls": f"{sum(one.calls for one in sums):,}",
        "tokens in": f"{sum(one.input_tokens for one in sums):,}",
        "tokens out": f"{sum(one.output_tokens for one in sums):,}",
        "cost": money(sum(one.cost for one in sums)),
    }
    for heading, total in totals.items():
        table.add_column(heading, total, justify="right")
    for one in sums:
        figures = (one.questions, one.calls, one.input_tokens, one.output_tokens)
        table.add_row(shortened(one.key, 60), *(f"{figure:,}" for figure in figures), money(one.cost))
    return table
