"""Signals for crawlers in a page: canonical address, noindex, redirects and links."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from lore.convert.decoding import BOMS, SEVEN_BIT, SUPERSETS, decode
from lore.errors import ConversionError
from lore.sources.site.fetch import WebResponse
from lore.sources.site.page_kind import PageKind, kind_of, text_digest
from lore.sources.site.robots import USER_AGENT
from lore.sources.site.sitemap import markdown_links

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["PageSignals", "format_of_answer", "read_signals"]

FORMATS = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/plain": "text",
}
MAX_LINKS = 20_000
REFRESH = re.compile(r"^\s*(\d{1,3})(?:\.\d*)?\s*[;,]\s*(?:url\s*=)?\s*['\"]?([^'\"]+)", re.IGNORECASE)
MAX_REFRESH_SECONDS = 10
CANONICAL = re.compile(r"<([^<>]*)>\s*;[^,<]*\brel\s*=\s*\"?canonical\b", re.IGNORECASE)
DEFAULT_CHARSETS = frozenset({"cp1252", "ascii", "utf-8"})
"""Charsets that servers declare by default."""
NO_CHARSETS = frozenset({"utf-7", "unicode_escape", "raw_unicode_escape", "punycode", "idna"})
"""Codecs of Python that are no charsets on the web."""
META_CHARSET = re.compile(rb"<meta[^>]{0,300}charset", re.IGNORECASE)
DATA_SUFFIXES = (
    ".csv",
    ".js",
    ".json",
    ".map",
    ".mjs",
    ".rss",
    ".toml",
    ".webmanifest",
    ".xml",
    ".yaml",
    ".yml",
    ".css",
)
"""Suffixes of data, or of pages about such a file, which are HTML."""
SEARCH_PAGE = b'id="search-results"'
"""Marker of Sphinx's own search page, which has no text."""


@dataclass(frozen=True, slots=True)
class PageSignals:
    """A page's signals. Addresses are as the page writes them, relative to `base`."""

    base: str
    canonical: str | None = None
    refresh: str | None = None
    indexed: bool = True
    links: tuple[str, ...] = ()
    kind: PageKind = PageKind.CONTENT
    text_digest: str = ""


def format_of_answer(answer: WebResponse) -> str | None:
    """Return the format of a page, or None if it is unsupported."""
    kind = answer.content_type
    path = answer.address.partition("?")[0].lower()
    if kind in ("text/plain", "application/octet-stream") and path.endswith((".md", ".markdown")):
        return "markdown"
    if kind == "application/octet-stream" and path.endswith(".pdf"):
        return "pdf"
    if path.endswith(DATA_SUFFIXES):
        return "html" if FORMATS.get(kind) == "html" else None
    return FORMATS.get(kind, "html" if not kind else None)


def read_signals(answer: WebResponse, format: str) -> tuple[bytes, PageSignals]:
    """Return the page's bytes, in UTF-8 where the server's charset is right, and its signals."""
    header = CANONICAL.search(answer.headers.get("link", "")[:10_000])
    canonical = header[1] if header else None
    indexed, follow = _directives(answer.headers.get("x-robots-tag", ""), header=True)
    if format == "pdf":
        return answer.body, PageSignals(answer.address, canonical, indexed=indexed)
    data = _as_utf8(answer.body, answer.headers)
    try:
        if format != "html":
            links = markdown_links(decode(data)) if follow and format == "markdown" else []
            kind = PageKind.CONTENT if re.search(rb"[\w\x80-\xff]", data) else PageKind.EMPTY
            return data, PageSignals(
                answer.address, canonical, indexed=indexed, links=tuple(links[:MAX_LINKS]), kind=kind
            )
        from lore.convert.html.parsing import parse_html

        root = parse_html(decode(data))
    except ConversionError:  # conversion will say so, and of which document
        return data, PageSignals(answer.address, canonical, indexed=indexed)
    meta = ",".join(_meta(root, "robots") + _meta(root, USER_AGENT))
    meta_indexed, meta_follow = _directives(meta, header=False)
    indexed = indexed and meta_indexed and SEARCH_PAGE not in data
    base = _base(root, answer.address)
    return data, PageSignals(
        base=base,
        canonical=_canonical(root) or canonical,
        refresh=_refresh(root),
        indexed=indexed,
        links=_links(root) if follow and meta_follow else (),
        kind=kind_of(root, urlsplit(answer.address).path),
        text_digest=text_digest(root),
    )


def _base(root: HtmlElement, address: str) -> str:
    href = next((element.get("href") or "" for element in root.iter("base")), "")
    try:
        return urljoin(address, href.strip()) if href else address
    except ValueError:
        return address


def _canonical(root: HtmlElement) -> str | None:
    for link in root.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split() and (link.get("href") or "").strip():
            return str(link.get("href"))
    return None


def _refresh(root: HtmlElement) -> str | None:
    """Return the target of an immediate refresh, which replaces a redirect on some servers."""
    for element in root.iter("meta"):
        if (element.get("http-equiv") or "").lower() == "refresh":
            match = REFRESH.match(element.get("content") or "")
            if match and int(match[1]) <= MAX_REFRESH_SECONDS:
                return match[2].strip()
    return None


def _links(root: HtmlElement) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for element in root.iter("a", "area"):
        href = element.get("href")
        if href and not href.startswith("#") and "nofollow" not in (element.get("rel") or "").lower().split():
            found[href.partition("#")[0]] = None
            if len(found) >= MAX_LINKS:
                break
    found.pop("", None)
    return tuple(found)


def _meta(root: HtmlElement, name: str) -> list[str]:
    return [
        element.get("content") or "" for element in root.iter("meta") if (element.get("name") or "").lower() == name
    ]


def _directives(text: str, *, header: bool) -> tuple[bool, bool]:
    """Return whether a page may be indexed and whether its links may be followed. A header may address one crawler
    only.
    """
    words = set()
    speaks_to_us = True
    for part in text.lower().split(","):
        name, colon, rest = part.partition(":")
        if header and colon and name.strip() not in ("unavailable_after", "max-snippet", "max-image-preview"):
            speaks_to_us = name.strip() == USER_AGENT
            part = rest
        if speaks_to_us:
            words.add(part.strip())
    return words.isdisjoint({"noindex", "none"}), words.isdisjoint({"nofollow", "none"})


def _as_utf8(body: bytes, headers: Mapping[str, str]) -> bytes:
    """Recode the body from the header's charset to UTF-8 with a byte order mark, so that conversion needn't guess.

    A wrong charset, or one that servers send by default, changes nothing: conversion then detects the charset.
    """
    match = re.search(r"charset\s*=\s*\"?([\w.:-]+)", headers.get("content-type", ""), re.IGNORECASE)
    if match is None or any(body.startswith(mark) for mark, _ in BOMS):
        return body
    try:
        charset = codecs.lookup(match[1]).name
        charset = SUPERSETS.get(charset, charset)
        if charset in NO_CHARSETS or (charset not in SEVEN_BIT and _is_utf8(body)):
            return body
        if charset in DEFAULT_CHARSETS and META_CHARSET.search(body[:4096]):
            return body
        return codecs.BOM_UTF8 + body.decode(charset).encode("utf-8")
    except (UnicodeError, LookupError):
        return body


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
