"""Globs as in .gitignore, for choosing files by their path."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["PathFilter"]


class PathFilter:
    """Says whether a path, with `/` and from the folder on, is chosen: included (no glob: all) and not excluded."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include, self._exclude = _compiled(include), _compiled(exclude)

    def __call__(self, path: str) -> bool:
        included = not self._include or any(glob.fullmatch(path) for glob in self._include)
        return included and not any(glob.fullmatch(path) for glob in self._exclude)


def _compiled(patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(_regex(pattern), re.DOTALL) for pattern in patterns)


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
