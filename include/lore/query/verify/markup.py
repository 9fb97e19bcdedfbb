"""The syntax of a link's destination in Markdown."""

from __future__ import annotations

import re

__all__ = ["DESTINATION"]

DESTINATION = re.compile(
    r"""\(\s*(?:<(?P<angled>[^<>]*)>|(?P<plain>(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.|\([^\s()]*\))*\))*))
        (?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)""",
    re.VERBOSE,
)
