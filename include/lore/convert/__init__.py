"""To Markdown: whatever a source holds becomes the one notation that everything after reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore.convert.anchors import ANCHORS
from lore.convert.formats import FORMATS, format_of
from lore.convert.includes import resolve_includes

if TYPE_CHECKING:
    from lore.types import Document

__all__ = ["ANCHORS", "CONVERTER_VERSION", "FORMATS", "convert", "format_of", "resolve_includes"]

CONVERTER_VERSION = 3
"""Part of every document's fingerprint: raise it when converters give other text, and documents are converted again."""


def convert(document: Document) -> Document:
    """The document with its text as Markdown, its title filled and its front matter in `metadata`; `data` is None.

    The title is the first of: front matter's; the source's, unless it is only the file's name; the one the text gives
    itself (first H1, a page's <title>); the file's name. Raises ConversionError, never another error, when this
    document cannot be converted.
    """
    from lore.convert.dispatch import convert_document

    return convert_document(document)
