"""Summaries without a model: verbatim sentences of the passage, bounded, the first one among them."""

from __future__ import annotations

import time

import pytest

from include.lore.ingest.extractive import SUMMARY_CHARACTERS, ExtractiveSummarizer
from tests.query.fakes import make_chunk

FILLER = [f"The weather of day {number} was mild, and nobody wrote anything else about it." for number in range(20)]
LEAD = "This page explains the token bucket of the gateway."
CORE = [
    "The gateway refills the token bucket each second.",
    "A token bucket of the gateway holds six hundred tokens.",
    "When the token bucket is empty, the gateway answers 429.",
]


def summarize(text: str) -> str:
    (summary,) = ExtractiveSummarizer().summarize([make_chunk("a", text)])
    return summary


def test_a_short_passage_stands_for_itself() -> None:
    assert summarize(LEAD) == ""
    assert ExtractiveSummarizer().summarize([]) == []


def test_a_summary_is_made_of_sentences_of_the_passage_in_their_order() -> None:
    text = "\n".join([LEAD, *FILLER[:10], *CORE, *FILLER[10:]])
    summary = summarize(text)
    assert 0 < len(summary) <= SUMMARY_CHARACTERS
    assert summary.startswith(LEAD)
    sentences = [sentence for sentence in (LEAD, *FILLER, *CORE) if sentence in summary]
    assert " ".join(sorted(sentences, key=text.index)) == summary


def test_what_the_passage_is_about_goes_before_what_it_mentions_once() -> None:
    odd = [f"Zebra{number} quagga{number} okapi{number} tapir{number} gnu{number}." for number in range(30)]
    summary = summarize("\n".join([LEAD, *odd[:15], *CORE, *odd[15:]]))
    assert any(sentence in summary for sentence in CORE)


def test_the_same_sentence_is_taken_once_and_code_never() -> None:
    code = "```python\n" + "token_bucket = gateway.token_bucket\n" * 40 + "```\n"
    summary = summarize(f"{LEAD}\n\n{code}\n" + "\n".join([CORE[0]] * 20 + FILLER))
    assert summary.count(CORE[0]) == 1
    assert "```" not in summary and "gateway.token_bucket" not in summary


def test_headings_count_without_their_signs() -> None:
    summary = summarize("## Token bucket\n\n" + "\n".join(CORE + FILLER))
    assert summary.startswith("Token bucket ") and "#" not in summary


@pytest.mark.parametrize(
    "text",
    ["x" * 100_000, "```\n" * 30_000, "# \n" * 30_000, "| " * 50_000, "é\ud800\0 " * 20_000, "系统管理员。" * 500],
    ids=["a word", "fences", "empty headings", "bars", "odd characters", "no spaces"],
)
def test_hostile_text_is_summarized_soon(text: str) -> None:
    started = time.monotonic()
    assert len(summarize(text)) <= SUMMARY_CHARACTERS
    assert time.monotonic() - started < 20
