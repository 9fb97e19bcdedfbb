"""Inclusion of other files in an RST text, done while the source can read them: conversion happens elsewhere."""

from __future__ import annotations

import posixpath
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

__all__ = ["outside_literal", "resolve_includes"]

MAX_DEPTH = 5
MAX_CHARACTERS = 2_000_000
"""Total of all files included in one text. The rest is dropped, so that files including each other end."""

DIRECTIVE = re.compile(
    r"^(?P<indent>\s*)\.\. (?P<name>include|literalinclude|exampleinclude)::\s+(?P<target>\S.*?)\s*$"
)
OPTION = re.compile(r"^(?P<indent>\s+):(?P<name>[\w-]+):\s*(?P<value>.*?)\s*$")
LITERAL = re.compile(
    r"^\s*\.\. (?:code|code-block|sourcecode|literal|parsed-literal|raw|prompt)::|^(?!\s*\.\. ).*::\s*$"
)
LANGUAGES = {
    ".py": "python", ".sh": "bash", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml", ".sql": "sql",
    ".cfg": "ini", ".ini": "ini", ".js": "javascript", ".ts": "typescript", ".go": "go", ".java": "java", ".rs": "rust",
}  # fmt: skip

Read = Callable[[str], str | None]


def resolve_includes(text: str, path: str, read: Read) -> str:
    """Return the text with `include`, `literalinclude` and `exampleinclude` replaced by the files they name.

    `path` is the text's own path in the source, with `/`. `read` returns the text of a path in the source, or None;
    it is called for paths inside the source only. A directive with an unreadable target is dropped.
    """
    return "\n".join(_Resolver(read).expand(text.split("\n"), path, 0))


def outside_literal(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line of an RST text, and True for lines in a literal block, where directives are only shown."""
    literal = -1
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= literal:
            literal = -1
        yield line, literal >= 0
        if literal < 0 and LITERAL.match(line):
            literal = indent


@dataclass(frozen=True, slots=True)
class _Include:
    name: str
    target: str
    options: dict[str, str]


class _Resolver:
    def __init__(self, read: Read) -> None:
        self._read = read
        self._left = MAX_CHARACTERS

    def expand(self, lines: list[str], path: str, depth: int) -> Iterator[str]:
        indent = -1  # of the directive whose options follow
        include: _Include | None = None
        for number, (line, literal) in enumerate([*outside_literal(lines), ("", False)]):
            if include is not None:
                option = OPTION.match(line)
                if option and len(option["indent"]) > indent:
                    include.options[option["name"]] = option["value"]
                    continue
                for piece in self._included(include, path, depth):
                    yield " " * indent + piece if piece.strip() else ""
                include = None
            match = DIRECTIVE.match(line) if not literal and ".. " in line else None
            if match is None and number < len(lines):
                yield line
            elif match is not None:
                indent, include = len(match["indent"]), _Include(match["name"], match["target"], {})

    def _included(self, include: _Include, path: str, depth: int) -> list[str]:
        if depth >= MAX_DEPTH or include.target.startswith("<"):
            return []
        for place in _candidate_paths(include.target, path):
            text = self._read(place)
            if text is not None:
                break
        else:
            return []
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").expandtabs(8)
        if len(text) > self._left:
            return []
        self._left -= len(text)
        lines = _select(text.split("\n"), include.options)
        options = include.options
        if include.name != "include" or "literal" in options or "code" in options:
            return _code_block(lines, options, place)
        if posixpath.splitext(place)[1] in {".md", ".markdown"} or "parser" in options:
            return []  # a different format; the file is a document of its own
        return list(self.expand(lines, place, depth + 1))


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


def _select(lines: list[str], options: dict[str, str]) -> list[str]:
    """Return the lines of a file that the options select by number or by text."""
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


def _code_block(lines: list[str], options: dict[str, str], place: str) -> list[str]:
    body = textwrap.dedent("\n".join(lines)).strip("\n")
    if not body.strip():
        return []
    language = options.get("language") or options.get("code") or LANGUAGES.get(posixpath.splitext(place)[1], "")
    caption = [f"   :caption: {options['caption']}"] if options.get("caption") else []
    return ["", f".. code-block:: {language}".rstrip(), *caption, "", *textwrap.indent(body, "   ").split("\n"), ""]


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
