"""Answers without a language model: the best passages, word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lore.query.answer.quotes import excerpt
from lore.query.content_words import content_words
from lore.query.verify.allowed_content import AllowedContent
from lore.query.verify.injection import contains_injection
from lore.query.verify.stream import clean_quote
from lore.types import Chunk, Hit

__all__ = ["passages_to_quote", "quoted_answer"]

MAX_PASSAGES = 3
MAX_CHARACTERS = 600


def passages_to_quote(question: str, passages: Sequence[Hit]) -> tuple[int, ...]:
    """Return the numbers of the passages to quote: the best, and those with half as many of the question's words.

    A passage with a prompt injection is quoted only if there is no other.
    """
    wanted = set(content_words(question))
    shared = {
        number: len(wanted & set(content_words(hit.chunk.passage)))
        for number, hit in enumerate(passages, start=1)
        if not contains_injection(hit.chunk.passage)
    } or {1: 0}
    best, most = min(shared), max(shared.values())
    return tuple(number for number, words in shared.items() if number == best or words * 2 >= most)[:MAX_PASSAGES]


def quoted_answer(question: str, passages: Sequence[Hit], numbers: Sequence[int]) -> str:
    """Return these passages as block quotes, each with its `[n]`, title and headings."""
    allowed = AllowedContent.of(passages)
    quotes = []
    for number in numbers:
        chunk = passages[number - 1].chunk
        text = clean_quote(excerpt(chunk.text, question, MAX_CHARACTERS), passages, allowed)
        quoted = "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
        quotes.append(f"{quoted}\n\n— *{clean_quote(_place(chunk), passages, allowed)}* [{number}]")
    return "\n\n".join(quotes)


def _place(chunk: Chunk) -> str:
    place = " › ".join(part for part in (chunk.title, *chunk.headings) if part.strip())
    return re.sub(r"[*_\s]+", " ", place).strip() or chunk.document_id
