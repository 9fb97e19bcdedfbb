"""Summaries of passages by a language model, each made once: `summary_cache` keeps them by their input."""

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

MIN_PASSAGE_CHARACTERS = 600
"""A passage up to this length is its own summary."""
MAX_SUMMARY_CHARACTERS = 1_000
"""A small embedder doesn't read more."""
MAX_REPLY_CHARACTERS = 4_000
"""Length at which the reply of a model is cut off."""
REMINDER = "Summarize the passage in your own words: one paragraph of plain text, 120 words at most, no Markdown."
"""Small models follow the last instruction; without one behind the passage, they copy the passage."""
CONCURRENT_CALLS = 4
STAGE = "summary"

_DELIMITER = re.compile(r"<(?=\s*/?\s*passage\b)", re.IGNORECASE)
_INTRODUCTION = re.compile(r"^(?:\**(?:here is (?:a |the )?)?summary(?: of the passage)?\**\s*:\**\s*)+", re.IGNORECASE)
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


class Summarizer(Protocol):
    """Writes the summaries that are embedded instead of passages."""

    @property
    def name(self) -> str:
        """Name of the author: a part of the fingerprint of each document with such summaries."""
        ...

    def summarize(self, chunks: Sequence[Chunk]) -> list[str]:
        """Return a summary for each passage, "" for a short one that needs none. Raises ModelError."""
        ...


class ModelSummarizer:
    """Asks `chat_model` for a summary of each passage, several at once, and keeps each in `cache`.

    `on_usage` receives the usage of each call, with the stage "summary"; a cached summary takes no call. Raises
    ModelError if a summary fails: those not begun by then are left out, and those made are kept.
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
        with ThreadPoolExecutor(max_workers=CONCURRENT_CALLS, thread_name_prefix="lore-summary") as pool:
            return list(pool.map(self._summary, chunks))

    def _summary(self, chunk: Chunk) -> str:
        if len(chunk.text) <= MIN_PASSAGE_CHARACTERS:
            return ""
        request = _request(chunk)
        key = summary_key(self.name, self._prompt, request)
        summary = self._cache.get(key)
        if summary is None:
            summary = self._ask(request)
            self._cache.put(key, summary, self.name)
        return summary

    def _ask(self, request: str) -> str:
        messages = [Message("system", self._prompt), Message("user", request)]
        reply = ""
        for piece in self._chat_model.stream(messages, on_usage=self._report):
            reply += piece
            if len(reply) > MAX_REPLY_CHARACTERS:
                break
        if summary := _clean(reply):
            return summary
        raise ModelError(f"{self.name} returned an empty summary.", retryable=True)

    def _report(self, usage: Usage) -> None:
        if self._on_usage is not None:
            self._on_usage(replace(usage, stage=STAGE))


def _request(chunk: Chunk) -> str:
    """Return the passage as data: its text can't end the delimiters around it."""
    place = re.sub(r"[\s<>\"]+", " ", " > ".join((chunk.title, *chunk.headings))).strip()[:200]
    return f'<passage title="{place}">\n{_DELIMITER.sub("‹", chunk.text.strip())}\n</passage>\n\n{REMINDER}'


def _clean(reply: str) -> str:
    """Return the summary in one paragraph of bounded length, cut after a sentence if possible."""
    text = _INTRODUCTION.sub("", " ".join(_INVISIBLE.sub("", reply).split()))
    if len(text) <= MAX_SUMMARY_CHARACTERS:
        return text
    cut = text[:MAX_SUMMARY_CHARACTERS]
    end = max(cut.rfind(mark) for mark in (". ", "! ", "? ", "。"))
    return cut[: end + 1] if end > MAX_SUMMARY_CHARACTERS // 2 else cut.rpartition(" ")[0] or cut
