"""Markdown files that an RST text includes, as HTML."""

from __future__ import annotations

from lore.convert.markdown.document import convert_markdown

__all__ = ["markdown_to_html"]


def markdown_to_html(text: str) -> str:
    """Return the HTML of a Markdown text without its front matter."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return str(parser.render(convert_markdown(text).text))
