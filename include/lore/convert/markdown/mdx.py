"""MDX to Markdown: JavaScript goes, content of components stays, labels of tabs and notes become bold lines."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping

from lore.convert.markdown.components import code_component, component_text
from lore.convert.markdown.embedded_html import CODE_SPAN
from lore.convert.markdown.fences import MarkdownLine, iter_lines
from lore.convert.omissions import Omissions

__all__ = ["is_mdx", "strip_mdx"]

IMPORT = re.compile(r"^import[ \t]+(?:[\w{*$][^'\"]*[\s}]from[ \t]*)?['\"][^'\"\n]+['\"];?[ \t]*$")
EXPORT = re.compile(
    r"^export[ \t]+(?:default\b|(?:const|let|var)[ \t]+[\w{\[$]|(?:async[ \t]+)?function\b|class\b|\{|\*)"
)
MAX_STATEMENT = 200
"""Lines of an export. A longer one is text that only looks like an export."""
MAX_IMPORT = 30

ADMONITION = re.compile(r"^(?P<indent>[ \t]*):{3,}[ \t]*(?:(?P<kind>[A-Za-z][\w-]*)(?P<title>[^:\n]*))?$", re.MULTILINE)
BLOCK_EXPRESSION = re.compile(r"^[ \t]*\{[^{}]*(?:\{[^{}]*\}[^{}]*){0,50}\}[ \t]*$", re.MULTILINE)
LITERAL = re.compile(
    r"\{\s{0,20}(?:(['\"])([^'\"`{}\\]{0,2000})\1|`((?:[^`$\\]|\\.|\$(?!\{)){0,20000})`)\s{0,20}\}", re.DOTALL
)
CONSTANT = re.compile(
    r"^export[ \t]+const[ \t]+(?P<name>[A-Za-z_$][\w$]*)[ \t]*=[ \t]*"
    r"(?:(?P<quote>[\"'`])(?P<text>[^\"'`\n]{0,2000})(?P=quote)|(?P<number>-?[\d.]+));?[ \t]*$",
    re.MULTILINE,
)
"""An exported value, which expressions of the text may name."""
TAG = re.compile(
    r"""<(?P<close>/?)(?P<name>[A-Za-z][\w.-]*)(?=[\s/>])(?:[^<>{}"'`]++|"[^"]{0,2000}"|'[^']{0,2000}'|`[^`]{0,2000}`"""
    r"""|\{(?:[^{}]++|\{(?:[^{}]++|\{[^{}]{0,2000}\}){0,500}+\}){0,500}+\}){0,500}+>|</?>"""
)
"""A tag with its attributes. Values may be expressions with braces nested three deep."""
TAB_LABELS = re.compile(
    r"""label:\s*["'](?P<label>[^"'\n]*)["'],\s*value:\s*["'](?P<value>[^"'\n]*)["']"""
    r"""|value:\s*["'](?P<value2>[^"'\n]*)["'],\s*label:\s*["'](?P<label2>[^"'\n]*)["']"""
)
"""A tab's label in the enclosing component's list of labels."""

OPEN, CLOSE = "\ue000+", "\ue000-"
"""Placeholders for tags on lines of their own, until the content between them is dedented."""
MAX_NESTING = 50


def is_mdx(text: str) -> bool:
    """True if a Markdown text has an import statement outside code, which identifies MDX."""
    return "\nimport " in f"\n{text}" and any(not line.code and IMPORT.match(line.text) for line in iter_lines(text))


def strip_mdx(text: str, omissions: Omissions) -> str:
    """Return the text as plain Markdown. Code blocks and code spans stay unchanged."""
    labels = {
        match["value"] or match["value2"]: match["label"] or match["label2"] for match in TAB_LABELS.finditer(text)
    }
    constants = {match["name"]: match["text"] or match["number"] or "" for match in CONSTANT.finditer(text)}
    pieces: list[str] = []
    prose: list[str] = []
    for line in _without_statements(list(iter_lines(text.replace("\ue000", ""))), omissions):
        if not line.code:
            prose.append(line.text)
            continue
        if prose:
            pieces.append(_strip_prose(_with_constants("\n".join(prose), constants), labels))
            prose = []
        pieces.append(line.text)
    if prose:
        pieces.append(_strip_prose(_with_constants("\n".join(prose), constants), labels))
    return _collapse_blank_lines(_dedent("\n".join(pieces).split("\n")))


def _with_constants(text: str, constants: Mapping[str, str]) -> str:
    """Write exported values where expressions name them."""
    if not constants:
        return text
    names = "|".join(re.escape(name) for name in constants)
    return re.sub(rf"(?<!\$)\{{\s*({names})\s*\}}", lambda match: constants[match[1]], text)


def _without_statements(all_lines: list[MarkdownLine], omissions: Omissions) -> Iterator[MarkdownLine]:
    """Yield the lines without imports and exports."""
    depths = [sum(map(line.text.count, "{([")) - sum(map(line.text.count, "})]")) for line in all_lines]
    position = 0
    while position < len(all_lines):
        line = all_lines[position]
        length = 0
        if not line.code and line.text.startswith("import"):
            length = _import_length(all_lines[position : position + MAX_IMPORT])
        elif not line.code and EXPORT.match(line.text):
            length = _export_length(all_lines, depths, position)
        if length == 0:
            yield line
        for statement in all_lines[position : position + length]:
            omissions.add("imports and exports", statement.text)
        position += length or 1


def _import_length(following: list[MarkdownLine]) -> int:
    """Return the number of lines of the import that the given lines begin with; 0 for prose."""
    statement = ""
    for length, line in enumerate(following, start=1):
        if not line.text.strip():
            break
        statement += line.text + " "
        if IMPORT.match(statement):
            return length
    return 0


def _export_length(all_lines: list[MarkdownLine], depths: list[int], start: int) -> int:
    """Return the number of lines of an export, which ends at the first blank line outside brackets."""
    depth = 0
    for position in range(start, min(start + MAX_STATEMENT, len(all_lines))):
        depth += depths[position]
        last = position + 1 == len(all_lines)
        if depth <= 0 and (last or not all_lines[position + 1].text.strip()):
            return position + 1 - start
    return 1


def _strip_prose(text: str, labels: Mapping[str, str]) -> str:
    text = ADMONITION.sub(_admonition, text)
    last_comment = text.rfind("*/}")
    out: list[str] = []
    position = 0
    for match in re.finditer(r"`+|\{/\*|\{\s{0,20}['\"`]|</?[A-Za-z>]", text):
        start = match.start()
        if start < position:
            continue
        out.append(text[position:start])
        replacement, position = _replace(text, match, last_comment, labels)
        out.append(replacement)
    out.append(text[position:])
    return BLOCK_EXPRESSION.sub("", "".join(out))


def _replace(text: str, found: re.Match[str], last_comment: int, labels: Mapping[str, str]) -> tuple[str, int]:
    """Return the replacement of the construct at a match, and the position after the construct."""
    start, sign = found.start(), found[0]
    if sign.startswith("`"):
        span = CODE_SPAN.match(text, start)
        end = span.end() if span else found.end()
        return text[start:end], end
    if sign == "{/*":
        return ("", text.index("*/}", start) + 3) if last_comment > start else (sign, found.end())
    if sign.startswith("{"):
        literal = LITERAL.match(text, start)
        if literal is None:
            return "{", start + 1
        return re.sub(r"\\([`$\\])", r"\1", literal[3]) if literal[2] is None else literal[2], literal.end()
    tag = TAG.match(text, start)
    if tag and (code := code_component(text, tag["name"] or "", tag)):
        return code
    return (_tag_replacement(text, tag, labels), tag.end()) if tag else ("<", start + 1)


def _tag_replacement(text: str, tag: re.Match[str], labels: Mapping[str, str]) -> str:
    """Return a component tag's label and placeholder. HTML's own tags stay."""
    name = tag["name"] or ""
    if name and not name[0].isupper() and "." not in name:
        if not re.search(r"\w\s*=\s*\{|\bclassName\s*=", tag[0]):
            return tag[0]
        return "" if tag[0].endswith("/>") else f"<{name}>"
    before = text[max(text.rfind("\n", 0, tag.start()) + 1, tag.start() - 200) : tag.start()]
    after = text[tag.end() : tag.end() + 200].split("\n", 1)[0]
    alone = not before.strip() and not after.strip()
    if tag[0].startswith("</"):
        return CLOSE if alone else ""
    label = component_text(name, tag[0], labels) if name else ""
    mark = OPEN if alone and not tag[0].endswith("/>") else ""
    return f"\n\n{before}{label}\n{before}{mark}" if label and alone else mark or label


def _admonition(match: re.Match[str]) -> str:
    if not match["kind"]:
        return ""
    kind, title = match["kind"].capitalize(), (match["title"] or "").strip().strip("[]")
    return f"{match['indent']}**{kind}: {title}**\n" if title else f"{match['indent']}**{kind}**\n"


def _dedent(marked: list[str]) -> str:
    """Remove the placeholders and dedent the lines between two of them: indentation isn't code in MDX."""
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


def _collapse_blank_lines(text: str) -> str:
    """Collapse the blank lines that removed constructs leave behind."""
    out: list[str] = []
    blank = True
    for line in iter_lines(text):
        if line.code or line.text.strip() or not blank:
            out.append(line.text)
        blank = not line.code and not line.text.strip()
    return "\n".join(out)
