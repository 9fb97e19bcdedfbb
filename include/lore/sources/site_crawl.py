"""One round through a site: each page is asked for once, and is then a document, another one's alias, or nothing."""

from __future__ import annotations

import base64
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import sha256

from include.lore.declarations import SiteDeclaration
from include.lore.errors import SourceError
from include.lore.sources.retries import UnreachableError
from include.lore.sources.site_fetch import Answer, Fetcher
from include.lore.sources.site_page import Page, format_of_answer, read_page
from include.lore.sources.site_pages import MAX_VALIDATOR, Entry, Pages, State
from include.lore.sources.site_sitemap import listed_pages
from include.lore.sources.site_twins import page_address, twin_addresses
from include.lore.sources.site_urls import Scope
from include.lore.types import Batch, Document, Failure

__all__ = ["Crawl"]

BATCH_PAGES = 50
BATCH_BYTES = 16_000_000
BATCHES = 50
"""About so many times in a round the cursor is written: it holds all pages, so its cost grows with their number."""
MAX_HOPS = 5
OUTAGE_PAGES = 3
"""So many pages in a row that cannot be had are the server's trouble, not the pages'."""
SKEW = timedelta(days=1)
"""A page that changed later than this from now did not: its server's clock is wrong."""
ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"')


class Crawl:
    """`pages` is what is known at the start, and is kept up to date; `selection` names what the declaration chose."""

    def __init__(
        self, declaration: SiteDeclaration, scope: Scope, fetcher: Fetcher, pages: Pages, selection: str
    ) -> None:
        self._declaration = declaration
        self._scope = scope
        self._fetcher = fetcher
        self._pages = pages
        self._selection = selection
        documents = [(key, entry) for key, entry in pages.entries.items() if entry.state is State.DOCUMENT]
        self._before = {key: entry.digest for key, entry in documents}
        self._holders = {entry.digest: key for key, entry in documents}
        self._changed: dict[str, datetime] = {}
        self._queue: deque[str] = deque()
        self._queued: set[str] = set()
        self._follows_links = False
        self._visits = sum(entry.done for entry in pages.entries.values())
        self._waiting = 0
        self._answered = False
        self._failed_in_a_row = 0
        self._documents: list[Document] = []
        self._failures: list[Failure] = []
        self._left_out = ""

    def ids(self) -> list[str]:
        """The id of every page that exists, once the round is over; also of those that could not be read."""
        found = [self._id(key) for key in self._pages.documents()]
        return [*found, self._left_out] if self._left_out else found

    def run(self) -> Iterator[Batch]:
        """Yield what is new or changed, with cursors to go on from. Raises SourceError when the round cannot end."""
        self._seed()
        yield from self._work()
        while orphans := self._pages.orphans():
            for key in orphans:
                if self._pages.is_orphan(key):  # another one that was read anew may stand for it now
                    self._visit(key, alone=True)
            yield from self._work()
        self._pages.finish()
        if not self.ids():
            raise SourceError(
                f"{self._declaration.url} has no page that can be indexed.",
                remedy="Look at its robots.txt, at `include` and `exclude`, and whether its pages say noindex.",
            )
        yield self._batch(self._cursor())

    # ------------------------------------------------------------------------------------------------- the queue

    def _seed(self) -> None:
        listed = listed_pages(self._fetcher, self._declaration, self._scope)
        discovery = self._declaration.discovery
        self._follows_links = discovery in ("links", "both") or (discovery == "auto" and not listed)
        if self._follows_links:
            self._enqueue(self._scope.starts[0], 0)
        for page in listed:
            address = page_address(page.address) if self._declaration.markdown_twins else page.address
            if page.changed:
                self._changed[self._scope.key(address)] = page.changed
            self._enqueue(address, 0)
        for entry in list(self._pages.entries.values()):
            if (
                self._follows_links
            ):  # an unchanged page is not sent, so its links are not seen: what they led to is known
                self._enqueue(entry.address, entry.depth)
            if entry.done and entry.alias:
                self._enqueue_key(entry.alias, entry.depth)

    def _enqueue_key(self, key: str, depth: int) -> None:
        known = self._pages.entries.get(key)
        self._enqueue(known.address if known else self._scope.origin + key, depth)

    def _enqueue(self, address: str, depth: int) -> None:
        key = self._scope.key(address)
        if key in self._queued:
            return
        entry = self._pages.entries.get(key)
        if entry is None:
            if len(self._pages.entries) > 2 * self._declaration.max_pages:
                return  # far more than will ever be asked for
            entry = self._pages.entries[key] = Entry(address, depth=depth)
        self._queued.add(key)
        if not entry.done:
            self._queue.append(key)

    def _work(self) -> Iterator[Batch]:
        while self._queue and not self._left_out:
            if self._visits >= self._declaration.max_pages:
                self._leave_out()
                return
            self._visit(self._queue.popleft())
            self._waiting += 1
            if self._waiting >= max(BATCH_PAGES, len(self._pages.entries) // BATCHES):
                yield self._batch(self._cursor())
            elif sum(len(document.data or b"") for document in self._documents) > BATCH_BYTES:
                yield self._batch(None)

    def _leave_out(self) -> None:
        self._left_out = self._id(self._queue[0])
        reason = (
            f"`max_pages` of {self._declaration.max_pages:,} is reached, and {len(self._queue):,} more addresses are "
            "known. Raise it, or leave pages out with `exclude`."
        )
        self._failures.append(Failure(self._left_out, reason))

    def _batch(self, cursor: str | None) -> Batch:
        batch = Batch(tuple(self._documents), cursor, failures=tuple(self._failures))
        self._documents, self._failures = [], []
        self._waiting = 0 if cursor else self._waiting
        return batch

    def _cursor(self) -> str:
        return self._pages.to_cursor(self._selection, self._scope.origin)

    def _id(self, key: str) -> str:
        return f"{self._declaration.id}:{key}"

    # -------------------------------------------------------------------------------------------------- one page

    def _visit(self, key: str, *, alone: bool = False) -> None:
        """Ask for a page. `alone`: the page must stand for itself, whatever it says of other addresses."""
        entry = self._pages.entries[key]
        if not self._fetcher.allows(entry.address):
            self._set(key, entry, State.SKIPPED)
            return
        self._visits += 1
        try:
            entry, answer = self._ask(key, entry, conditional=not alone)
        except UnreachableError as error:
            self._fail(key, entry, error.message, error)
            return
        if answer.problem:
            self._fail(key, entry, answer.problem)
        elif answer.status == 304:
            self._succeed()
            self._pages.entries[key] = replace(entry, done=True)
            if entry.alias:
                self._enqueue_key(entry.alias, entry.depth)
        elif answer.location is not None:
            self._succeed()
            self._lead(key, entry, State.MOVED, answer.location, answer.address)
        elif answer.status in (404, 410):
            self._succeed()
            self._set(key, entry, State.GONE)
        elif answer.status != 200:
            self._refused(key, entry, answer.status)
        else:
            self._succeed()
            self._take(key, entry, answer, alone)

    def _ask(self, key: str, entry: Entry, *, conditional: bool) -> tuple[Entry, Answer]:
        """The answer for a page, over redirects that lead to the same page, and the entry with what was learnt."""
        is_new = entry.state is State.QUEUED
        twins = (entry.twin,) if entry.twin else twin_addresses(entry.address) if is_new else ()
        conditions = entry.conditions if conditional else {}
        if self._declaration.markdown_twins:
            for twin in twins:
                answer = self._get(twin, conditions)
                if answer.status == 304 or _is_markdown(answer):
                    return replace(entry, twin=twin), answer
            if entry.twin:
                conditions = {}
        answer = self._get(entry.address, conditions)
        if answer.status == 404 and entry.depth == 0 and self._scope.is_start(entry.address):
            for start in self._scope.starts[1:]:
                answer = self._get(start, {})
        for _ in range(MAX_HOPS):
            target = self._scope.address(answer.location, answer.address) if answer.location else None
            if target is None or self._scope.key(target) != key:
                break
            answer = self._get(target, {})
        return replace(entry, twin="", address=answer.address), answer

    def _get(self, address: str, conditions: dict[str, str]) -> Answer:
        answer = self._fetcher.get(
            address, conditions, limit=self._declaration.max_bytes, wanted=lambda head: bool(format_of_answer(head))
        )
        if answer.status == 304 and not conditions:
            return replace(answer, problem="The server says that it is unchanged, without having been asked that.")
        return answer

    def _take(self, key: str, entry: Entry, answer: Answer, alone: bool) -> None:
        """Decide what a page is that was sent."""
        format = "markdown" if entry.twin else format_of_answer(answer)
        digest = base64.b64encode(sha256(answer.body).digest()[:9]).decode("ascii")
        entry = replace(entry, validator=_validator(answer), digest=digest, alias="")
        if format is None:
            self._set(key, entry, State.SKIPPED)
            return
        data, page = read_page(answer, format)
        if self._follows_links and entry.depth < self._declaration.max_depth:
            for link in page.links:
                self._follow(link, page.base, entry.depth + 1)
        if page.refresh and self._other(key, page.refresh, page.base):
            self._lead(key, entry, State.ALIAS, page.refresh, page.base)
        elif page.canonical and not alone and self._names_another(key, page):
            self._lead(key, entry, State.ALIAS, page.canonical, page.base)
        elif not page.indexed or not self._scope.wants(entry.address):
            self._set(key, entry, State.SKIPPED)
        elif not alone and self._before.get(key) != digest and self._is_held(key, digest):
            self._lead(key, entry, State.COPY, self._pages.entries[self._holders[digest]].address, entry.address)
        else:
            self._set(key, entry, State.DOCUMENT)
            self._holders[digest] = key
            if self._before.get(key) != digest:
                self._documents.append(self._document(key, entry, answer, data, page, format))

    def _follow(self, link: str, base: str, depth: int) -> None:
        address = self._scope.address(link, base)
        if address is not None:
            self._enqueue(page_address(address) if self._declaration.markdown_twins else address, depth)

    def _other(self, key: str, reference: str, base: str) -> bool:
        address = self._scope.normal(reference, base)
        return address is None or self._scope.key(address) != key

    def _names_another(self, key: str, page: Page) -> bool:
        """Whether the canonical address is that of another page of the site. One outside of what is read says nothing
        to us; and the first page, which badly set up sites name on every page, is no other page's content.
        """
        address = self._scope.address(page.canonical or "", page.base)
        return address is not None and self._scope.key(address) != key and not self._scope.is_start(address)

    def _is_held(self, key: str, digest: str) -> bool:
        holder = self._holders.get(digest)
        entry = self._pages.entries.get(holder) if holder and holder != key else None
        return entry is not None and entry.state is State.DOCUMENT and entry.digest == digest

    def _document(self, key: str, entry: Entry, answer: Answer, data: bytes, page: Page, format: str) -> Document:
        url = self._scope.normal(page.canonical, page.base) if page.canonical else None
        if url is None or self._scope.key(url) != key:
            url = self._scope.normal(entry.address, entry.address) or entry.address
        changed = self._changed.get(key) or _date(answer.headers.get("last-modified"))
        if changed and changed > datetime.fromtimestamp(self._fetcher.now(), UTC) + SKEW:
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

    # --------------------------------------------------------------------------------------------- what became of it

    def _set(self, key: str, entry: Entry, state: State) -> None:
        self._pages.entries[key] = replace(entry, state=state, done=True)

    def _lead(self, key: str, entry: Entry, state: State, reference: str, base: str) -> None:
        """Note that a page leads to another one, which is then asked for; to one outside leads to nothing."""
        address = self._scope.address(reference, base)
        if address is None:
            if self._follows_links and entry.depth == 0 and self._scope.is_start(entry.address):
                raise SourceError(
                    f"{entry.address} leads to {reference[:200]!r}, which is outside of `url`.",
                    remedy="Declare that address, if it is the site's.",
                )
            self._set(key, entry, State.SKIPPED)
            return
        target = self._scope.key(address)
        self._pages.entries[key] = replace(entry, state=state, alias=target, done=True)
        self._enqueue(address, entry.depth)

    def _succeed(self) -> None:
        self._answered = True
        self._failed_in_a_row = 0

    def _fail(self, key: str, entry: Entry, reason: str, error: SourceError | None = None) -> None:
        """Note that a page cannot be had, which is not to say that it is gone; `error` is raised when none can."""
        self._failed_in_a_row += 1
        if error and (not self._answered or self._failed_in_a_row >= OUTAGE_PAGES):
            raise error
        self._failures.append(Failure(self._id(key), f"{entry.address}: {reason}"))
        self._set(key, replace(entry, validator="", digest="", alias=""), State.FAILED)

    def _refused(self, key: str, entry: Entry, status: int) -> None:
        """A page that was a document, or that the site lists, is missed; one behind a login that a link led to, not."""
        error = SourceError(
            f"{entry.address} answered HTTP {status}.",
            remedy="The site must let us read its pages without signing in.",
            retryable=self._answered,
        )
        if not self._answered and self._scope.is_start(entry.address):
            raise error
        if key in self._before or not self._follows_links:
            self._fail(key, entry, f"HTTP {status}.", error)
        else:
            self._set(key, entry, State.SKIPPED)


def _is_markdown(answer: Answer) -> bool:
    """Whether it is Markdown, and not the page that some servers give for every address."""
    kinds = ("text/markdown", "text/x-markdown", "text/plain")
    return answer.status == 200 and answer.content_type in kinds and answer.body.lstrip()[:1] != b"<"


def _validator(answer: Answer) -> str:
    """What makes the server say whether the page changed: its ETag, else its date; "" when it gives neither."""
    etag, date = answer.headers.get("etag", ""), answer.headers.get("last-modified", "")
    if len(etag) <= MAX_VALIDATOR and ETAG.fullmatch(etag):
        return etag
    return date if len(date) <= MAX_VALIDATOR and _date(date) else ""


def _date(text: str | None) -> datetime | None:
    try:
        time = parsedate_to_datetime(text) if text else None
        return time.replace(tzinfo=UTC) if time and time.tzinfo is None else time
    except (ValueError, OverflowError, TypeError):
        return None
