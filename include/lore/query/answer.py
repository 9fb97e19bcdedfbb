"""Writing the answer: by the language model from numbered sources, or without one by quoting the best passages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from include.lore.errors import ModelError
from include.lore.protocols import ChatModel, OnUsage
from include.lore.query.citations import clean_quote
from include.lore.query.prompts import load_prompt
from include.lore.query.quotes import excerpt
from include.lore.query.visible import visible
from include.lore.query.words import content_words
from include.lore.types import Chunk, Hit, Message

__all__ = [
    "EMPTY_INDEX",
    "NOTHING_FOUND",
    "NO_MODEL",
    "UNCITED",
    "late_verdict",
    "quoted_answer",
    "small_talk",
    "worth_quoting",
    "written_answer",
]

SOURCES_CHARACTERS = 12_000
"""How much of the sources' text the model is given, about 3,000 tokens; the passages share it evenly."""
ANSWER_CHARACTERS = 20_000
"""Where a model that does not stop is stopped."""
QUOTED_PASSAGES = 3
QUOTED_CHARACTERS = 600

REMINDER = "Answer from the sources. End every sentence with the number of its source in square brackets, like [1]."
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
_DELIMITER = re.compile(r"<(?=\s*/?\s*(?:sources?|question)\b)", re.IGNORECASE)


def written_answer(
    chat_model: ChatModel, question: str, passages: Sequence[Hit], *, on_usage: OnUsage | None = None
) -> Iterator[str] | None:
    """The model's answer piece by piece, unchecked; None when the model says that the sources do not answer.

    Raises ModelError, here or while the pieces are read.
    """
    messages = [Message("system", load_prompt("answer")), Message("user", _request(question, passages))]
    pieces = _bounded(chat_model.stream(messages, on_usage=on_usage))
    opening = ""
    for piece in pieces:
        opening += piece
        if len(opening.lstrip(" \n*_`\"'>#.[(")) > len(_SENTINEL):
            break
    if _SENTINEL_START.match(opening):
        return None
    return _prepend(opening, pieces)


def late_verdict(text: str) -> re.Match[str] | None:
    """The end of an answer where the model says, after other words, that the sources do not answer."""
    return _LATE_SENTINEL.search(text)


def small_talk(chat_model: ChatModel, question: str, *, on_usage: OnUsage | None = None) -> Iterator[str]:
    """The model's reply to a greeting, without sources. Raises ModelError while it is read."""
    messages = [Message("system", load_prompt("small_talk")), Message("user", question)]
    return _bounded(chat_model.stream(messages, on_usage=on_usage))


def worth_quoting(question: str, passages: Sequence[Hit]) -> tuple[int, ...]:
    """The numbers of the passages to quote: the best, and the next that hold half as many of the question's words."""
    wanted = set(content_words(question))
    shared = [len(wanted & set(content_words(hit.chunk.passage))) for hit in passages]
    numbers = [number for number, words in enumerate(shared, start=1) if number == 1 or words * 2 >= max(shared)]
    return tuple(numbers[:QUOTED_PASSAGES])


def quoted_answer(question: str, passages: Sequence[Hit], numbers: Sequence[int]) -> str:
    """These passages as block quotes, each with its `[n]` and where it stands."""
    quotes = []
    for number in numbers:
        chunk = passages[number - 1].chunk
        text = clean_quote(excerpt(chunk.text, question, QUOTED_CHARACTERS), passages)
        quoted = "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
        quotes.append(f"{quoted}\n\n— *{clean_quote(_place(chunk), passages)}* [{number}]")
    return "\n\n".join(quotes)


def _place(chunk: Chunk) -> str:
    place = " › ".join(part for part in (chunk.title, *chunk.headings) if part.strip())
    return re.sub(r"[*_\s]+", " ", place).strip() or chunk.document_id


def _request(question: str, passages: Sequence[Hit]) -> str:
    share = SOURCES_CHARACTERS // max(1, len(passages))
    sources = "\n".join(_source(number, hit.chunk, share) for number, hit in enumerate(passages, start=1))
    request = f"<sources>\n{sources}\n</sources>\n\n<question>\n{_as_data(question)}\n</question>"
    return f"{request}\n\n{REMINDER}"


def _source(number: int, chunk: Chunk, limit: int) -> str:
    title = re.sub(r"[\s<>\"]+", " ", visible(" › ".join((chunk.title, *chunk.headings)))).strip()[:200]
    dated = f' updated="{chunk.updated_at:%Y-%m-%d}"' if chunk.updated_at else ""
    text = chunk.text if len(chunk.text) <= limit else chunk.text[:limit].rpartition(" ")[0] + " …"
    return f'<source number="{number}" title="{title}"{dated}>\n{_as_data(text.strip())}\n</source>'


def _as_data(text: str) -> str:
    """Text in which nothing looks like the signs that sources are delimited with."""
    return _DELIMITER.sub("‹", text)


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
