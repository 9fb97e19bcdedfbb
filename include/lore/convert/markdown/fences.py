"""Fenced code in Markdown: which lines are code, and fences that content can't close."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["MarkdownLine", "fence_code", "iter_lines"]

FENCE = re.compile(
    r"^[ \t]*(?:>[ \t]?|[-*+][ \t]+|\d{1,9}[.)][ \t]+){0,20}(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)$"
)


class MarkdownLine(NamedTuple):
    text: str
    code: bool
    """True for the lines of a fenced code block, fences included."""


def iter_lines(text: str) -> Iterator[MarkdownLine]:
    """Yield the lines of a Markdown text without their endings. An unclosed block reaches to the end."""
    fence = ""
    for line in text.split("\n"):
        match = FENCE.match(line) if "```" in line or "~~~" in line else None
        yield MarkdownLine(line, code=bool(fence or match))
        if match is None:
            continue
        if not fence:
            fence = match["fence"]
        elif match["fence"].startswith(fence) and not match["info"].strip():
            fence = ""


def fence_code(code: str, language: str = "") -> str:
    """Return the code as a fenced block whose fence is longer than any run of backticks in the code."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code.rstrip()}\n{fence}"
