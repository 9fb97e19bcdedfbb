"""Conversion of every source format to Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore.convert.formats import FORMATS, format_of
from lore.convert.includes import INCLUDING_FORMATS, is_partial, resolve_includes
from lore.convert.omissions import OMITTED
from lore.convert.result import ANCHORS, PAGES

if TYPE_CHECKING:
    from lore.types import Document

__all__ = [
    "ANCHORS",
    "CONVERTER_VERSION",
    "FORMATS",
    "INCLUDING_FORMATS",
    "OMITTED",
    "PAGES",
    "convert",
    "format_of",
    "is_partial",
    "resolve_includes",
]

CONVERTER_VERSION = 7
"""Part of every document's fingerprint. Raise it when a converter's output changes: documents are then reconverted."""


def convert(document: Document) -> Document:
    """Return the document with Markdown as its text, a title, front matter in `metadata`, and `data` set to None.

    The title is the first one found of: front matter; the source's, unless it only repeats the file name; the text's
    own (first H1, a page's <title>); the file name. Raises ConversionError, and nothing else, for a document that
    can't be converted.
    """
    from lore.convert.dispatch import convert_document

    return convert_document(document)
