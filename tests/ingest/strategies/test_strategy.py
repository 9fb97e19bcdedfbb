"""Marks that say how passages were made, and the passages that are found by their summaries."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from lore.errors import ConfigurationError
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.strategies.strategy import (
    SummarySplitter,
    basic_splitter_only,
    parse_strategy,
    strategy_of,
    with_strategy,
)
from lore.types import Chunk

from tests.fakes import make_document
from tests.query.fakes import make_chunk

NAME = "summary_parent-1:4000:openai:gpt-4.1-mini"


class Namer:
    """Summaries that name the passage's place."""

    name = "fake:namer"

    def summarize(self, chunks: Sequence[Chunk]) -> list[str]:
        return [f"Part {chunk.position} of {chunk.title}" if chunk.position else "" for chunk in chunks]


def test_a_mark_is_the_fingerprint_with_the_strategy() -> None:
    assert with_strategy("3f1c", "") == "3f1c"
    assert with_strategy("3f1c", NAME) == f"3f1c+{NAME}"
    assert strategy_of(f"3f1c+{NAME}") == NAME and strategy_of("3f1c") == strategy_of("") == ""
    assert with_strategy(f"3f1c+{NAME}", "summary-1:4000:x") == "3f1c+summary-1:4000:x"
    assert with_strategy(f"3f1c+{NAME}", "") == "3f1c"


def test_a_name_says_how_the_same_passages_are_made() -> None:
    named = parse_strategy(NAME)
    assert (named.strategy, named.max_characters, named.summarizer) == ("summary_parent", 4000, "openai:gpt-4.1-mini")
    splitter = SummarySplitter("summary", Namer(), max_characters=900)
    again = parse_strategy(splitter.name)
    assert (again.strategy, again.max_characters, again.summarizer) == ("summary", 900, "fake:namer")


@pytest.mark.parametrize(
    "name", ["summary-0:4000:x", "basic", "summary-1:many:x", "summary-1:4000:", "summary-1", "x+y"]
)
def test_passages_of_another_making_are_not_taken_for_ours(name: str) -> None:
    with pytest.raises(ConfigurationError, match="lore sync"):
        parse_strategy(name)


def test_without_strategies_there_is_the_splitter_of_the_version() -> None:
    splitter = MarkdownSplitter(300)
    assert basic_splitter_only(splitter)("") is splitter
    with pytest.raises(ConfigurationError):
        basic_splitter_only(splitter)(NAME)


@pytest.mark.parametrize("strategy", ["summary", "summary_parent"])
def test_passages_are_large_and_verbatim_and_are_found_by_their_summaries(strategy: str) -> None:
    document = make_document(
        text="".join(f"## Part {part}\n\n" + "Words and lamps. " * 30 + "\n\n" for part in range(4))
    )
    chunks = SummarySplitter(strategy, Namer(), max_characters=700).split(document)  # type: ignore[arg-type]
    assert [chunk.text for chunk in chunks] == [chunk.text for chunk in MarkdownSplitter(700).split(document)]
    assert len(chunks) == 4 and {chunk.strategy for chunk in chunks} == {strategy}
    assert all(chunk.text == document.text[chunk.start : chunk.end] for chunk in chunks)
    assert chunks[0].embedded_text == chunks[0].passage  # it has no summary
    assert chunks[1].embedded_text == "Part 1 of Page a"
    assert chunks[1].given_text == ("Part 1 of Page a" if strategy == "summary" else chunks[1].text)
    assert chunks[0].given_text == chunks[0].text
    assert SummarySplitter(strategy, Namer()).split(make_document(text="")) == []  # type: ignore[arg-type]


def test_an_equal_summary_has_an_equal_vector() -> None:
    one, two = (make_chunk(name, f"text of {name}", summary="the same", strategy="summary") for name in "ab")
    assert one.content_hash == two.content_hash
    assert one.content_hash != make_chunk("a", "text of a", strategy="summary").content_hash


def test_a_plain_passage_is_given_as_it_is_even_with_a_summary() -> None:
    assert make_chunk("a", "text", summary="short").given_text == "text"
