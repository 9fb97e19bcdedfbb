"""Globs as in .gitignore, for choosing files by their path."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lore.errors import SourceError

__all__ = ["PathFilter"]

GLOB_SECONDS = 2.0
"""Of the processor, for one glob and one path: many stars match a path that someone made for them in endless ways."""


class PathFilter:
    """Says whether a path, with `/` and from the folder on, is chosen: included (no glob: all) and not excluded.

    Raises SourceError for a glob that takes longer than `seconds` to compare with the path.
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
                f"The glob {pattern!r} takes too long to be compared with the path {path[:200]!r}.",
                remedy="Write it with fewer stars, or leave out the folder that the path is in.",
            ) from None


def _compiled(patterns: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """Each glob with its expression; of the package `regex`, which can be stopped."""
    import regex

    return tuple((pattern, regex.compile(_regex(pattern), regex.DOTALL)) for pattern in patterns)


def _regex(pattern: str) -> str:
    """A glob as in .gitignore: `**` spans folders, a pattern without a slash means names at any depth, a leading slash
    the top folder, and the name of a folder all that is in it.
    """
    plain = pattern.removeprefix("./").rstrip("/")
    anchored = plain.removeprefix("/") if "/" in plain else f"**/{plain}"
    tokens = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", re.sub(r"(\*\*/)+", "**/", anchored))
    below = "" if "*" in plain.rpartition("/")[2] else "(?:/.*)?"
    if pattern.endswith("/"):
        below = "/.*"
    return "".join(tokens.get(piece) or re.escape(piece) for piece in pieces) + below
