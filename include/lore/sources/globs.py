"""Globs as in .gitignore, for selecting files by their path."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lore.errors import SourceError

__all__ = ["PathFilter"]

GLOB_SECONDS = 2.0
"""Processor time for one glob and one path: a hostile path can make a glob with many stars match for hours."""


class PathFilter:
    """Selects paths, relative and with `/`: those that an `include` glob matches (none: all) and no `exclude` glob.

    Raises SourceError for a glob that takes longer than `seconds` to match.
    """

    def __init__(self, include: Sequence[str], exclude: Sequence[str], *, seconds: float = GLOB_SECONDS) -> None:
        self._include, self._exclude = _compiled(include), _compiled(exclude)
        self._seconds = seconds

    def __call__(self, path: str) -> bool:
        included = not self._include or any(self._matches(glob, path) for glob in self._include)
        return included and not any(self._matches(glob, path) for glob in self._exclude)

    def _matches(self, glob: tuple[str, Any], path: str) -> bool:
        pattern, expression = glob
        try:
            return expression.fullmatch(path, timeout=self._seconds) is not None
        except TimeoutError:
            raise SourceError(
                f"The glob {pattern!r} takes too long to match the path {path[:200]!r}.",
                remedy="Write it with fewer stars, or exclude the folder that contains the path.",
            ) from None


def _compiled(patterns: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """Compile globs with the package `regex`, which supports time limits."""
    import regex

    return tuple((pattern, regex.compile(_regex(pattern), regex.DOTALL)) for pattern in patterns)


def _regex(pattern: str) -> str:
    """Translate a glob: `**` spans folders, a name without a slash matches at any depth, a leading slash means the top
    folder, and a folder's name includes its content.
    """
    plain = pattern.removeprefix("./").rstrip("/")
    anchored = plain.removeprefix("/") if "/" in plain else f"**/{plain}"
    tokens = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", re.sub(r"(\*\*/)+", "**/", anchored))
    below = "" if "*" in plain.rpartition("/")[2] else "(?:/.*)?"
    if pattern.endswith("/"):
        below = "/.*"
    return "".join(tokens.get(piece) or re.escape(piece) for piece in pieces) + below
