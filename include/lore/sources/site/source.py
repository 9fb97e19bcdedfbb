"""The source `site`: the pages of a documentation site, each once; later runs read only the changed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from lore.declarations import SiteDeclaration
from lore.sources.cursors import invalid_cursor, selection_digest
from lore.sources.site.crawl import Crawl
from lore.sources.site.fetch import Fetcher
from lore.sources.site.records import PageRecords
from lore.sources.site.urls import Scope
from lore.types import Batch, Cursor

__all__ = ["SiteSource"]

SELECTING_KEYS = {
    "url", "discovery", "include", "exclude", "version", "query_parameters", "markdown_twins", "audiences", "max_bytes"
}  # fmt: skip
"""Keys of a declaration that determine the documents and their text."""
ROUND_SECONDS = 7 * 24 * 3600
"""Maximum age of an interrupted round; an older one restarts, because its pages are outdated."""


class SiteSource:
    """One document for each page; its id is the page's path, and so is stable.

    The cursor holds every known page with its ETag or date. Within a round it also holds which pages were requested, so
    that an interrupted run continues. Tests replace `fetcher`.
    """

    def __init__(
        self,
        declaration: SiteDeclaration,
        *,
        timeout: float = 60.0,
        max_retries: int = 4,
        fetcher: Callable[..., Fetcher] = Fetcher,
    ) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._scope = Scope(declaration)
        self._fetcher = partial(fetcher, declaration, timeout=timeout, max_retries=max_retries)
        self._found: list[str] | None = None

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield the new and changed pages since the cursor (None: all).

        Raises SourceError, retryable when a server is down or asks to wait, or a limit on time or bytes is reached.
        """
        self._found = None
        with self._fetcher() as fetcher:
            crawl = Crawl(self._declaration, self._scope, fetcher, self._pages(since, fetcher.now()), self._selection())
            yield from crawl.run()
        self._found = crawl.ids()

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every page: from the complete `read` just before, else from a new one."""
        found, self._found = self._found, None
        if found is None:
            for _ in self.read(None):
                pass
            found, self._found = self._found, None
        yield from found or ()

    def rewind(self, cursor: Cursor, document_ids: Sequence[str]) -> Cursor | None:
        """See `Rereadable.rewind`: these pages are requested unconditionally.

        A page beyond `max_pages` is unknown, and links stand in bodies, so everything is read again for it.
        """
        pages = PageRecords.from_cursor(cursor, self._selection(), self._scope.origin)
        if pages is None or not pages.invalidate(name.removeprefix(f"{self.id}:") for name in document_ids):
            return None
        return pages.to_cursor(self._selection(), self._scope.origin)

    def _pages(self, since: Cursor | None, now: float) -> PageRecords:
        """Return the pages of the last round, or of an interrupted one that continues."""
        try:
            pages = PageRecords.from_cursor(since, self._selection(), self._scope.origin) if since else None
        except ValueError:
            raise invalid_cursor(self.id) from None
        pages = pages or PageRecords()
        if pages.started is None or not 0 <= now - pages.started < ROUND_SECONDS:
            pages.begin(int(now))
        return pages

    def _selection(self) -> str:
        return selection_digest(self._declaration.model_dump_json(include=SELECTING_KEYS))
