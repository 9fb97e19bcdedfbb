"""Summaries without a model: how each section begins, verbatim, in order and bounded."""

from __future__ import annotations

import time

import pytest
from lore.ingest.strategies.extractive import SUMMARY_CHARACTERS, ExtractiveSummarizer

from tests.query.fakes import make_chunk

FILLER = [f"The weather of day {number} was mild, and nobody wrote anything else about it." for number in range(40)]


def summarize(text: str) -> str:
    (summary,) = ExtractiveSummarizer().summarize([make_chunk("a", text)])
    return summary


def test_a_short_passage_stands_for_itself() -> None:
    assert summarize("This page explains the token bucket.") == ""
    assert ExtractiveSummarizer().summarize([]) == []


def test_a_passage_without_sections_is_summarized_by_its_beginning() -> None:
    text = "\n".join(FILLER)
    summary = summarize(text)
    assert SUMMARY_CHARACTERS - 100 < len(summary) <= SUMMARY_CHARACTERS
    assert text.replace("\n", " ").startswith(summary) and summary.endswith(".")


def test_each_section_says_how_it_begins() -> None:
    names = ["Install", "Configure", "Run", "Remove"]
    text = "\n\n".join(f"## {name}\n\n{name} it first. " + " ".join(FILLER[:10]) for name in names)
    summary = summarize(text)
    places = [summary.index(f"{name} {name} it first.") for name in names]
    assert places == sorted(places) and len(summary) <= SUMMARY_CHARACTERS
    assert "#" not in summary


def test_what_a_short_section_leaves_is_for_the_others() -> None:
    text = "## One\n\nShort.\n\n## Two\n\n" + "\n".join(FILLER)
    assert len(summarize(text)) > SUMMARY_CHARACTERS - 100


def test_code_counts_as_text() -> None:
    text = "## Use\n\n```python\nray.init(address='auto')\n```\n\n## Rest\n\n" + "\n".join(FILLER)
    assert "ray.init(address='auto')" in summarize(text) and "```" not in summarize(text)


def test_a_sentence_without_end_is_cut() -> None:
    summary = summarize("word " * 2_000)
    assert 0 < len(summary) <= 300


@pytest.mark.parametrize(
    "text",
    [
        "x" * 100_000,
        "```\n" * 30_000,
        "# \n" * 30_000,
        "\n# h" * 30_000,
        "| " * 50_000,
        "é\ud800\0 " * 20_000,
        "管理。" * 999,
    ],
    ids=["a word", "fences", "empty headings", "headings", "bars", "odd characters", "no spaces"],
)
def test_hostile_text_is_summarized_soon(text: str) -> None:
    started = time.monotonic()
    assert len(summarize(text)) <= SUMMARY_CHARACTERS
    assert time.monotonic() - started < 20
