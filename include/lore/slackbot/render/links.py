"""Where a link of an answer may lead, and the brackets and parentheses that it is made of."""

from __future__ import annotations

import html
import re
from urllib.parse import unquote

from lore.slackbot.render.characters import is_calling
from lore.visible_text import web_address

__all__ = ["LONGEST_LINK", "closing_bracket", "safe_address", "unescaped"]

DEEPEST = 8
LONGEST_LINK = 1_500
"""Slack takes addresses of up to 3,000 characters; one this long is nothing that a person follows."""

_MAIL = re.compile(r"mailto:[\w.+\-%]{1,64}@[\w.\-]{1,255}(?:\?[^\s<>|]{0,500})?", re.IGNORECASE)
_PARENTHESES = str.maketrans({"(": "%28", ")": "%29", "[": "%5B", "]": "%5D", "*": "%2A"})
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_BRACKET_OR_CODE = re.compile(r"\\.|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|(?P<ticks>`+)|[\[\]]")


def safe_address(destination: str) -> str:
    """The address if a link may lead there, so encoded that nothing in it ends the link; else ""."""
    url = html.unescape(_ESCAPED.sub(r"\1", destination.strip()))
    address = web_address(url)
    if not address and _MAIL.fullmatch(url):
        address = url
    address = re.sub(r"(?<!\w)@", lambda at: _at(address, at), address).translate(_PARENTHESES)
    return address if len(address) <= LONGEST_LINK else ""


def unescaped(text: str) -> str:
    """A text without the backslashes before punctuation."""
    return _ESCAPED.sub(r"\1", text)


def closing_bracket(text: str, start: int, end: int) -> int | None:
    """Where the bracket at `start` is closed before `end`.

    None where it is not, or where an open code span hides it; -1 where so many others follow that it makes no link.
    """
    depth = 0
    for match in _BRACKET_OR_CODE.finditer(text, start, end):
        if match["ticks"]:
            return None
        depth += (match[0] == "[") - (match[0] == "]")
        if depth > DEEPEST:
            return -1
        if depth == 0 and match[0] == "]":
            return match.start()
    return None


def _at(address: str, at: re.Match[str]) -> str:
    return "%40" if is_calling(unquote(address[at.end() :])) else "@"
