"""MDX to Markdown: JavaScript goes, what component tags enclose stays, labels of tabs and notes become bold lines."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from include.lore.convert.fences import Line, lines

__all__ = ["is_mdx", "strip_mdx"]

IMPORT = re.compile(r"^import[ \t]+(?:[\w{*$][^'\"]*[\s}]from[ \t]*)?['\"][^'\"\n]+['\"];?[ \t]*$")
EXPORT = re.compile(
    r"^export[ \t]+(?:default\b|(?:const|let|var)[ \t]+[\w{\[$]|(?:async[ \t]+)?function\b|class\b|\{|\*)"
)
MAX_STATEMENT = 400
"""Lines of an import or export beyond which it is text that only looks like one."""

ADMONITION = re.compile(r"^(?P<indent>[ \t]*):{3,}[ \t]*(?:(?P<kind>[A-Za-z][\w-]*)(?P<title>[^:\n]*))?$", re.MULTILINE)
BLOCK_EXPRESSION = re.compile(r"^[ \t]*\{[^{}]*(?:\{[^{}]*\}[^{}]*){0,50}\}[ \t]*$", re.MULTILINE)
LITERAL = re.compile(r"\{\s*(['\"`])([^'\"`{}\\]*)\1\s*\}")
CODE_SPAN = re.compile(r"(`+)(?!`)(?:(?!\n[ \t]*\n).){1,2000}?(?<!`)\1(?!`)", re.DOTALL)
TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w.-]*)(?=[\s/>])|</?>")
MAX_TAG = 5000
LABEL = re.compile(
    r"(?<![\w-])(?:label|title|summary|header|heading)\s*=\s*\{?\s*(?P<quote>[\"'`])(?P<text>[^\"'`]*)(?P=quote)"
)
VALUE = re.compile(r"(?<![\w-])value\s*=\s*\{?\s*(?P<quote>[\"'`])(?P<text>[^\"'`]*)(?P=quote)")

OPEN, CLOSE = "\ue000+", "\ue000-"
"""Marks for the places of tags on lines of their own, until what stands between them lost its indentation."""
MAX_NESTING = 50


def is_mdx(text: str) -> bool:
    """Whether a Markdown text has an import statement outside code: the sign by which MDX is known."""
    return "\nimport " in f"\n{text}" and any(not line.code and IMPORT.match(line.text) for line in lines(text))


def strip_mdx(text: str) -> str:
    """The text as plain Markdown; code blocks and code spans are left as they are."""
    pieces: list[str] = []
    prose: list[str] = []
    for line in _without_statements(list(lines(text.replace("\ue000", "")))):
        if not line.code:
            prose.append(line.text)
            continue
        if prose:
            pieces.append(_strip_prose("\n".join(prose)))
            prose = []
        pieces.append(line.text)
    if prose:
        pieces.append(_strip_prose("\n".join(prose)))
    return re.sub(r"\A\n+", "", _dedent("\n".join(pieces).split("\n")))


def _without_statements(all_lines: list[Line]) -> Iterator[Line]:
    position = 0
    while position < len(all_lines):
        line = all_lines[position]
        length = 0 if line.code else _statement_length(all_lines, position)
        if length == 0:
            yield line
        position += length or 1


def _statement_length(all_lines: list[Line], start: int) -> int:
    """How many lines the import or export takes that begins here; 0 when none does."""
    first = all_lines[start].text
    if first.startswith("import"):
        statement = ""
        for length, line in enumerate(all_lines[start : start + 40], start=1):
            statement += line.text + "\n"
            if IMPORT.match(statement.rstrip("\n").replace("\n", " ")):
                return length
            if not line.text.strip():
                break
        return 0
    if not EXPORT.match(first):
        return 0
    depth = 0
    for length, line in enumerate(all_lines[start : start + MAX_STATEMENT], start=1):
        depth += sum(line.text.count(sign) for sign in "{([") - sum(line.text.count(sign) for sign in "})]")
        following = all_lines[start + length].text if start + length < len(all_lines) else ""
        if depth <= 0 and not following.strip():
            return length
    return 1


def _strip_prose(text: str) -> str:
    text = ADMONITION.sub(_admonition, text)
    out: list[str] = []
    position = 0
    for match in re.finditer(r"`|\{/\*|\{\s*['\"`]|</?[A-Za-z>]", text):
        start = match.start()
        if start < position:
            continue
        out.append(text[position:start])
        replacement, position = _replace(text, start)
        out.append(replacement)
    out.append(text[position:])
    return BLOCK_EXPRESSION.sub("", "".join(out))


def _replace(text: str, start: int) -> tuple[str, int]:
    """What stands instead of the construct that begins at `start`, and where the text goes on."""
    if text[start] == "`":
        span = CODE_SPAN.match(text, start)
        end = span.end() if span else start + len(text[start:]) - len(text[start:].lstrip("`"))
        return text[start:end], end
    if text.startswith("{/*", start):
        end = text.find("*/}", start)
        return ("", end + 3) if end >= 0 else ("{/*", start + 3)
    if text[start] == "{":
        literal = LITERAL.match(text, start)
        return (literal[2], literal.end()) if literal else ("{", start + 1)
    tag = _read_tag(text, start)
    return (tag.replacement(), tag.end) if tag else ("<", start + 1)


@dataclass(frozen=True, slots=True)
class _Tag:
    text: str
    name: str
    end: int
    alone: bool

    def replacement(self) -> str:
        """Nothing for a component's tag, but its label and a mark of its place; HTML's own tags stay."""
        component = not self.name or self.name[0].isupper() or "." in self.name
        if not component:
            return "" if re.search(r"\w\s*=\s*\{|\bclassName\s*=", self.text) else self.text
        closes, closed = self.text.startswith("</"), self.text.endswith("/>")
        mark = "" if not self.alone or (closed and not closes) else CLOSE if closes else OPEN
        label = "" if closes else self._label()
        return f"{mark}\n\n{label}\n" if label and self.alone else mark or label

    def _label(self) -> str:
        match = LABEL.search(self.text) or (VALUE.search(self.text) if self.name.startswith("Tab") else None)
        words = " ".join(match["text"].split()) if match else ""
        return f"**{words}**" if words else ""


def _read_tag(text: str, start: int) -> _Tag | None:
    """The tag that begins at `start`, braces and quotes in its attributes balanced."""
    match = TAG.match(text, start)
    if match is None:
        return None
    depth, quote = 0, ""
    for position in range(max(match.end() - 1, start + 1), min(len(text), start + MAX_TAG)):
        sign = text[position]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'`" and (depth or text[position - 1] in "= \n\t"):
            quote = sign
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
        elif sign == ">" and depth <= 0:
            before = text[text.rfind("\n", 0, start) + 1 : start]
            after = text[position + 1 : position + 200].split("\n", 1)[0]
            return _Tag(
                text[start : position + 1], match["name"] or "", position + 1, not before.strip() and not after.strip()
            )
    return None


def _admonition(match: re.Match[str]) -> str:
    if not match["kind"]:
        return ""
    kind, title = match["kind"].capitalize(), (match["title"] or "").strip().strip("[]")
    return f"{match['indent']}**{kind}: {title}**\n" if title else f"{match['indent']}**{kind}**\n"


def _dedent(marked: list[str]) -> str:
    """Take the marks out, and between two of them the indentation, which makes code in Markdown but not in MDX."""
    out: list[str] = []
    opened: list[tuple[int, str]] = []
    for line in marked:
        if OPEN in line and len(opened) < MAX_NESTING:
            opened.append((len(out) + 1, line[: line.index(OPEN)]))
        elif CLOSE in line and opened:
            start, indent = opened.pop()
            inner = textwrap.dedent("\n".join(out[start:]))
            out[start:] = textwrap.indent(inner, indent if not indent.strip() else "").split("\n") if inner else []
        out.append(line.replace(OPEN, "").replace(CLOSE, "").rstrip() if "\ue000" in line else line)
    return "\n".join(out)
