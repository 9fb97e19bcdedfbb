"""Answers written by a language model from numbered sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import chain

from lore.errors import ContextTooLongError, ModelError
from lore.protocols import ChatModel, OnUsage
from lore.query.answer.prompt_sources import format_sources
from lore.query.answer.tokens import context_window, estimate_tokens
from lore.query.deadlines import TimeLimit
from lore.query.delimiters import escape_delimiters
from lore.query.prompts import load_prompt
from lore.query.retrieve.passages import SourcePassage
from lore.types import Message

__all__ = ["AnswerWriter", "trailing_verdict"]

MAX_SOURCES_TOKENS = 4_000
"""The most estimated tokens of sources, because reading costs money and time."""
MIN_SOURCES_TOKENS = 300
ANSWER_TOKENS = 4_096
"""Tokens left for the answer (at most half of the context): a model's default output limit, because servers refuse
requests that leave less."""
ESTIMATE_MARGIN = 0.8
"""The share of the remaining context that is used, because the estimate of tokens may be too low."""
MAX_ANSWER_CHARACTERS = 20_000
"""A longer answer is taken for one that doesn't end."""

REMINDER = (
    "Answer this question from the sources, in the language of the question. End every sentence with the number of its "
    "source in square brackets, like [1]."
)
"""The last part of the request, because small models follow that best."""

_SENTINEL = "NOT_FOUND"
_SENTINEL_START = re.compile(r"[\s*_`\"'>#.\[(]*(?:(?i:NOT_FOUND)|NOT ?FOUND)\b")
_TRAILING_SENTINEL = re.compile(r"(?:^|\s)[*_\"'(\[]*NOT_FOUND[*_\"')\].]*\s*$", re.IGNORECASE)


class AnswerWriter:
    """Writes answers by calls of a language model, each within `time`.

    `context_tokens` is the size of the model's context, None to derive it from the model's name.
    """

    def __init__(self, chat_model: ChatModel, *, context_tokens: int | None, time: TimeLimit) -> None:
        self._chat_model = chat_model
        self._window = context_window(chat_model.name, context_tokens)
        self._time = time

    @property
    def model(self) -> str:
        """The name of the language model."""
        return self._chat_model.name

    def write(
        self,
        question: str,
        passages: Sequence[SourcePassage],
        now: datetime,
        *,
        on_usage: OnUsage | None = None,
        on_note: Callable[[str], None] = lambda note: None,
    ) -> Iterator[str] | None:
        """Return the model's unchecked answer piece by piece, or None if it says that the sources don't answer.

        If the sources are too long for the model, it is called once more with half of them, and `on_note` gets a note.
        Raises ModelError, here or while the pieces are read.
        """
        instructions = load_prompt("answer")
        tokens = self._sources_tokens(instructions, question)
        sources = format_sources(passages, tokens, now)
        try:
            return self._opened(instructions, _request(question, sources), on_usage)
        except ContextTooLongError as error:
            on_note(f"The sources were cut to half, because they were too long for the language model: {error.message}")
            half = min(tokens, estimate_tokens(sources)) // 2
            return self._opened(instructions, _request(question, format_sources(passages, half, now)), on_usage)

    def small_talk(self, question: str, on_usage: OnUsage | None = None) -> Iterator[str]:
        """Return the model's reply to a greeting, without sources. Raises ModelError while it is read."""
        return self._stream(load_prompt("small_talk"), question, on_usage)

    def _sources_tokens(self, instructions: str, question: str) -> int:
        """Return the most tokens for the sources."""
        used = estimate_tokens(instructions) + 2 * estimate_tokens(question) + min(ANSWER_TOKENS, self._window // 2)
        return max(MIN_SOURCES_TOKENS, min(MAX_SOURCES_TOKENS, int((self._window - used) * ESTIMATE_MARGIN)))

    def _opened(self, instructions: str, request: str, on_usage: OnUsage | None) -> Iterator[str] | None:
        """Return the answer once its first words are there, or None if they are the verdict that nothing answers."""
        pieces = self._stream(instructions, request, on_usage)
        opening = ""
        for piece in pieces:
            opening += piece
            if len(opening.lstrip(" \n*_`\"'>#.[(")) > len(_SENTINEL):
                break
        if _SENTINEL_START.match(opening):
            return None
        return chain([opening], pieces)

    def _stream(self, instructions: str, request: str, on_usage: OnUsage | None) -> Iterator[str]:
        messages = [Message("system", instructions), Message("user", request)]
        stream = partial(self._chat_model.stream, messages, on_usage=on_usage)
        return _bounded(self._time.stream(stream, self._chat_model.name))


def trailing_verdict(text: str) -> re.Match[str] | None:
    """Match the end of an answer that says, after other words, that the sources don't answer."""
    return _TRAILING_SENTINEL.search(text)


def _request(question: str, sources: str) -> str:
    return f"{sources}\n\n<question>\n{escape_delimiters(question)}\n</question>\n\n{REMINDER}"


def _bounded(pieces: Iterator[str]) -> Iterator[str]:
    """Yield the pieces; raise ModelError if they are too long, because a model that doesn't stop repeats itself."""
    length = 0
    for piece in pieces:
        yield piece[: MAX_ANSWER_CHARACTERS - length]
        length += len(piece)
        if length > MAX_ANSWER_CHARACTERS:
            raise ModelError(f"It didn't stop after {MAX_ANSWER_CHARACTERS:,} characters.")
