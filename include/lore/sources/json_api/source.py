"""The source `json_api`: any list of items in JSON, such as modules, services or incidents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any

from lore.declarations import JsonApiDeclaration
from lore.sources.cursors import NON_SELECTING_KEYS, invalid_cursor, selection_digest
from lore.sources.http.json_client import JsonClient, Secrets
from lore.sources.http.retries import RetryPolicy
from lore.sources.json_api.items import ItemReader
from lore.sources.json_api.paging import ListPage, Pager
from lore.types import Batch, Cursor, Document, Failure

__all__ = ["JsonApiSource"]

CURSORS_PER_READ = 50
"""Approximate number of cursors in a read; each cursor holds all pages, so its cost grows with their number."""

REMEDIES = {
    401: "If it requires a token, set it as a header for this server in LORE_API_HEADERS.",
    403: "If it requires a token, set it as a header for this server in LORE_API_HEADERS.",
    404: "Check `url`.",
}


class JsonApiSource:
    """One document for each item. The cursor holds validators, a hash and the ids for each page.

    A page that the server calls unchanged (ETag, Last-Modified) isn't sent again, and one with the same hash yields
    nothing. An id on no page is deleted.
    """

    def __init__(
        self,
        declaration: JsonApiDeclaration,
        *,
        secrets: Secrets | None = None,
        timeout: float = 60.0,
        retries: RetryPolicy | None = None,
    ) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._secrets, self._timeout, self._retries = secrets, timeout, retries
        self._items = ItemReader(declaration)

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield the items of pages that changed since the cursor (None: all), and at the end deletions.

        Raises SourceError.
        """
        start = self._from_cursor(since) if since else _ListState()
        before = {page.url: page for page in start.pages}
        pages: list[_SeenPage] = []
        seen: dict[str, str] = {}
        with self._open() as api:
            for part in self._list_pages(api, before):
                if part.unchanged:
                    page = before[part.url]
                    seen.update(dict.fromkeys(page.ids, ""))
                    pages.append(page)
                    continue
                page, batch = self._read_page(part, before.get(part.url), seen)
                pages.append(page)
                often = len(pages) % max(1, (len(pages) + len(before)) // CURSORS_PER_READ) == 0
                yield replace(batch, cursor=self._to_cursor(start.after(pages))) if often else batch
            gone = start.ids - set(seen)
            if gone and len(pages) > 1:  # pages may have shifted meanwhile: look again before deleting
                gone -= {one for part in self._list_pages(api, {}) for one in self._ids(part)}
        yield Batch((), self._to_cursor(_ListState(tuple(pages))), tuple(sorted(gone)))

    def _open(self) -> JsonClient:
        return JsonClient(
            self._declaration.url,
            secrets=self._secrets,
            timeout=self._timeout,
            retries=self._retries,
            max_bytes=self._declaration.max_page_bytes,
            remedies=REMEDIES,
        )

    def _list_pages(self, api: JsonClient, before: Mapping[str, _SeenPage]) -> Iterator[ListPage]:
        validators = {url: (page.validators, page.next) for url, page in before.items()}
        return Pager(api, self._declaration).list_pages(validators)

    def _read_page(self, part: ListPage, known: _SeenPage | None, seen: dict[str, str]) -> tuple[_SeenPage, Batch]:
        """Return a page's record, and its documents if it changed.

        `seen` maps ids to a hash of their items, "" for those of unchanged pages.
        """
        digest = _digest(part.items)
        documents: list[Document] = []
        failures: list[Failure] = []
        ids: list[str] = []
        for number, item in enumerate(part.items, 1):
            found = self._items.document(item, part.url, number)
            name = found.id if isinstance(found, Document) else found.document_id
            mark = _digest(item)
            if seen.get(name, "") not in ("", mark):
                reason = "Another item has the same id: `item_id` doesn't distinguish them."
                failures.append(Failure(f"{name}#{number}", reason))
                continue
            ids.append(name)
            if name in seen:
                continue
            seen[name] = mark
            if isinstance(found, Document):
                documents.append(found)
            else:
                failures.append(found)
        if known and known.digest == digest and not failures:
            documents = []
        return _SeenPage(part.url, digest, tuple(ids), part.next, part.validators), Batch(
            tuple(documents), failures=tuple(failures)
        )

    def _ids(self, part: ListPage) -> Iterator[str]:
        for number, item in enumerate(part.items, 1):
            found = self._items.document(item, part.url, number)
            yield found.id if isinstance(found, Document) else found.document_id

    def _to_cursor(self, known: _ListState) -> Cursor:
        return json.dumps({**asdict(known), "selection": self._selection()})

    def _from_cursor(self, cursor: Cursor) -> _ListState:
        """Return the pages of the last read; none if it belongs to another selection."""
        try:
            stored = json.loads(cursor)
            pages = tuple(replace(_SeenPage(**page), ids=tuple(page["ids"])) for page in stored["pages"])
            known, selection = _ListState(pages, tuple(stored.get("missing", ()))), stored["selection"]
        except (ValueError, KeyError, TypeError):
            raise invalid_cursor(self.id) from None
        return known if selection == self._selection() else _ListState()

    def _selection(self) -> str:
        without = {"max_pages", "max_items", "max_page_bytes"} | NON_SELECTING_KEYS
        return selection_digest(self._declaration.model_dump_json(exclude=without))


@dataclass(frozen=True, slots=True)
class _SeenPage:
    """A page in the cursor: a hash of its items, their ids, the next page's address, and the conditional headers."""

    url: str
    digest: str
    ids: tuple[str, ...]
    next: str = ""
    validators: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _ListState:
    """The state of a list. `missing` are ids that disappeared from pages read again, and may be on other pages."""

    pages: tuple[_SeenPage, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def ids(self) -> set[str]:
        """The ids of all items."""
        return {one for page in self.pages for one in page.ids}.union(self.missing)

    def after(self, read: Sequence[_SeenPage]) -> _ListState:
        """Return the state once these pages, the first of the list, were read."""
        urls = {page.url for page in read}
        pages = (*read, *(page for page in self.pages if page.url not in urls))
        return _ListState(pages, tuple(sorted(self.ids.difference(one for page in pages for one in page.ids))))


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
