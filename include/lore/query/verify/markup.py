"""The patterns of Markdown and HTML that matter to links."""

from __future__ import annotations

import re

from lore.query.verify.links import LINK

__all__ = [
    "ATTRIBUTE_LINK",
    "CONTAINERS",
    "DEFINITION",
    "DESTINATION",
    "HTML_NAMES",
    "REFERENCE",
    "bracket_pairs",
    "looks_like_link",
]

_HTML_NAME_LIST = """
a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption center cite code col
colgroup dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2
h3 h4 h5 h6 head header hr html i iframe img input ins kbd label legend li link main map mark marquee math menu meta
nav noscript object ol option p param picture pre q s samp script section select small source span strike strong style
sub summary sup svg table tbody td template textarea tfoot th thead title tr track tt u ul var video
"""
HTML_NAMES = frozenset(_HTML_NAME_LIST.split())
ATTRIBUTE_LINK = re.compile(
    r"(?:href|src|action|srcset|data|poster|formaction)\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE
)
DESTINATION = re.compile(
    r"""\(\s*(?:<(?P<angled>[^<>]*)>|(?P<plain>(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.|\([^\s()]*\))*\))*))
        (?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)""",
    re.VERBOSE,
)
CONTAINERS = re.compile(r"(?:\s|>|[-*+]\s|\d{1,9}[.)]\s)*")
DEFINITION = re.compile(r"\[(?P<label>[^\[\]]+)\]:\s*<?(?P<destination>[^\s<>]+)>?\s*(?:[\"'(].*)?$")
_BRACKET_OR_CODE = re.compile(r"\\.|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|`+|[\[\]]")
REFERENCE = re.compile(r"\[([^\[\]]*)\]")


def bracket_pairs(line: str) -> dict[int, int]:
    """For each bracket that is closed, where; escaped ones and those in code spans are text."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for match in _BRACKET_OR_CODE.finditer(line):
        if match[0] == "[":
            opened.append(match.start())
        elif match[0] == "]" and opened:
            pairs[opened.pop()] = match.start()
    return pairs


def looks_like_link(destination: str) -> bool:
    return bool(LINK.match(destination) or re.match(r"[a-z][a-z0-9+.\-]*:|[/.#]", destination, re.IGNORECASE))
