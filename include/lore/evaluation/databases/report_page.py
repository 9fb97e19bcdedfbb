"""A comparison of ways to pick tables as a page: figures, plots, earlier runs, and every question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lore.evaluation.databases.results import Share, SqlComparison, WayFigures, WayQuestion
from lore.evaluation.report.html_page import block, details, page, paragraph, section, table
from lore.evaluation.report.svg import Point, bars, points

__all__ = ["WAY_HEADINGS", "sql_comparison_page", "way_row"]

WAY_HEADINGS = (
    "way", "all tables found", "among the first 5", "tables", "tokens", "less than all", "ms", "right rows", "cost",
    "seconds",
)  # fmt: skip
EARLIER_HEADINGS = ("when", "way", "all tables found", "tokens", "right rows")
SHOWN_RUNS = 10
UNKNOWN = "–"


def sql_comparison_page(comparison: SqlComparison) -> str:
    """Return the whole page as self-contained HTML."""
    model = f"statements by {comparison.chat_model}" if comparison.chat_model else "no statements"
    lead = (
        f"{comparison.questions:,} questions of {comparison.question_set}; {comparison.tables:,} tables, "
        f"{comparison.whole_tokens:,} tokens; at most {comparison.limit} tables are sent; embedder "
        f"{comparison.embedder}, {model}; {comparison.made_at[:16].replace('T', ' ')} UTC."
    )
    return page(f"Ways to pick tables of {comparison.database}", lead, list(_body(comparison)))


def way_row(way: WayFigures) -> list[str]:
    """Return the cells below `WAY_HEADINGS`."""
    return [
        way.way,
        _share(way.recall),
        _share(way.recall_at_5),
        f"{way.tables:.1f}",
        f"{way.tokens:,.0f}",
        f"{way.reduction:.0%}",
        f"{way.milliseconds:,.1f}",
        _share(way.accuracy),
        UNKNOWN if way.cost is None else f"${way.cost:,.4f}",
        UNKNOWN if way.answer_seconds is None else f"{way.answer_seconds:,.1f}",
    ]


def _body(comparison: SqlComparison) -> Iterator[str]:
    yield section("In short", *map(paragraph, comparison.advice()))
    if comparison.notes:
        yield section("What to know", *map(paragraph, comparison.notes))
    yield section(
        "The ways",
        paragraph(
            "Shares of questions with 95 % intervals (Wilson). All tables of a gold statement have to be found. Rows "
            "are right if they are those of a gold statement. Tokens and seconds are means, and milliseconds of "
            "retrieval are a median.",
            soft=True,
        ),
        table(WAY_HEADINGS, list(map(way_row, comparison.ways)), best=_best(comparison.ways)),
    )
    yield section("Plots", *_plots(comparison))
    if comparison.earlier:
        yield section("Earlier runs", table(EARLIER_HEADINGS, list(_earlier_rows(comparison.earlier)), text_columns=2))
    yield section("The questions", *_questions(comparison.results))


def _plots(comparison: SqlComparison) -> Iterator[str]:
    shares = {way.way: {"all tables found": way.recall.value} for way in comparison.ways}
    for way in comparison.ways:
        if way.accuracy:
            shares[way.way]["right rows"] = way.accuracy.value
    yield '<div class="plots">'
    yield f"<figure>{bars(shares, y_label='share of questions', label='Shares of questions by way')}</figure>"
    found = [
        Point(
            way.tokens, way.recall.value, way.way, "way", f"{way.way}: {way.tokens:,.0f} tokens, {way.recall.value:.3f}"
        )
        for way in comparison.ways
    ]
    plot = points(found, x_label="tokens sent", y_label="all tables found", label="Recall against tokens, by way")
    yield f"<figure>{plot}</figure></div>"


def _earlier_rows(runs: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    for run in runs[:SHOWN_RUNS]:
        for way in run["ways"]:
            accuracy = way.get("accuracy")
            yield [
                str(run.get("made_at", ""))[:16].replace("T", " "),
                str(way["way"]),
                f"{way['recall']['value']:.3f}",
                f"{way['tokens']:,.0f}",
                f"{accuracy['value']:.3f}" if accuracy else UNKNOWN,
            ]


def _questions(results: Sequence[WayQuestion]) -> Iterator[str]:
    for question in dict.fromkeys(result.question for result in results):
        ways = [result for result in results if result.question == question]
        missed = [result.way for result in ways if not result.recalled]
        wrong = [result.way for result in ways if result.right is False]
        faults = [f"tables missed by {', '.join(missed)}"] if missed else []
        faults += [f"other rows by {', '.join(wrong)}"] if wrong else []
        yield details(f"{question}{' — ' + '; '.join(faults) if faults else ''}", *map(_way, ways))


def _way(result: WayQuestion) -> str:
    lines = [
        f"{result.way}: {', '.join(result.found)}",
        f"needed: {', '.join(result.needed)}",
        *([result.sql] if result.sql else []),
        *([f"failed: {result.failure}"] if result.failure else []),
        *result.notes,
    ]
    return block("\n".join(lines))


def _best(ways: Sequence[WayFigures]) -> list[tuple[int, int]]:
    few = [number for number, way in enumerate(ways) if not way.way.startswith("none")]
    found = []
    for column, shares in ((1, [way.recall for way in ways]), (7, [way.accuracy for way in ways])):
        values = {number: share.value for number in few if (share := shares[number]) is not None}
        top = max(values.values(), default=0.0)
        found += [(number, column) for number, value in values.items() if top and value == top]
    return found


def _share(share: Share | None) -> str:
    if share is None:
        return UNKNOWN
    if share.lower is None or share.upper is None:
        return f"{share.value:.3f}"
    return f"{share.value:.3f} ({share.lower:.3f} … {share.upper:.3f})"
