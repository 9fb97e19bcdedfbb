"""An evaluation as a page, and as rows for a terminal: figures, changes, times, costs, and every question."""

from __future__ import annotations

from collections.abc import Iterator

from lore.evaluation.live.figures import METRICS
from lore.evaluation.live.results import (
    Assessment,
    Changes,
    Costs,
    Figure,
    FigureChange,
    QuestionChange,
    QuestionResult,
    Timing,
)
from lore.evaluation.report.html_page import block, details, page, paragraph, section, table
from lore.evaluation.report.svg import WIDE, bars

__all__ = [
    "FIGURE_HEADINGS",
    "TIMING_HEADINGS",
    "assessment_page",
    "cost_sentences",
    "figure_rows",
    "headline",
    "setup_sentence",
    "timing_row",
]

FIGURE_HEADINGS = ("figure", "mean", "95 % interval", "questions", "last run", "difference (95 % interval)")
TIMING_HEADINGS = ("seconds", "p50", "p95")
UNKNOWN = "–"
TOLD_BY_STATE = ("answered", "correctness", "abstention_precision", "abstention_recall")


def assessment_page(assessment: Assessment) -> str:
    """Return the whole page as self-contained HTML."""
    made_at = assessment.made_at[:16].replace("T", " ")
    lead = f"{_counted(len(assessment.results), 'question')}; {setup_sentence(assessment)}; {made_at} UTC."
    return page(f"Evaluation by {assessment.setup.question_set}", lead, list(_body(assessment)))


def setup_sentence(assessment: Assessment) -> str:
    """Return the evaluated setup in a line."""
    setup = assessment.setup
    return (
        f"version {setup.version or UNKNOWN} of the index, embedder {setup.embedder}, reranker {setup.reranker}, "
        f"language model {setup.chat_model or 'none'}, judge {setup.judge_model or 'none'}; alpha {setup.alpha:g}, "
        f"{setup.retrieve_limit} passages searched for and {setup.rerank_limit} given"
    )


def headline(assessment: Assessment) -> str:
    """Return the main figures, and the number of questions that got better and worse."""
    parts = [
        f"{METRICS[name].title} {figure.mean:.2f}"
        for name in ("ndcg_at_10", "citation_recall", "support", "correctness", "abstention_recall")
        if (figure := assessment.figure(name)) is not None
    ]
    changes = assessment.changes
    if changes is None:
        return f"{', '.join(parts)}. There is no earlier run to compare with."
    return (
        f"{', '.join(parts)}. Since {changes.before_at[:16].replace('T', ' ')} UTC, of "
        f"{_counted(changes.common, 'question')} in both runs {len(changes.better):,} went better and "
        f"{len(changes.worse):,} worse."
    )


def figure_rows(assessment: Assessment) -> list[list[str]]:
    """Return the cells below `FIGURE_HEADINGS`."""
    changes = {change.name: change for change in assessment.changes.figures} if assessment.changes else {}
    return [_figure_row(figure, changes.get(figure.name)) for figure in assessment.figures]


def timing_row(timing: Timing) -> list[str]:
    """Return the cells below `TIMING_HEADINGS`."""
    return [timing.name, f"{timing.p50:.3f}", f"{timing.p95:.3f}"]


def cost_sentences(costs: Costs, questions: int) -> list[str]:
    """Return the cost of the model calls in sentences."""
    if not costs.calls:
        return ["No remote model was called, so it cost nothing."]
    each = None if costs.cost is None else costs.cost / max(1, questions)
    parts = [
        f"Answering took {_number(costs.input_tokens)} tokens in and {_number(costs.output_tokens)} out, "
        f"{_money(costs.cost)} in all and {_money(each)} a question."
    ]
    if costs.judge_input_tokens != 0:
        parts.append(
            f"The judge took {_number(costs.judge_input_tokens)} tokens in and {_number(costs.judge_output_tokens)} "
            f"out, {_money(costs.judge_cost)}."
        )
    return parts


def _figure_row(figure: Figure, change: FigureChange | None) -> list[str]:
    return [
        METRICS[figure.name].title,
        f"{figure.mean:.3f}",
        UNKNOWN if figure.lower is None or figure.upper is None else f"{figure.lower:.3f} … {figure.upper:.3f}",
        f"{figure.count:,}",
        UNKNOWN if change is None else f"{change.before:.3f}",
        UNKNOWN if change is None else _difference(change),
    ]


def _difference(change: FigureChange) -> str:
    bounds = "" if change.lower is None or change.upper is None else f" ({change.lower:+.3f} … {change.upper:+.3f})"
    return f"{round(change.difference, 3) + 0.0:+.3f}{bounds}"


def _body(assessment: Assessment) -> Iterator[str]:
    yield section("In short", paragraph(headline(assessment)))
    if assessment.notes:
        yield section("What to know", *map(paragraph, assessment.notes))
    yield section(
        "Figures",
        paragraph(
            "Means over the questions that have a value. The interval shows how far other such questions could "
            "move the mean; it is unknown for fewer than two questions, or equal values. The last run, and the "
            "difference to it, cover the questions of both. If the interval of a difference contains zero, these "
            "questions can't tell the two runs apart.",
            soft=True,
        ),
        table(FIGURE_HEADINGS, figure_rows(assessment)),
        details(
            "What the figures mean",
            table(
                ("figure", "meaning"),
                [[METRICS[one.name].title, METRICS[one.name].meaning] for one in assessment.figures],
                text_columns=2,
            ),
        ),
        f"<figure>{_plot(assessment)}</figure>",
    )
    if assessment.changes:
        yield section("Since the last run", *_changed(assessment.changes))
    yield section(
        "Time and cost",
        table(TIMING_HEADINGS, list(map(timing_row, assessment.timings))),
        *map(paragraph, cost_sentences(assessment.costs, len(assessment.results))),
    )
    yield section("The questions", *map(_question, assessment.results))


def _plot(assessment: Assessment) -> str:
    before = {change.name: change.before for change in assessment.changes.figures} if assessment.changes else {}
    groups: dict[str, dict[str, float]] = {}
    for figure in assessment.figures:
        values = {"last run": before[figure.name]} if figure.name in before else {}
        groups[METRICS[figure.name].title] = values | {"this run": figure.mean}
    return bars(groups, y_label="mean", label="The figures of this run and of the last one", width=WIDE)


def _changed(changes: Changes) -> Iterator[str]:
    yield paragraph(
        f"{_counted(changes.common, 'question')} in both runs, {changes.added:,} only in this one, {changes.gone:,} "
        f"only in the last one, of {changes.before_at[:16].replace('T', ' ')} UTC."
    )
    for difference in changes.setup:
        yield paragraph(f"Changed: {difference}.")
    for title, moved in (("Worse", changes.worse), ("Better", changes.better)):
        if moved:
            yield f"<h3>{title}</h3>"
            yield table(("question", "what changed"), list(map(_moved, moved)), text_columns=2)
    if not changes.worse and not changes.better:
        yield paragraph("No question changed.")


def _moved(change: QuestionChange) -> list[str]:
    return [change.question, "; ".join(change.moves)]


def _question(result: QuestionResult) -> str:
    facts = [
        ("right pages", ", ".join(result.pages) or "none: unanswerable"),
        ("rank of the first", UNKNOWN if result.rank is None else str(result.rank)),
        ("cited", ", ".join(result.cited) or UNKNOWN),
    ]
    measured = [
        f"{metric.title} {value:.2f}"
        for metric in METRICS.values()
        if metric.name not in TOLD_BY_STATE and (value := metric.of(result)) is not None
    ]
    if measured:
        facts.append(("figures", ", ".join(measured)))
    facts.append(("seconds", f"{result.first_token_seconds:.3f} to the first token, {result.seconds:.3f} in all"))
    if result.reference:
        facts.append(("reference", result.reference))
    if result.verdict:
        facts.append(("verdict", f"{result.verdict}: {result.reason}" if result.reason else result.verdict))
    if result.judge_failure:
        facts.append(("the judge failed", result.judge_failure))
    return details(
        f"{result.outcome} · {result.question}",
        table(("", ""), [list(fact) for fact in facts], text_columns=2),
        block(result.answer),
        *(paragraph(note, soft=True) for note in result.notes),
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _number(value: int | None) -> str:
    return "an unknown number of" if value is None else f"{value:,}"


def _money(value: float | None) -> str:
    return "an unknown cost" if value is None else "$0" if value == 0 else f"${value:,.4f}"
