"""The pages that a site lists itself: in sitemaps (sitemaps.org), compressed or nested, or in llms.txt."""

from __future__ import annotations

import re
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from urllib.parse import urlsplit

from lore.declarations import SiteDeclaration
from lore.errors import SourceError
from lore.sources.http.inflate import TooLargeError, gunzip
from lore.sources.payload import from_iso
from lore.sources.site.fetch import Fetcher, WebResponse
from lore.sources.site.urls import Scope

__all__ = ["Listing", "SitemapEntry", "listed_pages", "markdown_links"]

MAX_FILES = 1000
MAX_FILE_BYTES = 64 * 1024 * 1024
"""Bytes of a decompressed sitemap; the protocol allows 50 MB."""
MAX_ADDRESSES = 500_000
MARKDOWN_LINK = re.compile(r"\]\(\s*<?([^\s<>()]+(?:\([^\s<>()]*\)[^\s<>()]*)*)>?")


@dataclass(frozen=True, slots=True)
class Listing:
    """The listed pages in scope, each once; `total` counts all, and `first` is the first address of all."""

    pages: tuple[SitemapEntry, ...] = ()
    total: int = 0
    first: str = ""


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """A listed page and its modification time."""

    address: str
    changed: datetime | None = None


def listed_pages(fetcher: Fetcher, declaration: SiteDeclaration, scope: Scope) -> Listing:
    """Return the pages that sitemaps (or a declared llms.txt) list.

    Raises SourceError when a list is unreadable or incomplete: pages missing in it must not look deleted.
    """
    if declaration.discovery == "links":
        return Listing()
    if declaration.discovery == "llms_txt":
        found = _llms_txt(fetcher, declaration, scope)
    else:
        found = _Sitemaps(fetcher, declaration, scope).pages()
    pages: dict[str, SitemapEntry] = {}
    total, first = 0, ""
    for total, listed in enumerate(found, 1):
        first = first or listed.address
        if total > MAX_ADDRESSES:
            raise _unusable(declaration.url, f"its sitemaps list more than {MAX_ADDRESSES:,} addresses")
        address = scope.address(listed.address, scope.origin, listed=True)
        if address is not None and scope.wants(address):
            pages.setdefault(scope.key(address), SitemapEntry(address, listed.changed))
    if not pages and declaration.discovery in ("sitemap", "llms_txt"):
        raise SourceError(
            f"{declaration.url} lists no page that the declaration covers ({declaration.discovery}).",
            remedy="Check `url`, `sitemaps`, `include` and `exclude`, or let `discovery` follow links.",
        )
    return Listing(tuple(pages.values()), total, first)


def markdown_links(text: str) -> list[str]:
    """Return the targets of the links in a Markdown text."""
    return MARKDOWN_LINK.findall(text)


def _llms_txt(fetcher: Fetcher, declaration: SiteDeclaration, scope: Scope) -> Iterator[SitemapEntry]:
    for place in dict.fromkeys((f"{scope.origin}{scope.prefix}/llms.txt", f"{scope.origin}/llms.txt")):
        answer = fetcher.follow(place, limit=MAX_FILE_BYTES)
        if answer.status == 200 and not answer.problem and not answer.body.lstrip().startswith(b"<"):
            for link in markdown_links(answer.body.decode("utf-8", "replace")):
                if address := scope.normal(link, answer.address):
                    yield SitemapEntry(address)
            return


class _Sitemaps:
    """Reads sitemaps one after another.

    An unreadable one is an error if it was declared or listed. At a guessed address it may be missing, or be the page
    that some servers return for every address.
    """

    def __init__(self, fetcher: Fetcher, declaration: SiteDeclaration, scope: Scope) -> None:
        self._fetcher = fetcher
        self._scope = scope
        self._declaration = declaration
        self._seen: set[str] = set()

    def pages(self) -> Iterator[SitemapEntry]:
        named = self._declaration.sitemaps or self._fetcher.robots(f"{self._scope.origin}/").sitemaps
        found = False
        for listed in self._read_all(named, sure=True):
            found = True
            yield listed
        if found or self._declaration.sitemaps:
            return
        guesses = (f"{self._scope.origin}{self._scope.prefix}/sitemap.xml", f"{self._scope.origin}/sitemap.xml")
        yield from self._read_all(guesses, sure=False)

    def _read_all(self, addresses: tuple[str, ...], *, sure: bool) -> Iterator[SitemapEntry]:
        queue = deque((address, sure) for address in addresses)
        while queue:
            address, named = queue.popleft()
            if address in self._seen or urlsplit(address).scheme not in ("http", "https") or not address.isascii():
                continue
            self._seen.add(address)
            if len(self._seen) > MAX_FILES:
                raise _unusable(self._declaration.url, f"it has more than {MAX_FILES:,} sitemaps")
            answer = self._fetcher.follow(address, limit=MAX_FILE_BYTES)
            if answer.status != 200 or answer.problem:
                self._missing(answer, named)
                continue
            for kind, listed in _entries(answer, named):
                if kind == "sitemap":
                    queue.append((listed.address, True))
                else:
                    yield listed

    def _missing(self, answer: WebResponse, named: bool) -> None:
        """Handle a missing sitemap: one that doesn't exist lists nothing, a forbidden or broken one might list
        everything.
        """
        if answer.status in (404, 410) and not (self._declaration.sitemaps and named):
            return
        if named:
            raise _unusable(answer.address, answer.problem.rstrip(".") or f"HTTP {answer.status}")


def _entries(answer: WebResponse, named: bool) -> Iterator[tuple[str, SitemapEntry]]:
    """Yield the items of a sitemap as ("url" | "sitemap", entry); nothing if a guessed address holds something else."""
    try:
        body = answer.body
        if body.startswith(b"\x1f\x8b"):
            body = gunzip(body, MAX_FILE_BYTES)
    except TooLargeError:
        raise _unusable(answer.address, f"it is larger than {MAX_FILE_BYTES:,} bytes when decompressed") from None
    except zlib.error as error:
        raise _unusable(answer.address, str(error), retryable=True) from None
    body = body.lstrip(b"\xef\xbb\xbf \t\r\n")
    if body.startswith(b"<"):
        yield from _xml_entries(body, answer.address, named)
    elif body.startswith((b"http://", b"https://")):
        for line in body.decode("utf-8", "replace").split():
            yield "url", SitemapEntry(line)
    elif named:
        raise _unusable(answer.address, "it is not a sitemap")


def _xml_entries(body: bytes, address: str, named: bool) -> Iterator[tuple[str, SitemapEntry]]:
    """Stream the items; entities that the file defines are not expanded, and nothing external is loaded."""
    from lxml import etree

    root = ""
    try:
        events = etree.iterparse(
            BytesIO(body), events=("start", "end"), resolve_entities=False, no_network=True, load_dtd=False
        )
        for event, element in events:
            tag = etree.QName(element.tag).localname if isinstance(element.tag, str) else ""
            if not root:
                root = tag
                if root not in ("urlset", "sitemapindex"):
                    break
            if event == "end" and tag in ("url", "sitemap"):
                location = "".join((element.findtext("{*}loc") or "").split())
                if location:
                    yield tag, SitemapEntry(location, from_iso((element.findtext("{*}lastmod") or "").strip()))
                element.clear()
                while element.getprevious() is not None:  # the tree would keep an empty element for each
                    del element.getparent()[0]
    except etree.XMLSyntaxError as error:
        if root in ("urlset", "sitemapindex") or named:
            raise _unusable(address, f"it is truncated or damaged ({error.msg})", retryable=True) from None
        return
    if root not in ("urlset", "sitemapindex") and named:
        raise _unusable(address, f"it is not a sitemap: it begins with <{root[:40]}>")


def _unusable(address: str, reason: str, *, retryable: bool = False) -> SourceError:
    return SourceError(
        f"The list of pages at {address} can't be used: {reason}.",
        remedy="Correct it, name others in `sitemaps`, or set `discovery: links`.",
        retryable=retryable,
    )
