"""Parts of a comparison of ways to pick tables: equal results, question files, figures and advice."""

from __future__ import annotations

from pathlib import Path

import pytest
from lore.databases.run.execute import QueryResult
from lore.errors import ConfigurationError, DeclarationError
from lore.evaluation.databases.equality import same_result
from lore.evaluation.databases.question_file import load_gold_questions
from lore.evaluation.databases.report_page import sql_comparison_page
from lore.evaluation.databases.results import SqlComparison, WayQuestion, way_figures

GOLD = QueryResult(("name", "n"), (("a", 1), ("b", 2.0), ("b", 2)))


@pytest.mark.parametrize(
    ("rows", "same"),
    [
        ((("b", 2), ("a", 1), ("b", 2)), True),
        ((("b", 2.0000000001), ("a", 1.0), ("b", 2)), True),
        (((1, "a"), (2, "b"), (2, "b")), True),
        ((("a", 1), ("b", 2)), False),
        ((("a", 1), ("a", 1), ("b", 2)), False),
        ((("a", 1, 0), ("b", 2, 0), ("b", 2, 0)), False),
        ((("a", 1), ("b", 2), ("b", 3)), False),
        ((("a", 1), ("b", 2), ("b", None)), False),
    ],
)
def test_results_are_equal_whatever_their_order_and_names(rows: tuple[tuple[object, ...], ...], same: bool) -> None:
    columns = tuple(f"c{place}" for place in range(len(rows[0])))
    assert same_result(GOLD, QueryResult(columns, rows), ordered=False) is same


def test_the_order_counts_only_where_it_is_asked_for() -> None:
    turned = QueryResult(("x", "y"), GOLD.rows[::-1])
    assert same_result(GOLD, turned, ordered=False)
    assert not same_result(GOLD, turned, ordered=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("database: shop\nquestions: []\n", "line 2: `questions` should have at least 1 entry"),
        ("database: shop\nquestions:\n  - question: a\n", "line 3: the key `questions.0.sql` is missing"),
        ("database: shop\nquestions:\n  - question: a\n    sqll: b\n", "Did you mean `sql`?"),
    ],
)
def test_a_mistake_in_a_question_file_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "questions.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DeclarationError) as error:
        load_gold_questions(path)
    assert expected in str(error.value)


def test_a_missing_question_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="There is no file"):
        load_gold_questions(tmp_path / "nothing.yaml")


def result(way: str, number: int, found: tuple[str, ...], **more: object) -> WayQuestion:
    return WayQuestion(f"<b>question {number}</b>", way, ("a", "b"), found, 100, 1_000, 0.002, **more)  # type: ignore[arg-type]


def comparison(*results: WayQuestion) -> SqlComparison:
    ways = dict.fromkeys(one.way for one in results)
    figures = tuple(way_figures(way, [one for one in results if one.way == way]) for way in ways)
    earlier = ({"made_at": "2026-11-30T10:00", "ways": [{"way": "linked", "recall": {"value": 0.5}, "tokens": 80}]},)
    return SqlComparison(
        "shop", "q.yaml", 9, 1_000, 2, 5, "", "fake", "2026-12-01T10:00", figures, results, ("A note.",), earlier
    )


def test_figures_are_shares_with_intervals() -> None:
    found = [result("linked", 1, ("x", "y", "z", "v", "a", "b"), right=True, cost=0.5), result("linked", 2, ("a",))]
    figures = way_figures("linked", found)
    assert (figures.recall.value, figures.recall_at_5.value, figures.reduction) == (0.5, 0.0, 0.9)
    assert figures.recall.lower is not None and 0 < figures.recall.lower < 0.5
    assert figures.accuracy is not None and (figures.accuracy.value, figures.accuracy.count) == (1.0, 1)
    assert (figures.cost, round(figures.milliseconds, 6)) == (0.5, 2.0)


def test_the_advice_names_the_best_way_and_what_it_can_not_tell() -> None:
    good = [result("linked", number, ("a", "b")) for number in range(40)]
    bad = [result("keyword", number, ("a",)) for number in range(40)]
    near = [result("faiss", number, ("a", "b") if number else ("a",)) for number in range(40)]
    advice = " ".join(comparison(*bad, *near, *good).advice())
    assert advice.startswith("Take linked: it finds all needed tables for 100.0%")
    assert "too few to tell it from faiss" in advice and "keyword" not in advice


def test_the_page_has_everything_and_no_markup_of_others() -> None:
    wrong = result("linked", 2, ("a",), sql="SELECT 1", right=False, failure="It <i>failed</i>.")
    page = sql_comparison_page(comparison(result("linked", 1, ("a", "b"), right=True), wrong))
    for text in ("Take linked", "A note.", "Earlier runs", "0.500", "tables missed by linked; other rows by linked"):
        assert text in page
    assert "<b>" not in page and "<i>" not in page and "&lt;i&gt;failed" in page
    assert page.count("<svg viewBox") >= 2
