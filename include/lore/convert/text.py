"""Conversion of plain text and source code."""

from __future__ import annotations

from lore.convert.markdown.fences import fence_code
from lore.convert.result import Converted

__all__ = ["convert_code", "convert_text"]


def convert_text(text: str) -> Converted:
    """Return the text unchanged: it is quoted and cited as written."""
    return Converted(text)


def convert_code(text: str, language: str) -> Converted:
    """Return the whole file as one fenced block in its language."""
    return Converted(fence_code(text.strip("\n"), language) + "\n" if text.strip() else "")
