"""What a line of Markdown begins with, before its prose."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Head", "read_head"]

DEEPEST_QUOTE = 5

_HEAD = re.compile(
    r"(?P<quote>(?:[ ]{0,3}>[ ]?)*)(?P<indent>[ \t]*)"
    r"(?P<items>(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,8}(?=\S)){0,9})(?P<rest>.*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Head:
    """What a line begins with: quotation signs, indentation, list markers; and the rest of it."""

    quote: str
    indent: int
    items: str
    rest: str


def read_head(line: str) -> Head:
    """The beginning of a line, apart from the rest."""
    match = _HEAD.match(line)
    assert match  # noqa: S101  every part of the pattern may be empty
    quote = "> " * min(match["quote"].count(">"), DEEPEST_QUOTE)
    return Head(quote, len(match["indent"].expandtabs(4)), match["items"].expandtabs(4), match["rest"])
