"""Answers without a language model: the lines of the best passages that answer, word for word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lore.errors import LoreError
from lore.markdown import code_blocks
from lore.protocols import Embedder
from lore.query.answer.evidence import find_evidence
from lore.query.answer.excerpts import LONG, Excerpt, QuotablePassage
from lore.query.answer.quotes import shorten_quote
from lore.query.verify.allowed_content import AllowedContent
from lore.query.verify.injection import contains_injection
from lore.query.verify.stream import clean_quote
from lore.types import Chunk, Hit
from lore.visible_text import visible

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["QuotedAnswer", "quote_passages"]

MAX_PLACE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class QuotedAnswer:
    """Block quotes, each with its `[n]`, title and headings.

    `order` lists the indexes of the passages as `[1]`, `[2]` … count them: those quoted come first. `quotes` are the
    lines that answer, verbatim, by number.
    """

    text: str
    order: tuple[int, ...]
    quotes: Mapping[int, str]


def quote_passages(
    question: str, passages: Sequence[Hit], embedder: Embedder, *, keep_order: bool = False
) -> QuotedAnswer:
    """Quote what answers the question. `keep_order` leaves the passages their numbers, which a text already cites.

    A passage with a prompt injection is quoted only if there is no other. If the embedder fails, words alone decide.
    """
    usable = [at for at, hit in enumerate(passages) if not contains_injection(hit.chunk.passage)] or [0]
    sources = [QuotablePassage(_opened(passages[at].chunk.headed_text), _place(passages[at].chunk)) for at in usable]
    try:
        excerpts = find_evidence(question, sources, partial(_embed, embedder))
    except LoreError:
        excerpts = find_evidence(question, sources)
    quoted = [usable[excerpt.source] for excerpt in excerpts]
    groups = _same_place(quoted, passages)
    order = tuple(range(len(passages)))
    if not keep_order:
        order = (*groups, *(at for at in order if at not in groups))
    allowed = AllowedContent.of(passages)
    blocks, quotes = [], dict[int, str]()
    for excerpt, at in zip(excerpts, quoted, strict=True):
        number = order.index(next(first for first, members in groups.items() if at in members)) + 1
        text = sources[excerpt.source].text
        lines = clean_quote(_joined(excerpt, text), passages, allowed).strip().splitlines()
        place = clean_quote(_heading(passages[at].chunk, excerpt), passages, allowed)
        blocks.append("\n".join(f"> {line}".rstrip() for line in lines) + f"\n\n— *{place}* [{number}]")
        quotes.setdefault(number, shorten_quote(text[slice(*excerpt.best)]))
    return QuotedAnswer("\n\n".join(blocks), order, quotes)


def _embed(embedder: Embedder, texts: Sequence[str]) -> npt.NDArray[np.float32]:
    import numpy as np

    question, *units = texts
    return np.array([embedder.embed_query(question), *embedder.embed_documents(units)], dtype=np.float32)


def _same_place(quoted: Sequence[int], passages: Sequence[Hit]) -> dict[int, set[int]]:
    """Group the quoted passages by page and address; each group goes by its first passage."""
    groups: dict[int, set[int]] = {}
    firsts: dict[tuple[str, str], int] = {}
    for at in quoted:
        chunk = passages[at].chunk
        first = firsts.setdefault((chunk.document_id, chunk.url), at)
        groups.setdefault(first, set()).add(at)
    return groups


def _joined(excerpt: Excerpt, text: str) -> str:
    """Return the pieces as Markdown, with "…" for omissions; rows stay below their table's header."""
    parts: list[str] = []
    for (start, end), before in zip(excerpt.pieces, (None, *excerpt.pieces), strict=False):
        piece = _bounded(text[start:end])
        if before is None:
            parts.append(piece)
        elif excerpt.in_table:
            parts.append("\n" + piece)
        elif text[before[1] : start].strip():
            parts.append(f"\n\n…\n\n{piece}")
        else:
            parts.append(text[before[1] : start] + piece)
    return "".join(parts).strip("\r\n")


def _bounded(piece: str) -> str:
    """Return a piece with a closed code block at its end, and without the end of one that is far too long."""
    block = next(reversed(list(code_blocks(piece))), None)
    if block and not block.closed:
        return f"{piece.rstrip()}\n…\n{block.fence}"
    return piece if block or len(piece) <= 2 * LONG else piece[: 2 * LONG].rsplit(" ", 1)[0] + " …"


def _opened(text: str) -> str:
    """Return the text with an opening fence if it ends with the closing one alone, as the end of a cut block does."""
    last = next(reversed(list(code_blocks(text))), None)
    return f"{last.fence}\n{text}" if last and text[last.start :].strip() == last.fence else text


def _place(chunk: Chunk) -> str:
    place = " › ".join(part for part in (chunk.title, *chunk.headings) if part.strip())
    return re.sub(r"[*\s]+", " ", place).strip() or chunk.document_id


def _heading(chunk: Chunk, excerpt: Excerpt) -> str:
    """Return the title and the headings above the excerpt; the shortest sufficient ones if they are long."""
    names = [chunk.title, *chunk.headings, *excerpt.headings]
    plain = [re.sub(r"[*`\s]+", " ", visible(name)).strip(" :") for name in names]
    parts = list(dict.fromkeys(name for name in plain if name)) or [chunk.document_id]
    while len(parts) > 2 and len(" › ".join(parts)) > MAX_PLACE_CHARACTERS:
        del parts[1]
    return " › ".join(parts)
