"""What the tests of the site source share."""

from __future__ import annotations

from functools import partial

from lore.declarations import SiteDeclaration
from lore.sources.site.fetch import Fetcher
from lore.sources.site.source import SiteSource
from lore.types import Cursor, Document

from tests.contracts.source import last_cursor
from tests.servers.site import Resource, SiteServer, links, page

__all__ = ["NOW", "declare", "documents", "keys", "linked_site", "read", "small_site", "source_of"]

NOW = 1_780_000_000.0


def declare(site: SiteServer, path: str = "", **options: object) -> SiteDeclaration:
    """A declaration of the server's pages below a path, without pauses."""
    defaults = {"id": "docs", "url": site.url + path, "allow_hosts": ["127.0.0.1"], "delay_seconds": 0}
    return SiteDeclaration.model_validate(defaults | options)


def source_of(
    site: SiteServer,
    path: str = "",
    *,
    max_retries: int = 1,
    timeout: float = 5.0,
    waits: list[float] | None = None,
    now: float = NOW,
    **options: object,
) -> SiteSource:
    """The source; waits are noted in `waits` and not waited."""
    sleep = (waits if waits is not None else []).append
    fetcher = partial(Fetcher, sleep=sleep, now=lambda: now)
    return SiteSource(declare(site, path, **options), timeout=timeout, max_retries=max_retries, fetcher=fetcher)


def read(source: SiteSource, since: Cursor | None = None) -> tuple[dict[str, Document], Cursor | None]:
    """What a read gives, by the part of the id behind the source's, and the cursor after it."""
    batches = list(source.read(since))
    found = {document.id.partition(":")[2]: document for batch in batches for document in batch.documents}
    return found, last_cursor(batches, since)


def documents(source: SiteSource, since: Cursor | None = None) -> dict[str, Document]:
    """What a read gives."""
    return read(source, since)[0]


def keys(source: SiteSource, since: Cursor | None = None) -> set[str]:
    """The part of the ids behind the source's."""
    return set(documents(source, since))


def linked_site() -> dict[str, Resource]:
    """130 pages that are found over links only."""
    pages = {"/": page("Home", links(*(f"/chapter-{number}/" for number in range(10))))}
    for number in range(10):
        inside = [f"part-{part}.html" for part in range(12)]
        pages[f"/chapter-{number}/"] = page(f"Chapter {number}", links("/", *inside))
        for part in range(12):
            pages[f"/chapter-{number}/part-{part}.html"] = page(f"Part {number}.{part}", links("./", "../"))
    return pages


def small_site() -> dict[str, Resource]:
    pages = {"/": page("Home", links(*(f"/{name}" for name in "abcdefgh")))}
    return pages | {f"/{name}": page(name.upper()) for name in "abcdefgh"}
