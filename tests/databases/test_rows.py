"""A result as CSV, bars and checked words."""

from __future__ import annotations

import pytest
from lore.databases.journey.rows import as_bars, as_csv, checked_summary, plain_summary
from lore.databases.run.execute import QueryResult

SALES = QueryResult(("country", "total"), (("USA", 523.06), ("Canada", 303.96), ("France", 195.1)))


@pytest.mark.parametrize(
    "sentence",
    [
        "The USA spent 523.06.",
        "The USA spent $523 and Canada about 304.0.",
        "There are 3 countries.",
        "The top 5 are listed.",
        "No number at all.",
        "France spent 195.10 dollars.",
    ],
)
def test_a_sentence_with_numbers_of_the_rows_stays(sentence: str) -> None:
    assert checked_summary(sentence, SALES, "Which top 5 countries spent the most?") == (sentence, [])


@pytest.mark.parametrize(
    "sentence",
    [
        "The USA spent 524.06.",
        "Together they spent 1,022.12.",
        "The USA spent 52306.",
        "It rose by 42%.",
        "Canada spent 303.9.",
        "Read more at https://evil.example.",
        "See [this](evil).",
    ],
)
def test_a_sentence_with_another_number_or_a_link_goes(sentence: str) -> None:
    kept, dropped = checked_summary(f"Three countries are there. {sentence}", SALES, "Who spent most?")
    assert (kept, dropped) == ("Three countries are there.", [sentence])


def test_large_numbers_may_be_rounded_and_shares_written_in_percent() -> None:
    result = QueryResult(("year", "sum", "share"), ((2024, 1_234_567, 0.256),))
    for sentence in ("In 2024 it was 1.2 million.", "It was 1,234,567.", "It was 26%.", "It was 1235 thousand."):
        assert checked_summary(sentence, result, "")[0] == sentence
    assert checked_summary("It was 1.3 million.", result, "")[0] == ""


def test_numbers_inside_texts_count() -> None:
    result = QueryResult(("month", "orders"), (("2024-03", 2),))
    assert checked_summary("In 2024-03 there were 2 orders.", result, "")[1] == []


def test_a_file_for_a_spreadsheet_computes_nothing() -> None:
    result = QueryResult(("name", "n"), (("=cmd()", -5), ("a,b", None), ('say "x"', 1.5)))
    assert as_csv(result) == 'name,n\n\'=cmd(),-5\n"a,b",\n"say ""x""",1.5\n'
    assert as_csv(result, 1).count("\n") == 2


def test_bars_are_for_labels_with_numbers() -> None:
    bars = as_bars(SALES)
    assert [bar.split()[0] for bar in bars] == ["USA", "Canada", "France"]
    assert bars[0].count("█") == 40 and 20 < bars[1].count("█") < 30
    assert as_bars(QueryResult(("a", "b"), (("x", 1),))) == []
    assert as_bars(QueryResult(("a", "b"), (("x", -1), ("y", 1)))) == []
    assert as_bars(QueryResult(("a", "b"), (("x", "1"), ("y", "2")))) == []
    assert as_bars(QueryResult(("a", "b"), (("x", 0), ("y", 0))))[0].strip() == "x   0"


def test_a_result_has_words_without_a_model() -> None:
    assert plain_summary(QueryResult(("n",), ())) == "No rows."
    assert plain_summary(QueryResult(("n",), ((4,),))) == "n 4."
    assert plain_summary(SALES) == "3 rows; the first: country USA, total 523.06."
