"""A verdict in words: lines for a terminal or a log, and Markdown for the approval page.

Questions and pages are outside text. In lines they lose the characters that control a terminal; in Markdown they are
code spans, in which nothing is a link, markup or HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lore.evaluation.gate.verdict import LeftOut, Outcome, Verdict
from lore.visible_text import visible

__all__ = ["headline", "report_lines", "report_markdown"]

MOST_SHOWN = 10
MAX_QUESTION = 160
MAX_PAGE = 100
SIZES = (("nDCG@10", "ndcg_at_10", ".3f"), ("MRR@10", "mrr_at_10", ".3f"), ("recall", "recall", ".3f"))
COUNTS = (("pages found", "pages_retrieved", ".0f"), ("ms p50", "ms_p50", ".1f"))


def headline(verdict: Verdict) -> str:
    """Return the decision in a sentence or two."""
    margin = f"{verdict.margin:g} nDCG@10"
    match verdict.decision:
        case "accepted":
            return f"Accepted: the candidate is not worse than the live version by more than {margin}."
        case "refused":
            return f"Refused: the candidate is worse than the live version by more than {margin}."
    if verdict.questions_needed is None:
        more = "No realistic number of questions would decide; look at the questions below, or widen the margin."
    else:
        more = f"About {verdict.questions_needed:,} would be needed, if the others are like these."
    asked = _questions(len(verdict.outcomes))
    return f"Undecided: {asked} cannot tell whether the candidate is worse by more than {margin}. {more}"


def report_lines(verdict: Verdict, *, shown: int = MOST_SHOWN) -> list[str]:
    """Return plain text: the decision, both sides' figures, and the `shown` questions that lost and gained most."""
    lines = [headline(verdict), _difference(verdict), _pages_kept(verdict), ""]
    lines += [f"{name:<12}{live:>10}{candidate:>11}" for name, live, candidate in _table(verdict)]
    for title, outcomes in (("Worse", verdict.worse), ("Better", verdict.better)):
        lines += ["", _count(title, outcomes, verdict)]
        for outcome in outcomes[:shown]:
            lines.append(f"  {_movement(outcome)}  {_cut(outcome.question, MAX_QUESTION)}")
            lines.append(f"{'':28}{_expected(outcome)}")
        lines += _more(len(outcomes) - shown)
    if verdict.left_out:
        lines += ["", _left_out(verdict)]
        lines += [f"  {_cut(left.question, MAX_QUESTION)}  ({_pages(left)})" for left in verdict.left_out[:shown]]
        lines += _more(len(verdict.left_out) - shown)
    return lines


def report_markdown(verdict: Verdict, *, shown: int = MOST_SHOWN) -> str:
    """Return the same as Markdown, at most about 10,000 characters with the default `shown`."""
    blocks = [f"**{headline(verdict)}**", f"{_difference(verdict)} {_pages_kept(verdict)}"]
    head, *rows = ["| " + " | ".join(row) + " |" for row in _table(verdict)]
    blocks.append("\n".join([head, "| --- | ---: | ---: |", *rows]))
    for title, outcomes in (("Worse", verdict.worse), ("Better", verdict.better)):
        items = [
            f"- {_movement(outcome).strip()}: {_code(outcome.question, MAX_QUESTION)}" for outcome in outcomes[:shown]
        ]
        blocks.append("\n".join([f"**{_count(title, outcomes, verdict)}**", "", *items, *_more(len(outcomes) - shown)]))
    if verdict.left_out:
        items = [f"- {_code(left.question, MAX_QUESTION)}" for left in verdict.left_out[:shown]]
        blocks.append("\n".join([f"**{_left_out(verdict)}**", "", *items, *_more(len(verdict.left_out) - shown)]))
    return "\n\n".join(blocks) + "\n"


def _difference(verdict: Verdict) -> str:
    return (
        f"Mean difference {verdict.difference:+.3f}; with {verdict.confidence:.0%} confidence it is not below "
        f"{verdict.lower:+.3f}, and with as much it is not above {verdict.upper:+.3f} "
        f"(paired bootstrap over {_questions(len(verdict.outcomes))})."
    )


def _pages_kept(verdict: Verdict) -> str:
    return f"Of the live version's first ten pages the candidate's first ten have {verdict.kept:.1%}."


def _table(verdict: Verdict) -> Iterator[tuple[str, str, str]]:
    yield "", "live", "candidate"
    for name, field, form in (*SIZES, *COUNTS):
        yield name, format(getattr(verdict.live, field), form), format(getattr(verdict.candidate, field), form)


def _count(title: str, outcomes: Sequence[Outcome], verdict: Verdict) -> str:
    return f"{title}: {len(outcomes)} of {_questions(len(verdict.outcomes))}"


def _left_out(verdict: Verdict) -> str:
    return f"Not judged, because the index holds none of their pages: {_questions(len(verdict.left_out))}"


def _questions(count: int) -> str:
    return f"{count:,} question" + ("" if count == 1 else "s")


def _movement(outcome: Outcome) -> str:
    ranks = f"rank {outcome.live_rank or 'none'} → {outcome.candidate_rank or 'none'}"
    return f"{outcome.difference:+.3f}  {ranks:<16}"


def _expected(outcome: Outcome) -> str:
    return f"answered by {_pages(outcome)}"


def _pages(item: Outcome | LeftOut) -> str:
    more = f" and {len(item.pages) - 1} more" if len(item.pages) > 1 else ""
    return _cut(item.pages[0], MAX_PAGE) + more


def _more(count: int) -> list[str]:
    return [f"  … and {count:,} more"] if count > 0 else []


def _cut(text: str, limit: int) -> str:
    text = visible(text[: 4 * limit])
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _code(text: str, limit: int) -> str:
    """Return a code span; backticks and bars, which would end it or its table cell, are replaced."""
    return f"`{_cut(text, limit).replace('`', 'ˋ') or '?'}`"
