"""Tables of separated values, with quotes and line breaks in them."""

from __future__ import annotations

import pytest
from lore.convert import convert, format_of
from lore.errors import ConversionError

from tests.fakes import make_document


def csv(text: str) -> str:
    return convert(make_document(text=text, format="csv", title="", id="fake:docs/limits.csv")).text


TABLE = "| Plan | Jobs per day |\n| --- | --- |\n| Free | 100 |\n| Big, dedicated | 250000 |\n"


@pytest.mark.parametrize(
    "text",
    [
        'Plan,Jobs per day\nFree,100\n"Big, dedicated",250000\n',
        'Plan;Jobs per day\r\nFree;100\r\n"Big, dedicated";250000\r\n',
        "Plan\tJobs per day\nFree\t100\nBig, dedicated\t250000",
        "Plan|Jobs per day\nFree|100\nBig, dedicated|250000\n\n",
        '"Plan", "Jobs per day"\n"Free", 100\n"Big, dedicated", 250000\n',
        '\ufeffPlan,Jobs per day\n,\nFree,100\n"Big,\ndedicated",250000\n',
    ],
    ids=["comma", "semicolon", "tab", "bar", "quotes", "breaks"],
)
def test_values_become_a_table(text: str) -> None:
    assert csv(text) == TABLE


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("", ""),
        ("one line", "| one line |\n| --- |\n"),
        ("a,b\n1\n", "| a | b |\n| --- | --- |\n| 1 |  |\n"),
        ("name,note\nx,a|b\n", "| name | note |\n| --- | --- |\n| x | a\\|b |\n"),
        ('a,"b\n', "| a | b |\n| --- | --- |\n"),
    ],
)
def test_odd_files(text: str, table: str) -> None:
    assert csv(text) == table


def test_data_is_refused() -> None:
    with pytest.raises(ConversionError, match="200,000 cells"):
        csv("1,2,3,4\n" * 50_001)


def test_names() -> None:
    assert [format_of(name) for name in ("a.csv", "a.TSV", "a.tab")] == ["csv", "csv", "csv"]
