"""Strategies of making passages, and their names in the fingerprints of documents.

The strategy `basic` is the version's own: its recipe names splitter and embedder, and the fingerprint is a bare hash.
Another strategy is named at the fingerprint's end:

    3f1c…e0                                                        basic
    3f1c…e0+summary_parent-1:4000:openai:gpt-4.1-mini              large passages, found by summaries of that model

Fingerprints are compared as a whole, so every version of the index follows them. If a source declares another strategy,
the passages of its documents are made again from the kept documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from lore.errors import ConfigurationError
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.strategies.summarize import Summarizer
from lore.protocols import Splitter
from lore.types import Chunk, Document

__all__ = [
    "SUMMARY_PASSAGE_CHARACTERS",
    "Splitters",
    "SummarySplitter",
    "SummaryStrategy",
    "basic_splitter_only",
    "parse_strategy",
    "strategy_of",
    "with_strategy",
]

SummaryStrategy: TypeAlias = Literal["summary", "summary_parent"]
SUMMARY_STRATEGIES: tuple[SummaryStrategy, ...] = ("summary", "summary_parent")

Splitters: TypeAlias = Callable[[str], Splitter]
"""Name of a strategy in a fingerprint → its splitter; "" is the version's own."""

NUMBER = 1
"""Raise it whenever these strategies split or summarize differently: the next sync then makes their passages again."""
SUMMARY_PASSAGE_CHARACTERS = 4_000
"""Largest passage that is found by its summary."""


class SummarySplitter:
    """Splits a document into large passages, each with a summary, by which it is found."""

    def __init__(
        self, strategy: SummaryStrategy, summarizer: Summarizer, *, max_characters: int = SUMMARY_PASSAGE_CHARACTERS
    ) -> None:
        self.name = f"{strategy}-{NUMBER}:{max_characters}:{summarizer.name}"
        self._strategy: SummaryStrategy = strategy
        self._summarizer = summarizer
        self._splitter = MarkdownSplitter(max_characters)

    def split(self, document: Document) -> list[Chunk]:
        """Return the passages of `MarkdownSplitter` in order, with their summaries. Raises ModelError."""
        chunks = self._splitter.split(document)
        summaries = self._summarizer.summarize(chunks) if chunks else []
        return [
            replace(chunk, summary=summary, strategy=self._strategy)
            for chunk, summary in zip(chunks, summaries, strict=True)
        ]


def with_strategy(fingerprint: str, strategy: str) -> str:
    """Return the fingerprint of the same document with passages made by this strategy."""
    base = fingerprint.partition("+")[0]
    return f"{base}+{strategy}" if strategy else base


def strategy_of(fingerprint: str) -> str:
    """Return the name of the strategy that made the passages of a document, "" for the version's own splitter."""
    return fingerprint.partition("+")[2]


@dataclass(frozen=True, slots=True)
class ParsedStrategy:
    """The parts of a strategy's name in a fingerprint."""

    strategy: SummaryStrategy
    max_characters: int
    summarizer: str


def parse_strategy(name: str) -> ParsedStrategy:
    """Return the parts of a strategy's name. Raises ConfigurationError for a name of another version of Lore."""
    kind, _, rest = name.partition(":")
    characters, _, summarizer = rest.partition(":")
    for strategy in SUMMARY_STRATEGIES:
        if kind == f"{strategy}-{NUMBER}" and characters.isdecimal() and summarizer:
            return ParsedStrategy(strategy, int(characters), summarizer)
    raise ConfigurationError(
        f"Passages were made by {name[:200]!r}, which this version of Lore doesn't support.",
        remedy="Run `lore sync` for their source to make them again.",
    )


def basic_splitter_only(splitter: Splitter) -> Splitters:
    """Return splitters for an index without other strategies: a name raises ConfigurationError."""

    def choose(name: str) -> Splitter:
        if name:
            raise ConfigurationError(f"The strategy {name[:200]!r} is unavailable here.")
        return splitter

    return choose
