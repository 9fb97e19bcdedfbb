"""Inclusion of other files in a text, done while the source can read them: conversion happens elsewhere."""

from __future__ import annotations

import posixpath

from lore.convert.asciidoc.includes import resolve_asciidoc_includes
from lore.convert.included_files import Read
from lore.convert.markdown.includes import resolve_markdown_includes
from lore.convert.rst.includes import resolve_rst_includes

__all__ = ["INCLUDING_FORMATS", "is_partial", "resolve_includes"]

INCLUDING_FORMATS = frozenset({"asciidoc", "markdown", "mdx", "rst"})
"""Formats whose texts may include other files."""


def resolve_includes(text: str, path: str, read: Read, format: str = "rst") -> str:
    """Return the text with the files that its `include` directives, snippets and imports name.

    `path` is the text's own path in the source, with `/`. `read` returns the text of a path in the source, or None;
    it is called for paths inside the source only. `format` is one of INCLUDING_FORMATS.
    """
    match format:
        case "rst":
            return resolve_rst_includes(text, path, read)
        case "asciidoc":
            return resolve_asciidoc_includes(text, path, read)
        case _:
            return resolve_markdown_includes(text, path, read)


def is_partial(path: str) -> bool:
    """True for a Markdown file that other pages import and that has no page of its own, such as `_limits.mdx`."""
    stem, suffix = posixpath.splitext(posixpath.basename(path))
    return stem.startswith("_") and stem != "_index" and suffix.lower() in (".md", ".mdx")
