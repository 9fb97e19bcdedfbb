"""By which strategy the passages of a document are made, and how a document's mark says so.

The strategy `basic` is the version's own: its recipe names splitter and embedder, and a document's mark is its
fingerprint. The mark of a document whose source declares another strategy ends with the name of what made its passages:

    3f1c…e0                                                        basic
    3f1c…e0+summary_parent-1:4000:openai:gpt-4.1-mini              large passages, found by summaries of that model

Marks are compared as they are, so a document is as its mark says in every version of the index; and the passages of
one whose source declares another strategy now are made anew from the kept document.
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
    "LARGE_PASSAGE",
    "Splitters",
    "SummarySplitter",
    "SummaryStrategy",
    "mark_of",
    "only_basic",
    "parse_strategy",
    "strategy_of",
]

SummaryStrategy: TypeAlias = Literal["summary", "summary_parent"]
SUMMARY_STRATEGIES: tuple[SummaryStrategy, ...] = ("summary", "summary_parent")

Splitters: TypeAlias = Callable[[str], Splitter]
"""The strategy's name in a mark → what makes such passages; "" is the splitter of the version."""

NUMBER = 1
"""Raised whenever these strategies cut or summarize differently: the next sync then makes their passages anew."""
LARGE_PASSAGE = 4_000
"""Characters of a passage that is found by its summary."""


class SummarySplitter:
    """Cuts a document into large passages, and gives each a summary, by which it is found."""

    def __init__(
        self, strategy: SummaryStrategy, summarizer: Summarizer, *, max_characters: int = LARGE_PASSAGE
    ) -> None:
        self.name = f"{strategy}-{NUMBER}:{max_characters}:{summarizer.name}"
        self._strategy: SummaryStrategy = strategy
        self._summarizer = summarizer
        self._splitter = MarkdownSplitter(max_characters)

    def split(self, document: Document) -> list[Chunk]:
        """The passages in order, as `MarkdownSplitter` cuts them, with their summaries. Raises ModelError."""
        chunks = self._splitter.split(document)
        summaries = self._summarizer.summarize(chunks) if chunks else []
        return [
            replace(chunk, summary=summary, strategy=self._strategy)
            for chunk, summary in zip(chunks, summaries, strict=True)
        ]


def mark_of(fingerprint: str, strategy: str) -> str:
    """The mark of a document in this state (a fingerprint, or a mark that is made over) with passages made so."""
    base = fingerprint.partition("+")[0]
    return f"{base}+{strategy}" if strategy else base


def strategy_of(mark: str) -> str:
    """The name of what made the passages of a document with this mark; "" for the splitter of the version."""
    return mark.partition("+")[2]


@dataclass(frozen=True, slots=True)
class NamedStrategy:
    """What a strategy's name in a mark says."""

    strategy: SummaryStrategy
    max_characters: int
    summarizer: str


def parse_strategy(name: str) -> NamedStrategy:
    """What makes the same passages again. Raises ConfigurationError for a name that this Lore does not give."""
    kind, _, rest = name.partition(":")
    characters, _, summarizer = rest.partition(":")
    for strategy in SUMMARY_STRATEGIES:
        if kind == f"{strategy}-{NUMBER}" and characters.isdecimal() and summarizer:
            return NamedStrategy(strategy, int(characters), summarizer)
    raise ConfigurationError(
        f"Passages were made by {name[:200]!r}, which this Lore does not make.",
        remedy="Run `lore sync` of their source: it makes them anew.",
    )


def only_basic(splitter: Splitter) -> Splitters:
    """For an index in which no source declares a strategy; another name raises ConfigurationError."""

    def choose(name: str) -> Splitter:
        if name:
            raise ConfigurationError(f"Nothing makes passages by {name[:200]!r} here.")
        return splitter

    return choose
