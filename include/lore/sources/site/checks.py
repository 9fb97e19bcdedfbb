"""Checks of a whole round: the same text at many addresses, pages without content, and a useless sitemap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from lore.errors import SourceError
from lore.sources.site.page_kind import PageKind
from lore.sources.site.records import PageRecord, PageState
from lore.sources.site.sitemap import Listing
from lore.sources.site.urls import Scope

__all__ = ["RoundChecks"]

MIN_REPEATED = 3
REPEATED_SHARE = 0.5
"""Share of all requested addresses with the same text from which on the site counts as down."""
SHOWN = 5
READ = frozenset({PageState.DOCUMENT, PageState.MOVED, PageState.ALIAS, PageState.COPY})


class RoundChecks:
    """Collects what the pages of a round have in common; `documents` is how many the site had before."""

    def __init__(self, url: str, documents: int) -> None:
        self._url = url
        self._few = 2 if documents >= 2 else MIN_REPEATED
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        self._without_content: list[str] = []

    def add_text(self, digest: str, address: str) -> None:
        """Count a page with this text."""
        self._counts[digest] += 1
        self._examples.setdefault(digest, address)

    def add_without_content(self, address: str, kind: PageKind) -> None:
        """Note a page that was left out."""
        self._without_content.append(f"{address} {kind}")

    def check_repeated(self, requested: int) -> None:
        """Raise SourceError, not retryable, when too many of the requested addresses have the same text."""
        for digest, count in self._counts.most_common(1):
            if count >= max(MIN_REPEATED, REPEATED_SHARE * requested) or self._few <= count == requested:
                raise SourceError(
                    f"{self._url} answers {count} of {requested} addresses with the same text, that of "
                    f"{self._examples[digest]}.",
                    remedy="Check in a browser if the site is down, or asks for a login; nothing was changed.",
                )

    def warnings(self, listing: Listing, records: Mapping[str, PageRecord], scope: Scope) -> Iterator[str]:
        """Yield warnings about pages without content, and about a sitemap that led to no page."""
        if self._without_content:
            more = len(self._without_content) - SHOWN
            shown = "; ".join(self._without_content[:SHOWN])
            yield f"Left out pages without content: {shown}{f'; and {more:,} more' if more > 0 else ''}."
        states = (records[key].state for page in listing.pages if (key := scope.key(page.address)) in records)
        if listing.total and not any(state in READ for state in states):
            yield (
                f"The sitemap names {listing.total:,} pages, such as {listing.first}, but none of them could be read. "
                "Correct it, declare `url` as it has it, or set `discovery: links`."
            )
