"""A comparison as a page: the cost of each index, the figures of each way to search, plots, and every question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lore.evaluation.compare.results import AnswerFigures, Comparison, IndexBuild, PairScore, QuestionOutcome
from lore.evaluation.report.html_page import block, details, page, paragraph, section, table
from lore.evaluation.report.svg import WIDE, Point, bars, points

__all__ = ["INDEX_HEADINGS", "PAIR_HEADINGS", "comparison_page", "index_row", "pair_row"]

INDEX_HEADINGS = (
    "index", "vectors", "characters each", "tokens embedded", "summaries", "calls", "tokens in", "tokens out", "cost",
    "seconds",
)  # fmt: skip
PAIR_HEADINGS = ("search", "index", "nDCG@10", "difference (bounds)", "recall@10", "MRR@10", "context tokens", "ms p50")
ANSWER_HEADINGS = (
    "search", "index", "answered", "cites a right page", "mentions", "tokens in", "tokens out", "cost", "seconds",
)  # fmt: skip
UNKNOWN = "–"


def comparison_page(comparison: Comparison) -> str:
    """Return the whole page as self-contained HTML."""
    lead = (
        f"{comparison.documents:,} documents, {comparison.questions:,} questions of {comparison.question_set}; "
        f"embedder {comparison.embedder}, reranker {comparison.reranker}, "
        f"{f'language model {comparison.chat_model}' if comparison.chat_model else 'no language model'}; "
        f"alpha {comparison.alpha:g}, {comparison.retrieve_limit} passages searched for and {comparison.rerank_limit} "
        f"given; {comparison.made_at[:16].replace('T', ' ')} UTC."
    )
    return page(f"Strategies compared on {comparison.corpus}", lead, list(_body(comparison)))


def index_row(index: IndexBuild) -> list[str]:
    """Return the cells below `INDEX_HEADINGS`."""
    return [
        index.name,
        f"{index.vectors:,}",
        f"{index.mean_characters:,.0f}",
        f"{index.embedded_tokens:,}",
        f"{index.summaries:,}",
        f"{index.summary_calls:,}",
        _number(index.summary_input_tokens),
        _number(index.summary_output_tokens),
        _money(index.cost),
        f"{index.seconds:,.1f}",
    ]


def pair_row(pair: PairScore) -> list[str]:
    """Return the cells below `PAIR_HEADINGS`."""
    return [
        pair.retrieval,
        pair.index or UNKNOWN,
        _number(pair.ndcg_at_10, 3),
        difference(pair),
        _number(pair.recall_at_10, 3),
        _number(pair.mrr_at_10, 3),
        f"{pair.context_tokens:,.0f}",
        _number(None if pair.seconds_p50 is None else 1000 * pair.seconds_p50, 1),
    ]


def difference(pair: PairScore) -> str:
    """Return the difference to the first index with its bounds, "" for the first."""
    if pair.difference is None:
        return ""
    mean, lower, upper = (f"{round(value or 0.0, 3) + 0.0:+.3f}" for value in (pair.difference, pair.lower, pair.upper))
    return f"{mean} ({lower} … {upper})"


def _body(comparison: Comparison) -> Iterator[str]:
    searched = [pair for pair in comparison.pairs if pair.ndcg_at_10 is not None]
    yield section("In short", *map(paragraph, _in_short(comparison, searched)))
    if comparison.notes or comparison.failed or comparison.left_out:
        yield section("What to know", *map(paragraph, _caveats(comparison)))
    yield section(
        "Finding the right page",
        paragraph(
            "Means over the questions. The difference is that of nDCG@10 to the first index searched the same way, "
            "with its one-sided 95 % bounds: with zero between them, these questions do not tell which is better. "
            "One bound in twenty misses by chance. "
            "Context tokens are an estimate of the passages that an answer is written from.",
            soft=True,
        ),
        table(PAIR_HEADINGS, list(map(pair_row, searched)), text_columns=2, best=_best(searched)),
    )
    yield section(
        "Building the indexes",
        paragraph(
            "Tokens embedded are an estimate. Calls, their tokens and costs are those of this run: a summary that was "
            "kept, also for an index above, is not paid for again.",
            soft=True,
        ),
        table(INDEX_HEADINGS, list(map(index_row, comparison.indexes))),
    )
    yield section("Plots", *_plots(comparison, searched))
    answered = [(pair, pair.answers) for pair in comparison.pairs if pair.answers is not None]
    if answered:
        count = max(figures.questions for _, figures in answered)
        who = comparison.chat_model or "quotations: no language model is set"
        yield section(
            "Answers",
            paragraph(f"{count} questions were answered in each way ({who}).", soft=True),
            table(ANSWER_HEADINGS, [_answer_row(*each) for each in answered], text_columns=2),
        )
    yield section("The questions", *(_question(outcome) for outcome in comparison.outcomes))


def _in_short(comparison: Comparison, pairs: Sequence[PairScore]) -> Iterator[str]:
    if not pairs:
        return
    top = max(pair.ndcg_at_10 or 0.0 for pair in pairs)
    best = [pair for pair in pairs if pair.ndcg_at_10 == top]
    least = min(best, key=lambda pair: pair.context_tokens)
    others = f", and {_counted(len(best) - 1, 'other way')} with more" if len(best) > 1 else ""
    yield (
        f"The best mean nDCG@10 is {top:.3f}: {least.retrieval} over {least.index}, with about "
        f"{least.context_tokens:,.0f} tokens of context a question{others}."
    )
    better = [pair for pair in pairs if pair.lower is not None and pair.lower > 0]
    worse = [pair for pair in pairs if pair.upper is not None and pair.upper < 0]
    first = comparison.indexes[0].name
    for found, word in ((better, "better"), (worse, "worse")):
        if found:
            names = ", ".join(f"{pair.index} ({pair.retrieval})" for pair in found)
            yield f"Beyond chance {word} than {first} searched the same way: {names}."
    if len(comparison.indexes) > 1 and not better and not worse:
        yield f"With these {comparison.questions} questions, no other differs from {first} beyond chance."


def _caveats(comparison: Comparison) -> Iterator[str]:
    yield from comparison.notes
    if comparison.failed:
        yield f"{_counted(comparison.failed, 'document')} could not be read or converted: in no index."
    for index in comparison.indexes:
        if index.failed:
            yield f"{_counted(index.failed, 'document')} not in {index.name}, because a model failed."
    if comparison.left_out:
        yield f"{_counted(comparison.left_out, 'question')} left out: none of the pages is in the corpus."


def _plots(comparison: Comparison, pairs: Sequence[PairScore]) -> Iterator[str]:
    names: list[str] = list(dict.fromkeys(pair.retrieval for pair in pairs))
    yield "<h3>nDCG@10 by search and index</h3>"
    found = {name: {pair.index: pair.ndcg_at_10 or 0.0 for pair in pairs if pair.retrieval == name} for name in names}
    yield _figure(bars(found, y_label="nDCG@10", label="nDCG@10 by search and index", width=WIDE))
    yield '<div class="plots"><div><h3>What the context buys</h3>'
    places = [
        Point(
            pair.context_tokens,
            pair.ndcg_at_10 or 0.0,
            pair.index,
            pair.retrieval,
            f"{pair.name}: nDCG@10 {pair.ndcg_at_10:.3f}, {pair.context_tokens:,.0f} tokens",
        )
        for pair in pairs
    ]
    yield _figure(
        points(places, x_label="context tokens a question", y_label="nDCG@10", label="nDCG@10 against context tokens")
    )
    yield "</div><div><h3>Time of a search</h3>"
    seconds = {
        name: {pair.index: 1000 * (pair.seconds_p50 or 0.0) for pair in pairs if pair.retrieval == name}
        for name in names
    }
    yield _figure(bars(seconds, y_label="milliseconds, median", digits=0, label="Median milliseconds of a search"))
    yield "</div><div><h3>Vectors stored</h3>"
    vectors = {"": {index.name: float(index.vectors) for index in comparison.indexes}}
    yield _figure(bars(vectors, y_label="vectors", digits=0, label="Vectors stored by each index"))
    yield "</div><div><h3>Tokens to build</h3>"
    tokens = {
        "embedded": {index.name: float(index.embedded_tokens) for index in comparison.indexes},
        "read for summaries": {index.name: float(index.summary_input_tokens or 0) for index in comparison.indexes},
        "summaries written": {index.name: float(index.summary_output_tokens or 0) for index in comparison.indexes},
    }
    tokens = {what: taken for what, taken in tokens.items() if any(taken.values())}
    yield _figure(bars(tokens, y_label="tokens", digits=0, label="Tokens that building each index took"))
    yield "</div></div>"


def _figure(svg: str) -> str:
    return f"<figure>{svg}</figure>"


def _best(pairs: Sequence[PairScore]) -> list[tuple[int, int]]:
    """Return the cells of the best nDCG@10 of each way to search."""
    best = {
        retrieval: max(pair.ndcg_at_10 or 0.0 for pair in pairs if pair.retrieval == retrieval)
        for retrieval in dict.fromkeys(pair.retrieval for pair in pairs)
    }
    return [(number, 2) for number, pair in enumerate(pairs) if pair.ndcg_at_10 == best[pair.retrieval]]


def _answer_row(pair: PairScore, figures: AnswerFigures) -> list[str]:
    return [
        pair.retrieval,
        pair.index or UNKNOWN,
        f"{figures.found:.0%}",
        UNKNOWN if figures.cites_page is None else f"{figures.cites_page:.0%}",
        UNKNOWN if figures.mentions is None else f"{figures.mentions:.0%}",
        _number(figures.input_tokens),
        _number(figures.output_tokens),
        _money(figures.cost),
        f"{figures.seconds:,.2f}",
    ]


def _question(outcome: QuestionOutcome) -> str:
    ranks = [
        [name, UNKNOWN if found.rank is None else str(found.rank), f"{found.ndcg:.3f}", f"{found.context_tokens:,}"]
        for name, found in outcome.searches.items()
    ]
    pieces = [
        paragraph(f"Right pages: {', '.join(outcome.pages)}", soft=True),
        table(("index · search", "rank of the first", "nDCG@10", "context tokens"), ranks),
    ]
    pieces += [
        details(name, block(answer.text), *(paragraph(note, soft=True) for note in answer.notes))
        for name, answer in outcome.answers.items()
    ]
    return details(outcome.question, *pieces)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _number(value: float | None, digits: int = 0) -> str:
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def _money(value: float | None) -> str:
    return UNKNOWN if value is None else "$0" if value == 0 else f"${value:,.4f}"
