"""Which lines of a Markdown text are code, and fences that their content cannot close."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Line", "fenced", "lines"]

FENCE = re.compile(
    r"^[ \t]*(?:>[ \t]?|[-*+][ \t]+|\d{1,9}[.)][ \t]+){0,20}(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)$"
)


class Line(NamedTuple):
    text: str
    code: bool
    """Whether the line is in a fenced code block or is its fence."""


def lines(text: str) -> Iterator[Line]:
    """The lines of a Markdown text, without their endings; a block that is never closed reaches to the end."""
    fence = ""
    for line in text.split("\n"):
        match = FENCE.match(line) if "```" in line or "~~~" in line else None
        yield Line(line, code=bool(fence or match))
        if match is None:
            continue
        if not fence:
            fence = match["fence"]
        elif match["fence"].startswith(fence) and not match["info"].strip():
            fence = ""


def fenced(code: str, language: str = "") -> str:
    """The code as a fenced block, with a fence longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code.rstrip()}\n{fence}"
