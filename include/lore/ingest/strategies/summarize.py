"""Summaries of passages by a language model, each made once: `summary_cache` keeps them by what they were made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol

from lore.errors import ModelError
from lore.ingest.strategies.summary_cache import SummaryCache, summary_key
from lore.prompts import read_prompt
from lore.protocols import ChatModel, OnUsage
from lore.types import Chunk, Message, Usage

__all__ = ["ModelSummarizer", "Summarizer"]

SHORTEST = 600
"""A passage of at most so many characters is its own summary."""
LONGEST = 1_000
"""Characters of a summary: more is not read by a small embedder, and saves nothing."""
READ_CHARACTERS = 4_000
"""Where a model that does not stop is stopped."""
REMINDER = "Summarize the passage in your own words: one paragraph of plain text, 120 words at most, no Markdown."
"""Small models follow what stands last, and copy the passage where nothing stands behind it."""
AT_ONCE = 4
STAGE = "summary"

_DELIMITER = re.compile(r"<(?=\s*/?\s*passage\b)", re.IGNORECASE)
_INTRODUCTION = re.compile(r"^(?:\**(?:here is (?:a |the )?)?summary(?: of the passage)?\**\s*:\**\s*)+", re.IGNORECASE)
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


class Summarizer(Protocol):
    """What makes the summaries that are embedded instead of passages."""

    @property
    def name(self) -> str:
        """Identifies who writes: it is part of the mark of each document whose passages were made so."""
        ...

    def summarize(self, chunks: Sequence[Chunk]) -> list[str]:
        """One summary for each passage, "" for one that is short enough to stand for itself. Raises ModelError."""
        ...


class ModelSummarizer:
    """Asks `chat_model` for one summary a passage, some passages at once, and keeps each in `cache`.

    `on_usage` is told of each call, with the stage "summary"; a summary that was kept is no call. Raises ModelError
    when one of the passages gets none: those that have not begun by then are not asked for, and what was made is kept.
    """

    def __init__(self, chat_model: ChatModel, cache: SummaryCache, *, on_usage: OnUsage | None = None) -> None:
        self.name = chat_model.name
        self._chat_model = chat_model
        self._cache = cache
        self._on_usage = on_usage
        self._prompt = read_prompt("lore.ingest.strategies.prompts", "summary")

    def summarize(self, chunks: Sequence[Chunk]) -> list[str]:
        """See `Summarizer.summarize`."""
        if len(chunks) == 1:
            return [self._summary(chunks[0])]
        with ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="lore-summary") as pool:
            return list(pool.map(self._summary, chunks))

    def _summary(self, chunk: Chunk) -> str:
        if len(chunk.text) <= SHORTEST:
            return ""
        request = _request(chunk)
        key = summary_key(self.name, self._prompt, request)
        known = self._cache.get(key)
        if known is None:
            known = self._ask(request)
            self._cache.put(key, known, self.name)
        return known

    def _ask(self, request: str) -> str:
        messages = [Message("system", self._prompt), Message("user", request)]
        said = ""
        for piece in self._chat_model.stream(messages, on_usage=self._tell):
            said += piece
            if len(said) > READ_CHARACTERS:
                break
        if summary := _tidy(said):
            return summary
        raise ModelError(f"{self.name} gave an empty summary.", retryable=True)

    def _tell(self, usage: Usage) -> None:
        if self._on_usage is not None:
            self._on_usage(replace(usage, stage=STAGE))


def _request(chunk: Chunk) -> str:
    """The passage as data: nothing in it looks like the signs that it is delimited with."""
    place = re.sub(r"[\s<>\"]+", " ", " > ".join((chunk.title, *chunk.headings))).strip()[:200]
    return f'<passage title="{place}">\n{_DELIMITER.sub("‹", chunk.text.strip())}\n</passage>\n\n{REMINDER}'


def _tidy(said: str) -> str:
    """The summary in one paragraph of bounded length, cut after a sentence where there is one."""
    text = _INTRODUCTION.sub("", " ".join(_INVISIBLE.sub("", said).split()))
    if len(text) <= LONGEST:
        return text
    cut = text[:LONGEST]
    end = max(cut.rfind(mark) for mark in (". ", "! ", "? ", "。"))
    return cut[: end + 1] if end > LONGEST // 2 else cut.rpartition(" ")[0] or cut
