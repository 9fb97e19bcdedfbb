"""Records of a site's pages between runs, so that unchanged pages aren't sent again; the cursor holds them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from lore.types import Cursor

__all__ = ["PageRecord", "PageRecords", "PageState"]

VERSION = 1
MAX_CURSOR = 4_000_000
"""Characters that any store can keep in one value; 50,000 pages with an ETag each take about 3 million."""
MAX_VALIDATOR = 200


class PageState(StrEnum):
    """The result of a page's last request; the values are short because the cursor holds them."""

    QUEUED = "q"
    """Not requested yet."""
    DOCUMENT = "d"
    MOVED = "m"
    """Redirects to `alias`."""
    ALIAS = "a"
    """Names `alias` as the address of its content (rel=canonical)."""
    COPY = "c"
    """Has the same bytes as `alias`."""
    SKIPPED = "s"
    """Exists but isn't indexed: noindex, not included, or no text."""
    GONE = "g"
    FAILED = "f"


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One page. `validator` is the ETag ('"…"', 'W/"…"') or Last-Modified of its body, `digest` a hash of that.

    `twin` is the address of its Markdown, which is requested instead. `done` means requested in this round.
    """

    address: str
    state: PageState = PageState.QUEUED
    depth: int = 0
    validator: str = ""
    digest: str = ""
    alias: str = ""
    twin: str = ""
    done: bool = False

    @property
    def conditions(self) -> dict[str, str]:
        """The headers that let the server omit a known body."""
        if not self.validator or self.state in (PageState.QUEUED, PageState.GONE, PageState.FAILED):
            return {}
        name = "If-None-Match" if self.validator.endswith('"') else "If-Modified-Since"
        return {name: self.validator}


class PageRecords:
    """Page records by key. `started` is the start of the round, in whole seconds since the epoch; None between
    rounds.
    """

    def __init__(self, started: int | None = None) -> None:
        self.entries: dict[str, PageRecord] = {}
        self.started = started

    def to_cursor(self, selection: str, origin: str) -> Cursor:
        """Return all records as text. If that is too long, the last pages lose their validators and are requested
        anew.
        """
        rows = [_to_row(key, entry, origin) for key, entry in self.entries.items()]
        kept = len(rows)
        while True:
            packed = [row if number < kept else _without_validator(row) for number, row in enumerate(rows)]
            values = {"v": VERSION, "selection": selection, "started": self.started, "pages": packed}
            data = zlib.compress(json.dumps(values, separators=(",", ":")).encode("ascii"), 6)
            cursor = base64.b64encode(data).decode("ascii")
            if len(cursor) <= MAX_CURSOR or kept == 0:
                return cursor
            kept = kept // 2

    @classmethod
    def from_cursor(cls, cursor: Cursor, selection: str, origin: str) -> PageRecords | None:
        """Read a cursor; None if it belongs to another selection. Raises ValueError if it is invalid."""
        try:
            values = json.loads(zlib.decompress(base64.b64decode(cursor, validate=True)))
            if values["v"] != VERSION or values["selection"] != selection:
                return None
            pages = cls(values["started"])
            pages.entries = dict(_from_row(row, origin) for row in values["pages"])
        except (ValueError, zlib.error, KeyError, TypeError) as error:
            raise ValueError(f"not a cursor: {type(error).__name__}") from None
        return pages

    def begin(self, started: int) -> None:
        """Begin a round, in which no page has been requested."""
        self.started = started
        self.entries = {key: replace(entry, done=False) for key, entry in self.entries.items()}

    def finish(self) -> None:
        """End the round: drop pages that it didn't request, and sort the others."""
        self.entries = {key: replace(entry, done=False) for key, entry in sorted(self.entries.items()) if entry.done}
        self.started = None

    def invalidate(self, keys: Iterable[str]) -> bool:
        """Forget the bodies of pages, so that they are sent again. Returns False, without changes, for an unknown
        page.
        """
        wanted = set(keys)
        if not wanted <= self.entries.keys():
            return False
        self.entries |= {key: replace(self.entries[key], validator="", digest="") for key in wanted}
        return True

    def documents(self) -> Iterator[str]:
        """Yield the keys of existing documents, including those that this round couldn't read."""
        for key, entry in self.entries.items():
            if entry.state in (PageState.DOCUMENT, PageState.FAILED):
                yield key

    def orphans(self) -> list[str]:
        """Return the keys of aliases and copies whose target turned out to be no document."""
        return [key for key in self.entries if self.is_orphan(key)]

    def is_orphan(self, key: str) -> bool:
        """Return True for an alias or copy without a document. A redirect has no content to lose."""
        entry = self.entries[key]
        if not entry.done or entry.state not in (PageState.ALIAS, PageState.COPY):
            return False
        other = self._target_document(key)
        return other is None or (
            entry.state is PageState.COPY and other.state is PageState.DOCUMENT and other.digest != entry.digest
        )

    def _target_document(self, key: str) -> PageRecord | None:
        """Return the document that a page leads to through any number of aliases, or None."""
        seen: set[str] = set()
        entry = self.entries.get(key)
        while entry is not None and entry.alias and key not in seen:
            seen.add(key)
            key = entry.alias
            entry = self.entries.get(key)
        return entry if entry is not None and entry.state in (PageState.DOCUMENT, PageState.FAILED) else None


Row = list[str | int]


def _to_row(key: str, entry: PageRecord, origin: str) -> Row:
    address, twin = entry.address.removeprefix(origin), entry.twin.removeprefix(origin)
    done = int(entry.done and entry.state is not PageState.FAILED)  # a failed page is tried again when a round goes on
    state, place = entry.state.value, "" if address == key else address
    return [key, place, state, entry.depth, entry.validator, entry.digest, entry.alias, twin, done]


def _without_validator(row: Row) -> Row:
    return [*row[:4], "", "", *row[6:]]


def _from_row(row: Row, origin: str) -> tuple[str, PageRecord]:
    key, place, state, depth, validator, digest, alias, twin, done = row
    return str(key), PageRecord(
        address=f"{origin}{place or key}",
        state=PageState(str(state)),
        depth=int(depth),
        validator=str(validator),
        digest=str(digest),
        alias=str(alias),
        twin=f"{origin}{twin}" if twin else "",
        done=bool(done),
    )
