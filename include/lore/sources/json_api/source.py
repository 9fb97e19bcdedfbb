"""Any list of items that a server gives in JSON: a registry of modules, a catalogue of services, an incident log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any

from lore.declarations import JsonApiDeclaration
from lore.sources.cursors import NON_SELECTING_KEYS, invalid_cursor, selection_digest
from lore.sources.http import JsonApi, Secrets
from lore.sources.json_api.items import ItemReader
from lore.sources.json_api.paging import ListPage, Pager
from lore.sources.retries import RetryPolicy
from lore.types import Batch, Cursor, Document, Failure

__all__ = ["JsonApiSource"]

CURSORS_PER_READ = 50
"""About so many times in a read the cursor is written: it holds all pages, so its cost grows with their number."""

REMEDIES = {
    401: "If it asks for a token, set it as a header for this server in LORE_API_HEADERS.",
    403: "If it asks for a token, set it as a header for this server in LORE_API_HEADERS.",
    404: "Check `url`.",
}


class JsonApiSource:
    """One document for each item. The cursor holds, for each page, what tells whether it changed and the ids on it: a
    page that the server calls unchanged (ETag, Last-Modified) is not sent again, and one that is the same as before
    gives nothing. An id that is on no page any more is deleted.
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
        """Yield the items of pages that changed since the cursor (None: all), and at the end what is gone.

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
            if gone and len(pages) > 1:  # pages may have shifted while they were read: look again before it is deleted
                gone -= {one for part in self._list_pages(api, {}) for one in self._ids(part)}
        yield Batch((), self._to_cursor(_ListState(tuple(pages))), tuple(sorted(gone)))

    def _open(self) -> JsonApi:
        return JsonApi(
            self._declaration.url,
            secrets=self._secrets,
            timeout=self._timeout,
            retries=self._retries,
            max_bytes=self._declaration.max_page_bytes,
            remedies=REMEDIES,
        )

    def _list_pages(self, api: JsonApi, before: Mapping[str, _SeenPage]) -> Iterator[ListPage]:
        validators = {url: (page.validators, page.next) for url, page in before.items()}
        return Pager(api, self._declaration).list_pages(validators)

    def _read_page(self, part: ListPage, known: _SeenPage | None, seen: dict[str, str]) -> tuple[_SeenPage, Batch]:
        """A page's record, and its documents unless it is as it was. `seen` maps ids to a hash of their items, "" for
        those of pages that were not sent.
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
                reason = "Another item has the same id: `item_id` does not tell them apart."
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
        """The pages of the last read; none when the declaration was another one then."""
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
    """What is remembered of a page: a hash of its items, their ids, where it led, and what to ask with next time."""

    url: str
    digest: str
    ids: tuple[str, ...]
    next: str = ""
    validators: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _ListState:
    """What is known of a list. `missing` are ids that were on pages which were read again since, and not on these: they
    may have moved to pages that were not.
    """

    pages: tuple[_SeenPage, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def ids(self) -> set[str]:
        """The ids of all items."""
        return {one for page in self.pages for one in page.ids}.union(self.missing)

    def after(self, read: Sequence[_SeenPage]) -> _ListState:
        """What is known once these pages were read, which are the first of the list."""
        urls = {page.url for page in read}
        pages = (*read, *(page for page in self.pages if page.url not in urls))
        return _ListState(pages, tuple(sorted(self.ids.difference(one for page in pages for one in page.ids))))


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
