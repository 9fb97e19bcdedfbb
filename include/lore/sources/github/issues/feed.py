"""A list of GitHub ordered by time of change, read from a state on, each item once.

Page numbers shift while items change. So each call starts one second before the last time seen, and pages are turned
only among items of the same second. A list out of order is read through all its pages, and its state doesn't advance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lore.errors import SourceError
from lore.sources.github.api.client import GitHubClient
from lore.sources.github.api.replies import GitHubReply
from lore.sources.github.issues.text import items_of
from lore.sources.payload import Payload, as_text, from_iso

__all__ = ["MAX_PAGES", "PER_PAGE", "Feed", "FeedPage", "FeedState", "endless", "stamp"]

PER_PAGE = 100
MAX_PAGES = 20_000
"""Two million items, more than any repository's list has."""
SECOND = timedelta(seconds=1)
OVERLAP = timedelta(seconds=60)
"""Time that every read repeats: a change appears in GitHub's lists some seconds after its own time."""
MAX_RECENT = 300


@dataclass(frozen=True, slots=True)
class FeedState:
    """The state of a list: all changes up to `reached` were read.

    `recent` maps the items of the overlap to their time of change; `etag` belongs to the first call of the next read.
    Both may be empty; they only save work.
    """

    reached: datetime | None = None
    recent: Mapping[str, str] = field(default_factory=dict)
    etag: str = ""


@dataclass(frozen=True, slots=True)
class FeedPage:
    """New items; `reached` is the time of change up to which all are seen, `reply` the call's reply."""

    items: tuple[Payload, ...]
    reached: datetime | None
    reply: GitHubReply


class Feed:
    """One list, at `path` with `query`, read from `state` on, but no earlier than `earliest`.

    `later` is the query of later reads, if it differs. `identify` returns an item's identity, "" to skip it. `what`
    names the items in errors.
    """

    def __init__(
        self,
        client: GitHubClient,
        path: str,
        query: Mapping[str, str | int],
        state: FeedState,
        *,
        what: str,
        identify: Callable[[Payload], str],
        earliest: datetime | None = None,
        later: Mapping[str, str | int] | None = None,
    ) -> None:
        self._client, self._path, self._what = client, path, what
        order: dict[str, str | int] = {"sort": "updated", "direction": "asc", "per_page": PER_PAGE}
        self._query = {**query, **order}
        self._later = self._query if later is None else {**later, **order}
        self._state, self._earliest = state, earliest
        self._walk = _FeedProgress(identify)
        self._first: GitHubReply | None = None

    def pages(self) -> Iterator[FeedPage]:
        """Yield every new or changed item once, in pages by time of change; nothing if the list is unchanged."""
        position = self._start(self._state.reached)
        self._walk.begin(position)
        reply = self._ask(position, self._state.etag)
        self._first = reply
        if reply.unchanged:
            return
        visited: set[str] = set()
        for _ in range(MAX_PAGES):
            fresh = self._walk.take(reply, position, self._what)
            yield FeedPage(tuple(item for item in fresh if not self._known(item)), self._reached, reply)
            next_url = reply.next_url
            if next_url is None:
                return
            last = self._walk.last
            if self._walk.in_order and last and (position is None or last - SECOND > position):
                position = last - SECOND
                reply = self._ask(position)
            elif next_url in visited or self._walk.exhausted:
                break
            else:
                visited.add(next_url)
                reply = self._client.get(next_url)
        raise endless(self._what, self._path)

    def final_state(self) -> FeedState:
        """Return the state after all pages. Makes the first call of the next read, unless its reply is known."""
        if self._first is not None and self._first.unchanged:
            return self._state
        reached = self._reached
        start = self._start(reached)
        if start == self._start(self._state.reached) and self._first is not None and self._later == self._query:
            reply = self._first
        elif self._walk.in_order:
            reply = self._ask(start, query=self._later)
        else:
            return FeedState(reached)
        items = items_of(reply.data, self._what)
        if reply.next_url or not all(self._walk.is_stable(item, reply) for item in items):
            return FeedState(reached)
        recent = {self._walk.identify(item): as_text(item.get("updated_at")) for item in items}
        return FeedState(reached, recent if len(recent) <= MAX_RECENT else {}, reply.etag)

    @property
    def _reached(self) -> datetime | None:
        return max((time for time in (self._walk.reached, self._state.reached) if time), default=None)

    def _start(self, reached: datetime | None) -> datetime | None:
        return max((time for time in (reached and reached - OVERLAP, self._earliest) if time), default=None)

    def _ask(self, since: datetime | None, etag: str = "", query: Mapping[str, str | int] | None = None) -> GitHubReply:
        asked = self._query if query is None else query
        return self._client.get(self._path, {**asked, "since": stamp(since)} if since else asked, etag=etag)

    def _known(self, item: Payload) -> bool:
        known = self._state.recent.get(self._walk.identify(item))
        return known is not None and known == item.get("updated_at")


class _FeedProgress:
    """Progress through the list; the next call starts at `last`, the newest time of change.

    A time in the future counts as now, as the state would otherwise hide every change until then.
    """

    def __init__(self, identify: Callable[[Payload], str]) -> None:
        self.identify = identify
        self._changed: list[datetime] = []
        self._times: dict[str, str] = {}  # not the items: a repository may have a gigabyte of them
        self.last: datetime | None = None
        self.in_order = True
        self._repeats = 0
        self._now = datetime.now(UTC)

    def begin(self, position: datetime | None) -> None:
        """Start from a time."""
        self.last = position

    def take(self, reply: GitHubReply, position: datetime | None, what: str) -> list[Payload]:
        """Return the new items of a page, which was requested from the time `position` on."""
        items = items_of(reply.data, what)
        self._now = _now(reply)
        fresh: list[Payload] = []
        times: list[datetime] = [position] if position else []
        for item in items:
            key, time = self.identify(item), self._time(item)
            if not key:
                continue
            times += [time] if time else []
            if key not in self._times:
                self._times[key] = as_text(item.get("updated_at"))
                fresh.append(item)
            elif time and self._times[key] != item.get("updated_at"):
                self._changed.append(time)  # it changed meanwhile: the next run reads it
        self._repeats = 0 if fresh else self._repeats + max(len(items), PER_PAGE)
        self.in_order = self.in_order and times == sorted(times)
        if self.in_order and times:
            self.last = max(times[-1], self.last or times[-1])
        return fresh

    @property
    def exhausted(self) -> bool:
        """True when pages have brought nothing new for so long that the list must be endless."""
        return self._repeats > len(self._times) + 10 * PER_PAGE

    @property
    def reached(self) -> datetime | None:
        """The time of change up to which everything was seen."""
        return min([self.last, *self._changed]) if self.last else None

    def is_stable(self, item: Payload, reply: GitHubReply) -> bool:
        """Return True for an unchanged item that is old enough to exclude another change in the same second."""
        same = self._times.get(self.identify(item)) == item.get("updated_at")
        time = self._time(item)
        return same and time is not None and time < _now(reply) - OVERLAP

    def _time(self, item: Payload) -> datetime | None:
        given = from_iso(item.get("updated_at"))
        return min(given, self._now) if given else None


def _now(reply: GitHubReply) -> datetime:
    """Return the server's time, or ours if it sends none."""
    return datetime.now(UTC) if reply.server_time is None else datetime.fromtimestamp(reply.server_time, UTC)


def stamp(time: datetime) -> str:
    """Return a time in GitHub's format."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def endless(what: str, path: str) -> SourceError:
    """Return the error for a list without an end."""
    return SourceError(
        f"The list of {what} of {path.removeprefix('/repos/').rpartition('/')[0]} runs in a circle or has no end.",
        remedy="Check the base URL; GitHub's own API doesn't do this.",
    )
