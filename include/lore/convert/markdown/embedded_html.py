"""HTML within Markdown: comments aren't text, and preformatted text is code."""

from __future__ import annotations

import html
import re

from lore.convert.markdown.fences import fence_code, iter_lines
from lore.convert.omissions import Omissions

__all__ = ["CODE_SPAN", "resolve_html", "separate_rules"]

TOKEN = re.compile(
    r"^[ \t]*(?:>[ \t]?|[-*+][ \t]+|\d{1,9}[.)][ \t]+){0,20}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})|`+|<!--|<pre\b",
    re.MULTILINE | re.IGNORECASE,
)
CODE_SPAN = re.compile(r"(`+)(?!`)(?:(?!\n[ \t]*\n).){1,2000}?(?<!`)\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"<!--(?:>|->|.*?-->)", re.DOTALL)
PRE = re.compile(r"<pre\b(?P<attributes>[^>]{0,500})>(?P<body>.*?)</pre\s*>", re.DOTALL | re.IGNORECASE)
TAG = re.compile(
    r"</?(?:code|span|b|i|em|strong|a|var|kbd|samp|u|mark|font|ins|del)\b[^<>]{0,500}>|<br\s*/?>", re.IGNORECASE
)
LANGUAGE = re.compile(r"\blang(?:uage)?(?:-|\s*=\s*[\"']?)(?P<name>[\w+#.-]{1,30})", re.IGNORECASE)
LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]")
RULE = re.compile(r" {0,3}-{2,}[ \t]*$")
NOT_A_TITLE = re.compile(r" {0,3}(?:[-*+][ \t]|\d{1,9}[.)][ \t]|>|\||</?[a-z][\w-]*(?:[\s>]|$))", re.IGNORECASE)
TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$")


def resolve_html(text: str, omissions: Omissions) -> str:
    """Return a Markdown text without the HTML comments outside code, and with blocks of `<pre>` as fenced code."""
    if "<!--" not in text and "<pre" not in text.lower():
        return text
    out: list[str] = []
    position = 0
    last = {"<!--": text.rfind("-->"), "<pre": text.lower().rfind("</pre")}
    while found := TOKEN.search(text, position):
        out.append(text[position : found.start()])
        if last.get(found[0].lower(), len(text)) < found.start():  # never closed: a reader sees it as text
            piece, position = found[0], found.end()
        else:
            piece, position = _resolved(text, found, omissions)
        if piece == "" and position > found.start():
            position = _close_gap(out, text, position)
        out.append(piece)
    return "".join([*out, text[position:]])


def separate_rules(text: str) -> str:
    """Put a blank line above each rule below a list, a quote or a table, which isn't the underline of a heading."""
    out: list[str] = []
    opening = ""  # the first line of the block above
    is_table = False
    for line, code in iter_lines(text):
        if code or not line.strip():
            opening, is_table = "", False
        elif RULE.match(line) and (is_table or NOT_A_TITLE.match(opening)):
            out.append("")
            opening, is_table = "", False
        elif not opening:
            opening = line
        elif TABLE_RULE.match(line):
            is_table = True
        out.append(line)
    return "\n".join(out)


def _resolved(text: str, found: re.Match[str], omissions: Omissions) -> tuple[str, int]:
    """Return what replaces the construct at a match, and the position after the construct."""
    start, opening = found.start(), found[0]
    if found["fence"]:
        fence = found["fence"]
        closing = re.compile(rf"^[ \t>]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
        end = closing.search(text, found.end())
        return text[start : (after := end.end() if end else len(text))], after
    if opening.startswith("`"):
        span = CODE_SPAN.match(text, start)
        return text[start : (after := span.end() if span else found.end())], after
    if _is_indented_code(text, start):
        return opening, found.end()
    if opening == "<!--":
        comment = COMMENT.match(text, start)
        if comment is None:
            return opening, found.end()
        omissions.add("comments", comment[0][4:-3])
        return "", comment.end()
    pre = PRE.match(text, start)
    if pre is None or ("\n" not in pre["body"] and text[text.rfind("\n", 0, start) + 1 : start].strip()):
        return opening, found.end()
    return _code_block(text, pre), pre.end()


def _code_block(text: str, pre: re.Match[str]) -> str:
    language = LANGUAGE.search(pre["attributes"] + pre["body"].partition(">")[0])
    body = html.unescape(TAG.sub(lambda tag: "\n" if tag[0].lower().startswith("<br") else "", pre["body"]))
    block = fence_code(body.strip("\n"), language["name"].lower() if language else "")
    before = "" if pre.start() == 0 or text[pre.start() - 1] == "\n" else "\n"
    after = "" if text[pre.end() : pre.end() + 1] in ("\n", "") else "\n"
    return f"{before}{block}{after}"


def _is_indented_code(text: str, start: int) -> bool:
    """True for a line that is indented like code below a blank line, and not within a list."""
    line_start = text.rfind("\n", 0, start) + 1
    if not re.match(r"(?: {4}|\t)\s*$", text[line_start:start]):
        return False
    if line_start and text[line_start - 2 : line_start] != "\n\n":
        return False
    above = text[max(0, line_start - 1000) : line_start].split("\n")
    left = next((line for line in reversed(above) if line.strip() and not line.startswith((" ", "\t"))), "")
    return not LIST_ITEM.match(left)


def _close_gap(out: list[str], text: str, position: int) -> int:
    """Remove the line that a comment leaves empty, or one of the two spaces around it."""
    before = "".join(out[-1:])
    end = text.find("\n", position)
    line, after = before.rpartition("\n")[2], text[position : end if end >= 0 else len(text)]
    if not line.strip() and not after.strip():
        if out:
            out[-1] = before[: len(before) - len(line)]
        position += len(after) + 1
        while out and out[-1].endswith("\n\n") and text[position : position + 1] == "\n":
            position += 1
    elif line.endswith((" ", "\t")) and after.startswith((" ", "\t")):
        position += 1
    return min(position, len(text))
