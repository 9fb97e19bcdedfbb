"""Answers as the text of a chat message: citations are links, and the sources are listed below."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lore.markdown import CODE_SPAN, code_blocks
from lore.types import Answer, Citation

__all__ = ["CitedText", "cited_text", "pieces_of", "plain_text"]

SOURCES = "\n\n**Sources**\n"
NEAREST = "\n\n**Nearest pages**\n"
_CITATION = re.compile(r"\[(\d{1,3})\](?![(\[:])|\[(\d{1,3})\](?=\[\d)")
_LINK = re.compile(r"\[\[(\d{1,3})\]\]\(<[^>\n]*>\)")
_PIECE = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class CitedText:
    """A message. `places` are the linked citations: from character `start` to `end`, and what they cite."""

    content: str
    places: tuple[tuple[int, int, Citation], ...]


def cited_text(answer: Answer) -> CitedText:
    """Return an answer in Markdown. `[n]` leads to the n-th source unless that has no web address."""
    cited = {citation.number: citation for citation in answer.citations}
    content, places = "", []
    for text, is_code in _parts(answer.text):
        at = 0
        for match in () if is_code else _CITATION.finditer(text):
            number = int(match[1] or match[2])
            if not (citation := cited.get(number)) or not citation.url:
                continue
            content += text[at : match.start()]
            start = len(content)
            content += f"[[{number}]](<{citation.url}>)"
            places.append((start, len(content), citation))
            at = match.end()
        content += text[at:]
    content += _listed(SOURCES, answer.citations)
    if not answer.found:
        content += _listed(NEAREST, answer.nearest)
    return CitedText(content, tuple(places))


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text in pieces, each with True if it is code."""
    at = 0
    for block in code_blocks(text):
        yield from _spans(text[at : block.start])
        yield text[block.start : block.end], True
        at = block.end
    yield from _spans(text[at:])


def _spans(text: str) -> Iterator[tuple[str, bool]]:
    at = 0
    for match in CODE_SPAN.finditer(text):
        yield text[at : match.start()], False
        yield match[0], True
        at = match.end()
    yield text[at:], False


def _listed(title: str, citations: tuple[Citation, ...]) -> str:
    rows = [f"\n{citation.number}. {_title(citation)}" for citation in citations]
    return title + "".join(rows) if rows else ""


def _title(citation: Citation) -> str:
    words = " › ".join(dict.fromkeys(filter(None, (citation.title, *citation.headings)))) or citation.source_id
    words = re.sub(r"([\\\[\]*_`<>])", r"\\\1", words)
    return f"[{words}](<{citation.url}>)" if citation.url else words


def plain_text(content: str) -> str:
    """Return a message of ours, sent back as part of the conversation, as the answer's text."""
    for title in (SOURCES, NEAREST):
        content = content.partition(title)[0]
    return _LINK.sub(r"[\1]", content)


def pieces_of(text: str) -> Iterator[str]:
    """Yield the words of a text with the space after them; joined, they are the text."""
    for match in _PIECE.finditer(text):
        yield match[0]
