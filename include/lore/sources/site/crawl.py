"""One round through a site, which requests each page once: a page becomes a document, an alias, or nothing."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from lore.declarations import SiteDeclaration
from lore.errors import SourceError
from lore.sources.http.retries import UnreachableError, http_date
from lore.sources.site.checks import RoundChecks
from lore.sources.site.fetch import Fetcher, WebResponse
from lore.sources.site.frontier import Frontier
from lore.sources.site.page_kind import PageKind
from lore.sources.site.records import PageRecord, PageRecords, PageState
from lore.sources.site.request import PageRequester, validator_of
from lore.sources.site.signals import PageSignals, format_of_answer, read_signals
from lore.sources.site.sitemap import Listing, listed_pages
from lore.sources.site.twins import page_address
from lore.sources.site.urls import Scope
from lore.types import Batch, Document, Failure

__all__ = ["Crawl"]

BATCH_PAGES = 50
BATCH_BYTES = 16_000_000
CURSORS_PER_ROUND = 50
"""Approximate number of cursors in a round; each cursor holds all pages, so its cost grows with their number."""
MAX_FAILURES_IN_A_ROW = 3
"""Consecutive unreachable pages after which the server counts as down."""
MAX_CLOCK_SKEW = timedelta(days=1)
"""Largest plausible distance of a modification time from now; beyond it the server's clock is wrong."""


class Crawl:
    """Crawls a site. `pages` holds the known pages and is updated; `selection` identifies the declaration's
    selection.
    """

    def __init__(
        self, declaration: SiteDeclaration, scope: Scope, fetcher: Fetcher, pages: PageRecords, selection: str
    ) -> None:
        self._declaration = declaration
        self._scope = scope
        self._fetcher = fetcher
        self._requester = PageRequester(declaration, scope, fetcher)
        self._pages = pages
        self._frontier = Frontier(pages, scope, 2 * declaration.max_pages + 1)
        self._selection = selection
        documents = [(key, entry) for key, entry in pages.entries.items() if entry.state is PageState.DOCUMENT]
        self._before = {key: entry.digest for key, entry in documents}
        self._key_by_digest = {entry.digest: key for key, entry in documents}
        self._changed: dict[str, datetime] = {}
        self._follows_links = False
        self._visits = sum(entry.done for entry in pages.entries.values())
        self._waiting = 0
        self._answered = False
        self._failed_in_a_row = 0
        self._documents: list[Document] = []
        self._failures: list[Failure] = []
        self._over_limit_id = ""
        self._checks = RoundChecks(declaration.url, len(set(self._before.values())))
        self._listing = Listing()

    def ids(self) -> list[str]:
        """Return the id of every existing page, also of unreadable ones, once the round is over."""
        found = [self._id(key) for key in self._pages.documents()]
        return [*found, self._over_limit_id] if self._over_limit_id else found

    def run(self) -> Iterator[Batch]:
        """Yield new and changed pages, with cursors to continue from.

        Raises SourceError when the round can't finish; if that is temporary, it first yields everything read so far.
        """
        try:
            yield from self._round()
        except SourceError as error:
            if error.retryable and self._waiting:
                self._checks.check_repeated(self._visits)
                yield self._batch(self._cursor())
            raise

    def _round(self) -> Iterator[Batch]:
        self._seed()
        yield from self._work()
        while orphans := self._pages.orphans():
            for key in orphans:
                if self._pages.is_orphan(key):  # a page that was read in between may now contain it
                    self._visit(key, standalone=True)
            yield from self._work()
        self._checks.check_repeated(self._visits)
        warnings = tuple(self._checks.warnings(self._listing, self._pages.entries, self._scope))
        self._pages.finish()
        if not self.ids():
            raise SourceError(
                f"{self._declaration.url} has no page to index.",
                remedy=" ".join(
                    ("Check its robots.txt, `include` and `exclude`, and whether its pages say noindex.", *warnings)
                ),
            )
        yield replace(self._batch(self._cursor()), warnings=warnings)

    def _seed(self) -> None:
        self._listing = listed_pages(self._fetcher, self._declaration, self._scope)
        listed = self._listing.pages
        discovery = self._declaration.discovery
        self._follows_links = discovery in ("links", "both") or (discovery == "auto" and not listed)
        if self._follows_links:
            self._frontier.add(self._scope.starts[0], 0)
        for page in listed:
            address = page_address(page.address) if self._declaration.markdown_twins else page.address
            if page.changed:
                self._changed[self._scope.key(address)] = page.changed
            self._frontier.add(address, 0)
        if self._follows_links:
            self._frontier.add_known()
        self._frontier.add_aliases()

    def _work(self) -> Iterator[Batch]:
        while self._frontier and not self._over_limit_id:
            if self._visits >= self._declaration.max_pages:
                self._stop_at_limit()
                return
            self._visit(self._frontier.take())
            if self._waiting >= max(BATCH_PAGES, len(self._pages.entries) // CURSORS_PER_ROUND):
                self._checks.check_repeated(self._visits)
                yield self._batch(self._cursor())
            elif sum(len(document.data or b"") for document in self._documents) > BATCH_BYTES:
                yield self._batch(None)

    def _stop_at_limit(self) -> None:
        self._over_limit_id = self._id(self._frontier.first())
        reason = (
            f"`max_pages` of {self._declaration.max_pages:,} is reached, and {len(self._frontier):,} more addresses "
            "are waiting. Raise it, or leave pages out with `exclude`."
        )
        self._failures.append(Failure(self._over_limit_id, reason))

    def _batch(self, cursor: str | None) -> Batch:
        batch = Batch(tuple(self._documents), cursor, failures=tuple(self._failures))
        self._documents, self._failures = [], []
        self._waiting = 0 if cursor else self._waiting
        return batch

    def _cursor(self) -> str:
        return self._pages.to_cursor(self._selection, self._scope.origin)

    def _id(self, key: str) -> str:
        return f"{self._declaration.id}:{key}"

    def _visit(self, key: str, *, standalone: bool = False) -> None:
        """Request a page. With `standalone`, the page becomes a document even if it names another address as
        canonical.
        """
        entry = self._pages.entries[key]
        if not self._fetcher.allows(entry.address):
            self._set(key, entry, PageState.SKIPPED)
            return
        self._visits += 1
        try:
            entry, answer = self._requester.request(key, entry, conditional=not standalone)
        except UnreachableError as error:
            self._record_failure(key, entry, error.message, error)
            return
        if answer.problem:
            self._record_failure(key, entry, answer.problem)
        elif answer.status == 304:
            self._record_success()
            self._set(key, entry, entry.state, entry.alias)
            if entry.alias:
                self._frontier.add_key(entry.alias, entry.depth)
        elif answer.location is not None:
            self._moved(key, entry, answer.location, answer.address)
        elif answer.status in (404, 410):
            self._record_success()
            self._set(key, entry, PageState.GONE)
        elif answer.status != 200:
            self._refused(key, entry, answer.status)
        else:
            self._record_success()
            self._read_body(key, entry, answer, standalone)

    def _moved(self, key: str, entry: PageRecord, location: str, base: str) -> None:
        entry = replace(entry, validator="", digest="")
        if self._is_other_page(key, location, base):
            self._record_success()
            self._record_target(key, entry, PageState.MOVED, location, base)
            return
        error = SourceError(
            f"{entry.address} redirects to itself, as {location[:200]!r}.",
            remedy="Declare `url` as the server wants it: is it https://, or another host?",
        )
        self._record_failure(key, entry, error.message, error)

    def _read_body(self, key: str, entry: PageRecord, answer: WebResponse, standalone: bool) -> None:
        """Classify a page that the server delivered."""
        format = "markdown" if entry.twin else format_of_answer(answer)
        digest = base64.b64encode(sha256(answer.body).digest()[:9]).decode("ascii")
        entry = replace(entry, validator=validator_of(answer), digest=digest)
        if format is None:
            self._set(key, entry, PageState.SKIPPED)
            return
        data, page = read_signals(answer, format)
        if self._follows_links and entry.depth < self._declaration.max_depth:
            for link in page.links:
                self._follow(link, page.base, entry.depth + 1)
        wanted = page.indexed and self._scope.wants(entry.address)
        if page.refresh and self._is_other_page(key, page.refresh, page.base):
            self._record_target(key, entry, PageState.MOVED, page.refresh, page.base)
        elif wanted and not self._has_content(key, entry, page):
            self._record_no_content(key, entry, page.kind)
        elif page.canonical and not standalone and self._has_other_canonical(key, page):
            self._record_target(key, entry, PageState.ALIAS, page.canonical, page.base)
        elif not wanted:
            self._set(key, entry, PageState.SKIPPED)
        elif not standalone and self._before.get(key) != digest and self._is_duplicate(key, digest):
            original = self._pages.entries[self._key_by_digest[digest]].address
            self._record_target(key, entry, PageState.COPY, original, entry.address)
        else:
            self._set(key, entry, PageState.DOCUMENT)
            self._key_by_digest[digest] = key
            if self._before.get(key) != digest:
                self._documents.append(self._document(key, entry, answer, data, page, format))

    def _has_content(self, key: str, entry: PageRecord, page: PageSignals) -> bool:
        """Return True for a page with content; counts its text, as an outage has the same text everywhere."""
        if page.text_digest and (page.kind is PageKind.CONTENT or key in self._before):
            self._checks.add_text(page.text_digest, entry.address)
        return page.kind is PageKind.CONTENT

    def _record_no_content(self, key: str, entry: PageRecord, kind: PageKind) -> None:
        """Record a page without content; one that had content before stays, unless it says that it doesn't exist."""
        if kind is not PageKind.MISSING and self._before.get(key, entry.digest) != entry.digest:
            self._record_failure(key, entry, f"It {kind}.")
            return
        self._set(key, entry, PageState.GONE if kind is PageKind.MISSING else PageState.SKIPPED)
        self._checks.add_without_content(entry.address, kind)

    def _follow(self, link: str, base: str, depth: int) -> None:
        address = self._scope.address(link, base)
        if address is not None:
            self._frontier.add(page_address(address) if self._declaration.markdown_twins else address, depth)

    def _is_other_page(self, key: str, reference: str, base: str) -> bool:
        address = self._scope.normal(reference, base)
        return address is None or self._scope.key(address) != key

    def _has_other_canonical(self, key: str, page: PageSignals) -> bool:
        """Return True if the canonical address belongs to another page of the site.

        An address outside the selection is ignored, and so is the first page, which misconfigured sites name on every
        page.
        """
        address = self._scope.address(page.canonical or "", page.base)
        return address is not None and self._scope.key(address) != key and not self._scope.is_start(address)

    def _is_duplicate(self, key: str, digest: str) -> bool:
        holder = self._key_by_digest.get(digest)
        entry = self._pages.entries.get(holder) if holder and holder != key else None
        return entry is not None and entry.state is PageState.DOCUMENT and entry.digest == digest

    def _document(
        self, key: str, entry: PageRecord, answer: WebResponse, data: bytes, page: PageSignals, format: str
    ) -> Document:
        url = self._scope.normal(page.canonical, page.base) if page.canonical else None
        if url is None or self._scope.key(url) != key:
            url = self._scope.normal(entry.address, entry.address) or entry.address
        changed = self._changed.get(key) or http_date(answer.headers.get("last-modified"))
        if changed and changed > datetime.fromtimestamp(self._fetcher.now(), UTC) + MAX_CLOCK_SKEW:
            changed = None
        return Document(
            id=self._id(key),
            source_id=self._declaration.id,
            url=url,
            title="",
            text="",
            format=format,
            updated_at=changed,
            audiences=self._declaration.audiences,
            data=data,
        )

    def _set(self, key: str, entry: PageRecord, state: PageState, alias: str = "") -> None:
        self._pages.entries[key] = replace(entry, state=state, alias=alias, done=True)
        self._waiting += 1

    def _record_target(self, key: str, entry: PageRecord, state: PageState, reference: str, base: str) -> None:
        """Record that a page leads to another one, and queue that; a target outside the site leads nowhere."""
        address = self._scope.address(reference, base)
        if address is None:
            if self._follows_links and entry.depth == 0 and self._scope.is_start(entry.address):
                raise SourceError(
                    f"{entry.address} leads to {reference[:200]!r}, which is outside `url`.",
                    remedy="Declare that address, if it is the site's.",
                )
            self._set(key, entry, PageState.SKIPPED)
            return
        self._set(key, entry, state, self._scope.key(address))
        self._frontier.add(address, entry.depth)

    def _record_success(self) -> None:
        self._answered = True
        self._failed_in_a_row = 0

    def _record_failure(self, key: str, entry: PageRecord, reason: str, error: SourceError | None = None) -> None:
        """Record that a page is unreachable, not deleted. Raises `error` if no page is reachable."""
        self._failed_in_a_row += 1 if error else 0
        if error and (not self._answered or self._failed_in_a_row >= MAX_FAILURES_IN_A_ROW):
            raise error
        message = reason if reason.startswith(entry.address) else f"{entry.address}: {reason}"
        self._failures.append(Failure(self._id(key), message))
        self._set(key, replace(entry, validator="", digest=""), PageState.FAILED)

    def _refused(self, key: str, entry: PageRecord, status: int) -> None:
        """Record a refusal: a failure for a former document or listed page, none for a linked page behind a login."""
        error = SourceError(
            f"{entry.address} answered HTTP {status}.",
            remedy="The site's pages must be readable without signing in.",
            retryable=self._answered,
        )
        if not self._answered and self._scope.is_start(entry.address):
            raise error
        if key in self._before or not self._follows_links:
            self._record_failure(key, entry, f"HTTP {status}.", error)
        else:
            self._set(key, entry, PageState.SKIPPED)
