"""One document through the converter of its format, and every way to fail made one error."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from lore.convert.decoding import clean, decode, refuse_binary
from lore.convert.formats import BINARY_FORMATS, CODE_PREFIX, FORMATS
from lore.convert.result import Converted
from lore.errors import ConversionError
from lore.types import Document

__all__ = ["convert_document"]

MAX_SIZE = 32 * 1024 * 1024
"""Bytes or characters of one document; a page's tree takes about 20 times its size in memory."""


def convert_document(document: Document) -> Document:
    """See `lore.convert.convert`."""
    try:
        converted = _convert(document)
        title = _title(document, converted)
    except ConversionError as error:
        raise ConversionError(f"{document.id}: {error.message}", remedy=error.remedy) from error
    except (Exception, RecursionError) as error:  # any library's: one document fails alone
        raise ConversionError(
            f"{document.id}: converting {document.format} failed with {type(error).__name__}: {str(error)[:200]}",
            remedy="Check the file; if it is sound, report it with the file.",
        ) from error
    metadata = {**converted.metadata, **document.metadata}  # a text cannot change what its source says
    return replace(document, text=converted.text, title=title, format="markdown", metadata=metadata, data=None)


def _convert(document: Document) -> Converted:
    size = len(document.data) if document.data is not None else len(document.text)
    if size > MAX_SIZE:
        raise ConversionError(
            f"It is {size / 1e6:.0f} MB, more than the {MAX_SIZE / 1e6:.0f} MB that are converted.",
            remedy="Split it, or leave it out of the source.",
        )
    if document.format not in FORMATS:
        raise ConversionError(
            f"Unknown format {document.format!r}.", remedy=f"Known are: {', '.join(sorted(FORMATS))}."
        )
    if document.format in BINARY_FORMATS:
        return _convert_binary(document)
    text = decode(document.data) if document.data is not None else document.text
    if document.data is None:
        refuse_binary(text)
    return _converter(document.format, document.url)(clean(text))


def _convert_binary(document: Document) -> Converted:
    if document.data is None:
        raise ConversionError(
            f"A document in the format {document.format} has bytes, and this one has text.",
            remedy="Give its `data`, or its format as text.",
        )
    if document.format == "pdf":
        from lore.convert.pdf import convert_pdf

        converted = convert_pdf(document.data)
    else:
        from lore.convert.office import convert_office

        converted = convert_office(document.data, document.format)
    return replace(converted, text=clean(converted.text))


def _converter(name: str, url: str) -> Callable[[str], Converted]:
    """The converter of a format; its libraries are imported here, on first use."""
    if name.startswith(CODE_PREFIX):
        from lore.convert.text import convert_code

        return lambda text: convert_code(text, name.removeprefix(CODE_PREFIX))
    match name:
        case "markdown":
            from lore.convert.markdown import convert_markdown as converter
        case "mdx":
            from lore.convert.markdown import convert_mdx as converter
        case "html":
            from lore.convert.html import convert_html

            return lambda text: convert_html(text, url)
        case "rst":
            from lore.convert.rst import convert_rst as converter
        case "notebook":
            from lore.convert.notebook import convert_notebook as converter
        case "xml":
            from lore.convert.feed import convert_xml as converter
        case _:
            from lore.convert.text import convert_text as converter
    return converter


def _title(document: Document, converted: Converted) -> str:
    given = document.title.strip()
    if converted.declared_title:
        return converted.declared_title
    if given and given.casefold() not in _file_names(document):
        return given
    return converted.title or given or posixpath.splitext(posixpath.basename(_path(document)))[0]


def _path(document: Document) -> str:
    return unquote(document.id.partition(":")[2])


def _file_names(document: Document) -> set[str]:
    """All that a title may be without saying more than the file's name: path, name, and both without suffix."""
    names: set[str] = set()
    for path in (_path(document), unquote(urlsplit(document.url).path).strip("/")):
        for name in (path, posixpath.basename(path)):
            names |= {name.casefold(), posixpath.splitext(name)[0].casefold()}
    return names - {""}
