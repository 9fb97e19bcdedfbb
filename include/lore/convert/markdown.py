"""Markdown stays as it is, but for front matter; MDX also loses its imports, expressions and component tags."""

from __future__ import annotations

import html
import re

from lore.convert.fences import lines
from lore.convert.front_matter import split_front_matter
from lore.convert.mdx import is_mdx, strip_mdx
from lore.convert.result import Converted

__all__ = ["convert_markdown", "convert_mdx", "first_heading", "plain"]

ATX = re.compile(r"^ {0,3}#[ \t]+(?P<title>.*?)(?:[ \t]+#+)?[ \t]*$")
SETEXT = re.compile(r"^ {0,3}=+[ \t]*$")
HTML_H1 = re.compile(r"<h1\b[^>]{0,300}>(?P<title>.{0,500}?)</h1>", re.IGNORECASE)
MAX_TITLE = 500
TITLE_KEYS = ("title", "Title")


def convert_markdown(text: str) -> Converted:
    """The text without its front matter; a `.md` file that holds MDX is read as MDX."""
    metadata, body = split_front_matter(text)
    if is_mdx(body):
        body = strip_mdx(body)
    return _converted(metadata, body)


def convert_mdx(text: str) -> Converted:
    """The text without front matter, imports, exports, expressions and component tags; what tags enclose is kept."""
    metadata, body = split_front_matter(text)
    return _converted(metadata, strip_mdx(body))


def first_heading(text: str) -> str:
    """The plain text of the first heading of the first level outside code, or ""."""
    before = ""
    for line, code in lines(text):
        if code:
            before = ""
            continue
        match = ATX.match(line) or ("</h1>" in line.lower() and HTML_H1.search(line))
        if match and plain(match["title"]):
            return plain(match["title"])
        if SETEXT.match(line) and before.strip() and not before.lstrip().startswith((">", "-", "*", "|", "#")):
            return plain(before)
        before = line
    return ""


def plain(markdown: str) -> str:
    """One line of Markdown as plain text: for titles."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown[:MAX_TITLE])
    text = re.sub(r"<[^<>]*>|\{#[\w-]+\}", "", text)
    text = re.sub(r"(`+|\*\*|__|~~)(.+?)\1", r"\2", text)
    text = re.sub(r"(?<![\w*])[*](\S(?:[^*]*\S)?)[*](?!\w)", r"\1", text)
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    return " ".join(html.unescape(text).split())


def _converted(metadata: dict[str, object], body: str) -> Converted:
    declared = next((str(metadata[key]) for key in TITLE_KEYS if isinstance(metadata.get(key), (str, int, float))), "")
    return Converted(body, title=first_heading(body), declared_title=declared.strip(), metadata=metadata)
