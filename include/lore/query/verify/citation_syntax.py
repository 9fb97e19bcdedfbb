"""Syntax of citations as language models write them, and of text that only looks like one."""

from __future__ import annotations

import re

__all__ = ["CHECKED", "CITATION", "NUMBERS", "expand", "indexed_name", "is_interval"]

MAX_RANGE = 50
_NAME = r"(?:sources?|src|refs?|references?|passages?|documents?|docs?|citations?|quellen?|no\.?)\s*[:#]?\s*"
NUMBERS = (
    rf"[\^#]?(?:{_NAME})?\d{{1,9}}(?:\s*(?:,\s*and|,\s*und|,|;|and|und|&|to|-|–|—)\s*[\^#]?(?:{_NAME})?\d{{1,9}})*"
)
"""A pattern for the content of the brackets: `1`, `1, 3`, `2-4`, `^1`, `source 1 and 2`."""
CITATION = rf"""
    \\?\[\\?\[{NUMBERS}\\?\]\\?\]
  | (?:\\?\[|【|［|〔)\s*{NUMBERS}\s*(?:†[^\]】\s]*)?(?:\\?\]|】|］|〕)
  | \((?={_NAME}\d){NUMBERS}\)
  | (?<=[\w.!?`*\)\"]\s) \(\d{{1,2}}(?:,\s?\d{{1,2}})*\) (?=\s*(?:[.!?;|]|$|\(\d))
"""
"""A pattern (verbose, case-insensitive) for a citation as models write it; `(1)` only where a statement ends."""

CHECKED = re.compile(r"(?<!\\)\[(\d+)\]")
"""A citation as the check writes it, with its number."""

_INDEXED = re.compile(r"[A-Za-z_][\w.]*(?:\[[^\[\]\s]*\])*$")
_INDEX_CONTINUES = re.compile(r"\.[a-z_]|\[[a-z\"']|\s*=[^=]")
_ARRAYS = frozenset(("argv", "args", "arr", "df", "lst", "params"))
_ARRAYS_OR_WORDS = frozenset(("list", "array", "items", "data", "row", "rows", "values", "results", "matrix"))
_RANGE = re.compile(rf"(\d+)\s*(?:to|-|–|—)\s*[\^#]?(?:{_NAME})?(\d+)", re.IGNORECASE)


def expand(token: str) -> list[int]:
    """Return the numbers of a citation, each once: 1, 3, 4, 5 for `[1, 3-5]`."""
    numbers: list[int] = []
    token = token.partition("†")[0]
    for match in re.finditer(rf"{_RANGE.pattern}|(\d+)", token, re.IGNORECASE):
        if match[3]:
            numbers.append(int(match[3]))
            continue
        first, last = int(match[1]), int(match[2])
        numbers.extend(range(first, last + 1) if 0 <= last - first <= MAX_RANGE else (first, last))
    return list(dict.fromkeys(numbers))


def is_interval(token: str, numbers: list[int]) -> bool:
    """Return True for an interval or a range of characters such as `[0, 1]`: no passage has the number 0."""
    return len(numbers) > 1 and 0 in numbers and not re.search(_NAME, token, re.IGNORECASE)


def indexed_name(before: str, token: str, after: str, *, dangling: bool) -> str:
    """Return the name that `token` indexes, as in `argv[1]`, or "" if it is a citation.

    `before` and `after` are the text around it. Models often attach citations to words, so a doubtful token is a
    citation unless it is `dangling`: its number has no passage.
    """
    name = _INDEXED.search(before)
    if not name or not re.fullmatch(r"\[\d+\]", token):
        return ""
    last = name[0].rpartition(".")[2]
    certain = len(name[0]) == 1 or last in _ARRAYS or _INDEX_CONTINUES.match(after)
    likely = bool(re.search(r"[_.\]]", name[0])) or last in _ARRAYS_OR_WORDS
    return name[0] if certain or (dangling and likely) else ""
