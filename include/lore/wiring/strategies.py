"""The strategies of making passages, and the summarizers that some of them need."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from lore.errors import ConfigurationError
from lore.wiring.models import make_other_chat_model

if TYPE_CHECKING:
    from lore.ingest.strategies.strategy import Splitters, SummarySplitter
    from lore.ingest.strategies.summarize import Summarizer
    from lore.protocols import OnUsage, Splitter
    from lore.settings import Settings
    from lore.types import Strategy

__all__ = ["EXTRACTIVE", "make_splitters", "make_strategy", "make_summarizer"]

EXTRACTIVE = "extractive"
"""Name of the summarizer without a language model."""


def make_summarizer(settings: Settings, name: str = "", *, on_usage: OnUsage | None = None) -> Summarizer:
    """Return the summarizer `name`, else the settings' summary model, else their chat model; nothing is called yet.

    Raises ConfigurationError if none of them is set.
    """
    name = name or settings.models.summary_model or settings.models.chat_model
    if name == EXTRACTIVE:
        from lore.ingest.strategies.extractive import ExtractiveSummarizer

        return ExtractiveSummarizer()
    chat_model = make_other_chat_model(settings, name)
    if chat_model is None:
        raise ConfigurationError(
            "No language model is set to write summaries.",
            remedy="Set LORE_SUMMARY_MODEL or LORE_CHAT_MODEL, or LORE_SUMMARY_MODEL=extractive, which needs no model.",
        )
    from lore.ingest.strategies.summarize import ModelSummarizer
    from lore.ingest.strategies.summary_cache import SummaryCache

    return ModelSummarizer(chat_model, SummaryCache(settings.project.cache_dir), on_usage=on_usage)


def make_strategy(settings: Settings, strategy: Strategy, *, on_usage: OnUsage | None = None) -> SummarySplitter | None:
    """Return the splitter of a strategy; None for "basic", the version's own splitter.

    `on_usage` receives the usage of each call for a summary. Raises ConfigurationError if a required model isn't set.
    """
    if strategy == "basic":
        return None
    from lore.ingest.strategies.strategy import SummarySplitter

    return SummarySplitter(strategy, make_summarizer(settings, on_usage=on_usage))


def make_splitters(settings: Settings, splitter: Splitter) -> Splitters:
    """Return a function from the strategy in a fingerprint to its splitter; "" gives `splitter`.

    It raises ConfigurationError for a strategy that this version of Lore, or these settings, don't provide.
    """
    from lore.ingest.strategies.strategy import SummarySplitter, parse_strategy

    @cache
    def choose(name: str) -> Splitter:
        if not name:
            return splitter
        named = parse_strategy(name)
        summarizer = make_summarizer(settings, named.summarizer)
        return SummarySplitter(named.strategy, summarizer, max_characters=named.max_characters)

    return choose
