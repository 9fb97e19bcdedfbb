"""Plain text and source code."""

from __future__ import annotations

from lore.convert.fences import fenced
from lore.convert.result import Converted

__all__ = ["convert_code", "convert_text"]


def convert_text(text: str) -> Converted:
    """The text to the letter: it is quoted and cited as it was written."""
    return Converted(text)


def convert_code(text: str, language: str) -> Converted:
    """The whole file as one fenced block in its language."""
    return Converted(fenced(text.strip("\n"), language) + "\n" if text.strip() else "")
