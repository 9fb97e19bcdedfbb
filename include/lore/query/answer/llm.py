"""Writing the answer: by the language model from numbered sources, or without one by quoting the best passages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

from lore.errors import ContextTooLongError, ModelError
from lore.protocols import ChatModel, OnUsage
from lore.query.answer.prompt_sources import as_data, format_sources
from lore.query.answer.quotes import excerpt
from lore.query.answer.tokens import context_window, estimate_tokens
from lore.query.content_words import content_words
from lore.query.deadlines import pieces_within
from lore.query.prompts import load_prompt
from lore.query.retrieve.passages import Passage
from lore.query.verify.allowed_content import known_to
from lore.query.verify.injection import gives_orders
from lore.query.verify.stream import clean_quote
from lore.types import Chunk, Hit, Message

__all__ = [
    "EMPTY_INDEX",
    "NOTHING_FOUND",
    "NO_MODEL",
    "UNCITED",
    "AnswerWriter",
    "late_verdict",
    "quoted_answer",
    "worth_quoting",
]

SOURCES_TOKENS = 4_000
"""How much of the sources the model is given at most, as estimated: what it reads costs, in money and in time."""
SMALLEST_BUDGET = 300
ANSWER_TOKENS = 4_096
"""What is left free in the model's context for its answer, or half of it: what a model may write by default, because
servers refuse a request that leaves less."""
ESTIMATE_MARGIN = 0.8
"""How much of what is left of the context is used: the estimate of tokens may be too low by as much."""
ANSWER_CHARACTERS = 20_000
"""Where a model that does not stop is stopped."""
QUOTED_PASSAGES = 3
QUOTED_CHARACTERS = 600

REMINDER = (
    "Answer this question from the sources, in the language of the question. End every sentence with the number of its "
    "source in square brackets, like [1]."
)
"""Small models follow what stands last."""

NOTHING_FOUND = "The index holds nothing that answers this."
EMPTY_INDEX = "The index is empty: nothing has been synced yet. Run `lore sync --all` first."
NO_MODEL = (
    "No language model is set (`LORE_CHAT_MODEL`, for example `openai:gpt-4.1-mini`), so these are the passages that "
    "answer best, word for word."
)
UNCITED = "*This answer cites no source. Check it against the pages before you rely on it.*"

_SENTINEL = "NOT_FOUND"
_SENTINEL_START = re.compile(r"[\s*_`\"'>#.\[(]*(?:(?i:NOT_FOUND)|NOT ?FOUND)\b")
_LATE_SENTINEL = re.compile(r"(?:^|\s)[*_\"'(\[]*NOT_FOUND[*_\"')\].]*\s*$", re.IGNORECASE)


class AnswerWriter:
    """Has a language model write answers. `context_tokens` is how much it reads and writes in all, None: by its name.

    Every call ends within `seconds`, or in a ModelError.
    """

    def __init__(self, chat_model: ChatModel, *, context_tokens: int | None, seconds: float) -> None:
        self._chat_model = chat_model
        self._window = context_window(chat_model.name, context_tokens)
        self._seconds = seconds

    def write(
        self,
        question: str,
        passages: Sequence[Passage],
        now: datetime,
        *,
        on_usage: OnUsage | None = None,
        on_note: Callable[[str], None] = lambda note: None,
    ) -> Iterator[str] | None:
        """The model's answer piece by piece, unchecked; None when the model says that the sources do not answer.

        A model that finds the sources too long is asked once more with half of them, of which `on_note` is told.
        Raises ModelError, here or while the pieces are read.
        """
        instructions = load_prompt("answer")
        tokens = self._budget(instructions, question)
        sources = format_sources(passages, tokens, now)
        try:
            return self._opened(instructions, _request(question, sources), on_usage)
        except ContextTooLongError as error:
            on_note(f"The sources were cut to half, because they were too long for the language model: {error}")
            half = min(tokens, estimate_tokens(sources)) // 2
            return self._opened(instructions, _request(question, format_sources(passages, half, now)), on_usage)

    def small_talk(self, question: str, on_usage: OnUsage | None = None) -> Iterator[str]:
        """The model's reply to a greeting, without sources. Raises ModelError while it is read."""
        return self._stream(load_prompt("small_talk"), question, on_usage)

    def _budget(self, instructions: str, question: str) -> int:
        """How many tokens the sources may have."""
        used = estimate_tokens(instructions) + 2 * estimate_tokens(question) + min(ANSWER_TOKENS, self._window // 2)
        return max(SMALLEST_BUDGET, min(SOURCES_TOKENS, int((self._window - used) * ESTIMATE_MARGIN)))

    def _opened(self, instructions: str, request: str, on_usage: OnUsage | None) -> Iterator[str] | None:
        """The answer once its first words are there; None when they are the verdict that nothing answers."""
        pieces = self._stream(instructions, request, on_usage)
        opening = ""
        for piece in pieces:
            opening += piece
            if len(opening.lstrip(" \n*_`\"'>#.[(")) > len(_SENTINEL):
                break
        if _SENTINEL_START.match(opening):
            return None
        return _prepend(opening, pieces)

    def _stream(self, instructions: str, request: str, on_usage: OnUsage | None) -> Iterator[str]:
        messages = [Message("system", instructions), Message("user", request)]
        late = ModelError(
            f"{self._chat_model.name} took longer than {self._seconds:g} s.", remedy="Raise LORE_ANSWER_SECONDS."
        )
        stream = partial(self._chat_model.stream, messages, on_usage=on_usage)
        return _bounded(pieces_within(self._seconds, stream, late))


def late_verdict(text: str) -> re.Match[str] | None:
    """The end of an answer where the model says, after other words, that the sources do not answer."""
    return _LATE_SENTINEL.search(text)


def worth_quoting(question: str, passages: Sequence[Hit]) -> tuple[int, ...]:
    """The numbers of the passages to quote: the best, and the next that hold half as many of the question's words.

    One that gives orders to a language model is quoted only where there is no other.
    """
    wanted = set(content_words(question))
    shared = {
        number: len(wanted & set(content_words(hit.chunk.passage)))
        for number, hit in enumerate(passages, start=1)
        if not gives_orders(hit.chunk.passage)
    } or {1: 0}
    best, most = min(shared), max(shared.values())
    return tuple(number for number, words in shared.items() if number == best or words * 2 >= most)[:QUOTED_PASSAGES]


def quoted_answer(question: str, passages: Sequence[Hit], numbers: Sequence[int]) -> str:
    """These passages as block quotes, each with its `[n]` and where it stands."""
    known = known_to(passages)
    quotes = []
    for number in numbers:
        chunk = passages[number - 1].chunk
        text = clean_quote(excerpt(chunk.text, question, QUOTED_CHARACTERS), passages, known)
        quoted = "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
        quotes.append(f"{quoted}\n\n— *{clean_quote(_place(chunk), passages, known)}* [{number}]")
    return "\n\n".join(quotes)


def _place(chunk: Chunk) -> str:
    place = " › ".join(part for part in (chunk.title, *chunk.headings) if part.strip())
    return re.sub(r"[*_\s]+", " ", place).strip() or chunk.document_id


def _request(question: str, sources: str) -> str:
    return f"{sources}\n\n<question>\n{as_data(question)}\n</question>\n\n{REMINDER}"


def _bounded(pieces: Iterator[str]) -> Iterator[str]:
    """The pieces; ModelError where they are too many, because a model that does not stop repeats itself."""
    length = 0
    for piece in pieces:
        yield piece[: ANSWER_CHARACTERS - length]
        length += len(piece)
        if length > ANSWER_CHARACTERS:
            raise ModelError(f"It did not stop after {ANSWER_CHARACTERS:,} characters.")


def _prepend(opening: str, pieces: Iterator[str]) -> Iterator[str]:
    yield opening
    yield from pieces
