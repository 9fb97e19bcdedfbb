"""Inclusion of other files in an RST text."""

from __future__ import annotations

import posixpath
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lore.convert.included_files import LANGUAGES, MAX_DEPTH, IncludedFiles, Read, select_lines

__all__ = ["MARKDOWN_DIRECTIVE", "outside_literal", "resolve_rst_includes"]

MARKDOWN_DIRECTIVE = "lore-markdown"
"""Name of the directive that holds an included Markdown file."""
DIRECTIVE = re.compile(
    r"^(?P<indent>\s*)\.\. (?P<name>include|literalinclude|exampleinclude|csv-table)::\s*(?P<target>.*?)\s*$"
)
OPTION = re.compile(r"^(?P<indent>\s+):(?P<name>[\w-]+):\s*(?P<value>.*?)\s*$")
LITERAL = re.compile(
    r"^\s*\.\. (?:code|code-block|sourcecode|literal|parsed-literal|raw|prompt)::|^(?!\s*\.\. ).*::\s*$"
)


def resolve_rst_includes(text: str, path: str, read: Read) -> str:
    """Return the text with the files of `include`, `literalinclude`, `exampleinclude` and `csv-table` put in place.

    `path` and `read` are those of `includes.resolve_includes`. A directive with an unreadable target is dropped, but
    for a table, whose file conversion names.
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
    indent: int
    lines: list[str]
    """The directive as it is written."""
    options: dict[str, str] = field(default_factory=dict)


class _Resolver:
    def __init__(self, read: Read) -> None:
        self._files = IncludedFiles(read)

    def expand(self, lines: list[str], path: str, depth: int) -> Iterator[str]:
        include: _Include | None = None
        for number, (line, literal) in enumerate([*outside_literal(lines), ("", False)]):
            if include is not None:
                option = OPTION.match(line)
                if option and len(option["indent"]) > include.indent:
                    include.options[option["name"]] = option["value"]
                    include.lines.append(line)
                    continue
                for piece in self._included(include, path, depth):
                    yield " " * include.indent + piece if piece.strip() else ""
                include = None
            match = DIRECTIVE.match(line) if not literal and ".. " in line else None
            if match is None and number < len(lines):
                yield line
            elif match is not None:
                include = _Include(match["name"], match["target"], len(match["indent"]), [line])

    def _included(self, include: _Include, path: str, depth: int) -> list[str]:
        """Return the lines in place of a directive, without its indentation."""
        is_table = include.name == "csv-table"
        target = include.options.get("file", "") if is_table else include.target
        found = None if depth >= MAX_DEPTH or target.startswith("<") or not target else self._files.find(target, path)
        if found is None:
            return [line[include.indent :] for line in include.lines] if is_table else []
        place, text = found
        if is_table:
            head = [line[include.indent :] for line in include.lines if not re.match(r"\s+:file:", line)]
            return [*head, "", *textwrap.indent(text.strip("\n"), "   ").split("\n"), ""]
        options = include.options
        lines = select_lines(text.expandtabs(8).split("\n"), options)
        if include.name != "include" or "literal" in options or "code" in options:
            return _code_block(lines, options, place)
        if _is_markdown(place, options.get("parser", "")):
            return ["", f".. {MARKDOWN_DIRECTIVE}::", "", *textwrap.indent("\n".join(lines), "   ").split("\n"), ""]
        return list(self.expand(lines, place, depth + 1)) if not options.get("parser") else []


def _is_markdown(place: str, parser: str) -> bool:
    """True if a file is Markdown by its parser, or by its suffix without one."""
    if parser:
        return any(name in parser.lower() for name in ("myst", "markdown", "commonmark", "recommonmark"))
    return posixpath.splitext(place)[1].lower() in (".md", ".markdown")


def _code_block(lines: list[str], options: dict[str, str], place: str) -> list[str]:
    body = textwrap.dedent("\n".join(lines)).strip("\n")
    if not body.strip():
        return []
    language = options.get("language") or options.get("code") or LANGUAGES.get(posixpath.splitext(place)[1], "")
    caption = [f"   :caption: {options['caption']}"] if options.get("caption") else []
    return ["", f".. code-block:: {language}".rstrip(), *caption, "", *textwrap.indent(body, "   ").split("\n"), ""]
