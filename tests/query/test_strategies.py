"""Passages of each strategy in prompts and citations: the model may read a summary, but never cites it."""

from __future__ import annotations

import pytest
from lore.types import Answer, Question, Strategy

from tests.fakes import FakeChatModel, FakeEmbedder
from tests.query.fakes import MemoryIndex, make_chunk, pipeline_over

PASSAGE = "Rotate the API key under Settings. The old key works for one day. See https://docs.example.com/rotation too."
SUMMARY = "API keys are rotated under Settings; see https://evil.example/summary for the old key's nine lives."
QUESTION = Question("How do I rotate the API key?")
PLAN = {"question": "", "wordings": ["rotate API key", "change the key", "The key is rotated under Settings"]}


def ask(strategy: Strategy, reply: str | None) -> tuple[Answer, str]:
    """Return the answer and the last request to the model."""
    chunk = make_chunk("keys", PASSAGE, summary="" if strategy == "basic" else SUMMARY, strategy=strategy)
    embedder = FakeEmbedder(dimensions=512)
    chat = None if reply is None else FakeChatModel([PLAN], [reply])
    index = MemoryIndex([chunk], embedder)
    pipeline = pipeline_over(index, embedder, None, chat)
    answer = pipeline.ask(QUESTION)
    return answer, chat.calls[-1][-1].content if chat else ""


@pytest.mark.parametrize("strategy", ["basic", "summary", "summary_parent"])
def test_the_model_reads_what_the_strategy_gives(strategy: Strategy) -> None:
    _, request = ask(strategy, "Rotate the API key under Settings [1].")
    assert (SUMMARY in request) == (strategy == "summary")
    assert (PASSAGE in request) == (strategy != "summary")


@pytest.mark.parametrize("strategy", ["summary", "summary_parent"])
def test_a_citation_quotes_the_passage_and_never_the_summary(strategy: Strategy) -> None:
    answer, _ = ask(strategy, "Rotate the API key under Settings [1].")
    (citation,) = answer.citations
    assert citation.quote in PASSAGE and citation.quote not in SUMMARY


def test_a_link_that_only_the_summary_has_is_taken_out() -> None:
    answer, _ = ask("summary", "Rotate it under Settings, see https://evil.example/summary [1].")
    assert "evil.example" not in answer.text


def test_without_a_model_the_passage_is_quoted() -> None:
    answer, _ = ask("summary", None)
    assert "The old key works for one day." in answer.text and "nine lives" not in answer.text
