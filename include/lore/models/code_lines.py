"""Source code told from prose by the shape of its lines, whatever the language and without parsing."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["is_code"]

CODE_SHARE = 0.5
MIN_LINES = 3
_CODE_LINE = re.compile(
    r"""\s*(?:
    (?:def|class|import|from|raise|elif|public|private|protected|static|func|fn|let|const|var|package|use|struct|enum)\s
    | (?:return|break|continue|pass|try|else|finally|do|yield)\b[^.]*$
    | (?:if|for|while|with|switch|except|catch|match|case)\b.*[:{]$
    | @\w | // | /\* | \#include\b | self\. | this\.
    | [\w.\[\]>*-]+\s?(?::[\w\[\], |.]+)?\s?[-+*/|:]?=(?!=)
    | [\w.]+\(.*\)?[,;{]?$
    | [)}\]]+[,;)]*(?:\s*\w+\s*\{)?$
    | .*[;{]$
    )""",
    re.VERBOSE,
)


@lru_cache(maxsize=20_000)
def is_code(text: str) -> bool:
    """Return True if most lines of a passage look like source code."""
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) >= MIN_LINES and sum(bool(_CODE_LINE.match(line)) for line in lines) > CODE_SHARE * len(lines)
