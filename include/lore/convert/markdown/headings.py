"""Headings of Markdown as plain text."""

from __future__ import annotations

import html
import re

from lore.convert.markdown.fences import iter_lines

__all__ = ["first_heading", "plain_text"]

ATX = re.compile(r"^ {0,3}#[ \t]+(?P<title>.*?)(?:[ \t]+#+)?[ \t]*$")
SETEXT = re.compile(r"^ {0,3}=+[ \t]*$")
HTML_H1 = re.compile(r"<h1\b[^>]{0,300}>(?P<title>.{0,500}?)</h1>", re.IGNORECASE)
MAX_TITLE = 500


def first_heading(text: str) -> str:
    """Return the plain text of the first level 1 heading outside code, or ""."""
    before = ""
    for line, code in iter_lines(text):
        if code:
            before = ""
            continue
        match = ATX.match(line) or ("</h1>" in line.lower() and HTML_H1.search(line))
        if match and plain_text(match["title"]):
            return plain_text(match["title"])
        if SETEXT.match(line) and before.strip() and not before.lstrip().startswith((">", "-", "*", "|", "#")):
            return plain_text(before)
        before = line
    return ""


def plain_text(markdown: str) -> str:
    """Return one line of Markdown, such as a title, as plain text."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown[:MAX_TITLE])
    text = re.sub(r"<[^<>]*>|\{#[\w-]+\}", "", text)
    text = re.sub(r"(`+|\*\*|__|~~)(.+?)\1", r"\2", text)
    text = re.sub(r"(?<![\w*])[*](\S(?:[^*]*\S)?)[*](?!\w)", r"\1", text)
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    return " ".join(html.unescape(text).split())
