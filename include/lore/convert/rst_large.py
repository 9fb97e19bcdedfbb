"""A very long reStructuredText, read line by line: docutils takes some three seconds for each megabyte.

Headings, code, tables, notes and the text of roles and links come out as docutils would have them. What needs a whole
document does not: the titles that references lead to, substitutions, numbers of footnotes, lists inside tables. Time
and memory grow with the length of the text alone.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from docutils.parsers.rst.states import Body

from lore.convert.fences import fenced
from lore.convert.rst_directives import CODE, DIAGRAMS, DROPPED, LABELS, LITERAL_ROLES

__all__ = ["read_large_rst"]

DEEPEST = 12
"""Blocks within blocks that are taken apart; deeper ones are text."""
DEEPEST_HEADING = 6

_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1+\s*$")
_DIRECTIVE = re.compile(r"\.\.\s+(?:\|[^|\n]*\|\s+)?([\w:+.-]+?)\s?::(?:\s+(.*))?$")
_NOTE = re.compile(r"\.\.\s+\[([^\]\s]+)\]\s*(.*)$")
_OPTION = re.compile(r":[\w -]+:(\s|$)")
_ITEM = re.compile(r"(?:[-*+•]|\(?(?:\d{1,9}|[A-Za-z]|#)[.)])\s+(?=\S)")
_SIMPLE, _GRID = Body.simple_table_top_pat, Body.grid_table_top_pat
"""How a table begins that is drawn; a simple one's other borders look like its first."""
_SPANS = re.compile(
    r"``(?P<literal>[^`\n]+(?:`[^`\n]+)*?)``"
    r"|:(?P<role>[A-Za-z][\w.+:-]*):`(?P<text>[^`]+)`"
    r"|`(?P<label>[^`<>]+?)\s*<(?P<target>[^`<>\s]+)>`__?"
    r"|`(?P<plain>[^`]+)`(?:__?)?"
)
_TITLED = re.compile(r"(?s)(.+?)\s*<[^<>]*>$")
_IMAGES = frozenset({"image", "figure"})


def read_large_rst(text: str) -> str:
    """The text as Markdown."""
    lines = _Reader().read(text.expandtabs(8).split("\n"), 0)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


class _Reader:
    """Knows which underlines stand for which level, in the order in which the text uses them."""

    def __init__(self) -> None:
        self._styles: list[tuple[str, bool]] = []

    def read(self, lines: Sequence[str], depth: int) -> Iterator[str]:
        """The lines of a block, the first of which that is not blank begins at its edge, as lines of Markdown."""
        place = 0
        while place < len(lines):
            line = lines[place].rstrip()
            if not line:
                yield ""
                place += 1
            elif heading := self._heading(lines, place, depth):
                title, place = heading
                yield from ("", title, "")
            elif line.startswith(".. ") or line == "..":
                body, place = _indented(lines, place + 1)
                yield from ("", *self._explicit(line, body, depth), "")
            elif _SIMPLE.match(line) or _GRID.match(line):
                end = _table_end(lines, place)
                yield from ("", fenced("\n".join(each.rstrip() for each in lines[place:end])), "")
                place = end
            elif line.startswith(" "):
                body, place = _indented(lines, place)
                yield from self._nested(body, depth)
            elif (item := _ITEM.match(line)) and depth < DEEPEST:
                body, place = _indented(lines, place + 1)
                inside = list(self.read([line[item.end() :], *textwrap.dedent("\n".join(body)).split("\n")], depth + 1))
                mark = item[0] if item[0][0] not in "•(#" else "- "
                yield from _hanging(mark, inside)
            else:
                paragraph, place = _paragraph(lines, place)
                body, after = _indented(lines, place) if paragraph[-1].endswith("::") else ([], place)
                yield from _inline(paragraph, literal=bool(body))
                if body:
                    place = after
                    yield from ("", fenced(textwrap.dedent("\n".join(body)).strip("\n")), "")

    def _heading(self, lines: Sequence[str], place: int, depth: int) -> tuple[str, int] | None:
        """The heading that begins here, and the place after it."""
        if depth:
            return None
        below = [lines[number].rstrip() if number < len(lines) else "" for number in range(place, place + 3)]
        first, second, third = below
        if _UNDERLINE.match(first) and second.strip() and _UNDERLINE.match(third) and first[0] == third[0]:
            title, style, place = second.strip(), (first[0], True), place + 3
        elif _UNDERLINE.match(second) and not first.startswith((" ", "..")) and not _UNDERLINE.match(first):
            if len(second) < min(4, len(first)):
                return None
            title, style, place = first, (second[0], False), place + 2
        else:
            return None
        if style not in self._styles:
            self._styles.append(style)
        level = min(self._styles.index(style) + 1, DEEPEST_HEADING)
        return f"{'#' * level} {_text(title)}", place

    def _explicit(self, line: str, body: list[str], depth: int) -> Iterator[str]:
        """A directive or a footnote; comments, targets and definitions are not shown."""
        if note := _NOTE.match(line):
            yield _text(f"[{note[1]}] {note[2]}")
            yield from self._nested(body, depth)
            return
        directive = _DIRECTIVE.match(line)
        if directive is None:
            return
        name, argument = directive[1].lower(), (directive[2] or "").strip()
        body = textwrap.dedent("\n".join(body)).split("\n")
        while body and (_OPTION.match(body[0]) or not body[0].strip()):
            body = body[1:]
        if name in CODE or name in DIAGRAMS or name == "parsed-literal":
            code = "\n".join(body).strip("\n")
            if code:
                yield fenced(code, argument.lower() if name in CODE else "")
        elif name in LABELS:
            yield from self._labelled(name, argument, body, depth)
        elif not (name in DROPPED or name.startswith("auto") or name in ("replace", "unicode", "role")):
            if argument and name not in _IMAGES:
                yield from (f"**{_text(argument)}**", "")
            yield from self._nested(body, depth)

    def _labelled(self, name: str, argument: str, body: list[str], depth: int) -> Iterator[str]:
        label = LABELS[name]
        if name.startswith(("version", "deprecated")):
            version, _, argument = argument.partition(" ")
            label = f"{label} {version}"
        yield f"**{label}:** {_text(argument)}".rstrip()
        yield ""
        yield from self._nested(body, depth)

    def _nested(self, body: Sequence[str], depth: int) -> Iterator[str]:
        if depth >= DEEPEST:
            yield from (each.strip() for each in body)
            return
        yield from self.read(textwrap.dedent("\n".join(body)).split("\n"), depth + 1)


def _indented(lines: Sequence[str], place: int) -> tuple[list[str], int]:
    """The lines from here that are indented or blank, without the last blank ones; and the place after them."""
    end = last = place
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
        end += 1
        if lines[end - 1].strip():
            last = end
    return list(lines[place:last]), last


def _paragraph(lines: Sequence[str], place: int) -> tuple[list[str], int]:
    """The lines up to a blank or an indented one, at least one."""
    end = place + 1
    while end < len(lines) and lines[end].strip() and not lines[end].startswith((" ", ".. ")):
        if end + 1 < len(lines) and _UNDERLINE.match(lines[end + 1]):
            break
        end += 1
    return [line.rstrip() for line in lines[place:end]], end


def _table_end(lines: Sequence[str], place: int) -> int:
    """Where a drawn table ends: after its last border, before a blank line."""
    end = place
    while end < len(lines) and (lines[end].strip() or (not _GRID.match(lines[place]) and _more_rows(lines, end))):
        end += 1
    return end


def _more_rows(lines: Sequence[str], blank: int) -> bool:
    """Whether a simple table goes on below a blank line: it does until a border is followed by one."""
    return blank + 1 < len(lines) and bool(lines[blank + 1].strip()) and not _SIMPLE.match(lines[blank - 1].rstrip())


def _hanging(mark: str, inside: Sequence[str]) -> Iterator[str]:
    first, *others = "\n".join(inside).split("\n")
    yield mark + first
    yield from (f"{' ' * len(mark)}{line}" if line else "" for line in others)


def _inline(paragraph: list[str], *, literal: bool) -> Iterator[str]:
    text = "\n".join(paragraph)
    if literal:  # "Run this::" says "Run this:", and "Run this ::" no colon
        said = text.removesuffix("::")
        text = f"{said}:" if said and said == said.rstrip() else said.rstrip()
    if text.strip():
        yield _text(text)


def _text(text: str) -> str:
    return _SPANS.sub(_span, text)


def _span(match: re.Match[str]) -> str:
    if match["literal"] is not None:
        return f"`{match['literal']}`"
    if match["label"] is not None:
        target = match["target"]
        return f"[{match['label']}]({target})" if re.match(r"https?://|mailto:", target) else match["label"]
    if match["role"] is None:
        return str(match["plain"])
    titled = _TITLED.match(match["text"])
    words = titled[1] if titled else match["text"].lstrip("!")
    if words.startswith("~"):
        words = words[1:].rsplit(".", 1)[-1]
    return f"`{words}`" if LITERAL_ROLES.fullmatch(match["role"]) else words
