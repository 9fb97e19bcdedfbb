"""Choice of the converter for a document, and one error type for every failure."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from lore.convert.decoding import clean, decode, refuse_binary
from lore.convert.formats import BINARY_FORMATS, CODE_PREFIX, FORMATS
from lore.convert.omissions import OMITTED
from lore.convert.result import Converted
from lore.errors import ConversionError
from lore.types import Document

__all__ = ["convert_document"]

MAX_SIZE = 32 * 1024 * 1024
"""Bytes or characters of one document. A page's tree takes about 20 times its size in memory."""


def convert_document(document: Document) -> Document:
    """Convert a document as described at `lore.convert.convert`."""
    try:
        converted = _convert(document)
        title = _title(document, converted)
    except ConversionError as error:
        raise ConversionError(f"{document.id}: {error.message}", remedy=error.remedy) from error
    except (Exception, RecursionError) as error:  # a library's own error must fail this document only
        raise ConversionError(
            f"{document.id}: converting {document.format} failed with {type(error).__name__}: {str(error)[:200]}",
            remedy="Check the file; if it is sound, report it with the file.",
        ) from error
    omitted = {OMITTED: dict(converted.omitted)} if converted.omitted else {}
    metadata = {**converted.metadata, **omitted, **document.metadata}  # a text can't override what its source says
    return replace(document, text=converted.text, title=title, format="markdown", metadata=metadata, data=None)


def _convert(document: Document) -> Converted:
    size = len(document.data) if document.data is not None else len(document.text)
    if size > MAX_SIZE:
        raise ConversionError(
            f"The document has {size / 1e6:.0f} MB; the limit is {MAX_SIZE / 1e6:.0f} MB.",
            remedy="Split it, or leave it out of the source.",
        )
    if document.format not in FORMATS:
        raise ConversionError(
            f"Unknown format {document.format!r}.", remedy=f"Known formats: {', '.join(sorted(FORMATS))}."
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
            f"A {document.format} document needs bytes, but this one has text.",
            remedy="Set its `data`, or give it a text format.",
        )
    match document.format:
        case "pdf":
            from lore.convert.pdf.document import convert_pdf as converter
        case "docx":
            from lore.convert.office.word import convert_docx as converter
        case "pptx":
            from lore.convert.office.powerpoint import convert_pptx as converter
        case _:
            from lore.convert.office.excel import convert_xlsx as converter
    converted = converter(document.data)
    return replace(converted, text=clean(converted.text))


def _converter(name: str, url: str) -> Callable[[str], Converted]:
    """Return the converter of a text format. Its libraries are imported here, on first use."""
    if name.startswith(CODE_PREFIX):
        from lore.convert.text import convert_code

        return lambda text: convert_code(text, name.removeprefix(CODE_PREFIX))
    match name:
        case "markdown":
            from lore.convert.markdown.document import convert_markdown as converter
        case "mdx":
            from lore.convert.markdown.document import convert_mdx as converter
        case "html":
            from lore.convert.html.page import convert_html

            return lambda text: convert_html(text, url)
        case "rst":
            from lore.convert.rst.document import convert_rst as converter
        case "notebook":
            from lore.convert.notebook import convert_notebook as converter
        case "asciidoc":
            from lore.convert.asciidoc.document import convert_asciidoc as converter
        case "csv":
            from lore.convert.csv import convert_csv as converter
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
    """Return the titles that only repeat the file's name: path and name, each with and without suffix."""
    names: set[str] = set()
    for path in (_path(document), unquote(urlsplit(document.url).path).strip("/")):
        for name in (path, posixpath.basename(path)):
            names |= {name.casefold(), posixpath.splitext(name)[0].casefold()}
    return names - {""}
