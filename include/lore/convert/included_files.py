"""Files that texts include: where they may be, and which of their lines are included."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

__all__ = ["LANGUAGES", "MAX_DEPTH", "IncludedFiles", "Read", "select_lines"]

MAX_DEPTH = 5
MAX_CHARACTERS = 2_000_000
"""Total of all files included in one text. The rest is dropped, so that files including each other end."""
LANGUAGES = {
    ".py": "python", ".sh": "bash", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml", ".sql": "sql",
    ".cfg": "ini", ".ini": "ini", ".js": "javascript", ".ts": "typescript", ".go": "go", ".java": "java", ".rs": "rust",
}  # fmt: skip
"""Languages of included code by the files' suffixes."""

Read = Callable[[str], str | None]
"""Returns the text of a path in the source, or None."""


class IncludedFiles:
    """Files included in one text, up to a total size."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._left = MAX_CHARACTERS

    def find(self, target: str, path: str) -> tuple[str, str] | None:
        """Return the path and text of the file that the text at `path` names; None if it is missing or too large."""
        for place in _candidate_paths(target, path):
            text = self._read(place)
            if text is None:
                continue
            text = text.removeprefix("\ufeff").replace("\r\n", "\n")
            if len(text) > self._left:
                return None
            self._left -= len(text)
            return place, text
        return None


def select_lines(lines: list[str], options: Mapping[str, str]) -> list[str]:
    """Return the lines of a file that the options of Sphinx select, by number, by text or by a Python name."""
    if "pyobject" in options:
        lines = _python_object(lines, options["pyobject"])
    if "lines" in options:
        lines = [lines[number] for number in _numbers(options["lines"], len(lines))]
    first, last = _integer(options.get("start-line"), 0), _integer(options.get("end-line"), len(lines))
    lines = lines[first:last]
    for name, offset in (("start-after", 1), ("start-at", 0)):
        if options.get(name):
            found = next((i for i, line in enumerate(lines) if options[name] in line), None)
            lines = [] if found is None else lines[found + offset :]
    for name, offset in (("end-before", 0), ("end-at", 1)):
        if options.get(name):
            found = next((i for i, line in enumerate(lines) if options[name] in line), None)
            lines = lines if found is None else lines[: found + offset]
    return lines


def _python_object(lines: list[str], name: str) -> list[str]:
    """Return the lines of a class or function, given its dotted name."""
    import ast

    try:
        scope: ast.AST = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return []
    for part in name.split("."):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = [node for node in ast.iter_child_nodes(scope) if isinstance(node, kinds) and node.name == part]
        if not found:
            return []
        scope = found[-1]
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return []
    start = min([scope.lineno, *(decorator.lineno for decorator in scope.decorator_list)])
    return lines[start - 1 : scope.end_lineno]


def _numbers(selection: str, count: int) -> Iterator[int]:
    """Yield the indexes of lines in a selection such as `1,3,5-10,20-`."""
    for part in selection.split(","):
        match = re.fullmatch(r"\s*(\d{0,9})\s*(-?)\s*(\d{0,9})\s*", part)
        if not match or not (match[1] or match[3]):
            continue
        first = int(match[1] or 1)
        last = int(match[3] or count) if match[2] else first
        yield from range(max(first, 1) - 1, min(last, count))


def _integer(value: str | None, default: int) -> int:
    try:
        return int(value) if value else default
    except ValueError:
        return default


def _candidate_paths(target: str, path: str) -> Iterator[str]:
    """Yield the paths a target may have: beside the text, or below the documentation's root, any folder above it."""
    folder = posixpath.dirname(path)
    if not target.startswith("/"):
        folders = [folder]
    else:
        parts = folder.split("/") if folder else []
        folders = ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]
    seen: set[str] = set()
    for base in folders:
        place = posixpath.normpath(posixpath.join(base, target.lstrip("/")))
        if (
            place not in seen
            and not place.startswith(("../", "/"))
            and place not in {"..", "."}
            and "\x00" not in place
        ):
            seen.add(place)
            yield place
