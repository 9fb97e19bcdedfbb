"""A list of GitHub's that can be asked for by time of change: read from where it was left, each item once.

Page numbers shift while items change, so each call starts at the last time seen, a second before it, and pages are
turned only among items of the same second. Where a list is not in order, all its pages are turned and nothing after
the place is called reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lore.errors import SourceError
from lore.sources.github.api.client import GitHubClient
from lore.sources.github.api.replies import GitHubReply
from lore.sources.github.issues.text import items_of
from lore.sources.payload import Payload, as_text
from lore.sources.post_text import from_iso

__all__ = ["MAX_PAGES", "PER_PAGE", "Feed", "FeedPage", "FeedState", "endless", "stamp"]

PER_PAGE = 100
MAX_PAGES = 20_000
"""Two million items: a list that is longer is no list of a repository."""
SECOND = timedelta(seconds=1)
OVERLAP = timedelta(seconds=60)
"""Read again at every start: a change shows in GitHub's lists some seconds after the time that it carries."""
MAX_RECENT = 300


@dataclass(frozen=True, slots=True)
class FeedState:
    """Where a list was left: all that changed up to `reached` is read.

    `recent` has the items of the overlap, by what identifies them, with their time of change; `etag` stands for the
    answer to the call that a next read begins with. Both may be empty, and are only there to save work.
    """

    reached: datetime | None = None
    recent: Mapping[str, str] = field(default_factory=dict)
    etag: str = ""


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Items not seen before; `reached` is the time of change up to which all are seen, `reply` the call's own."""

    items: tuple[Payload, ...]
    reached: datetime | None
    reply: GitHubReply


class Feed:
    """One list, at `path` with `query`, read from `state` on; `earliest` is the first time that is of interest.

    `later` is the query of the reads that go on from there, where it is another one. `identify` gives what tells items
    apart, or "" for an item to be passed over. `what` names them in errors.
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
        """Every item that is new or changed, once, in pages by time of change; none when the list is as it was."""
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
        """The state after all pages were taken. Asks once for what a next read begins with, unless it is known."""
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
    """What was seen on the way through the list: from `last`, the newest time of change, the list is asked for again.

    A time that lies in the future counts as now: a reached time there would hide every change until then.
    """

    def __init__(self, identify: Callable[[Payload], str]) -> None:
        self.identify = identify
        self._changed: list[datetime] = []
        self._times: dict[str, str] = {}  # items are not kept: a repository may have a gigabyte of them
        self.last: datetime | None = None
        self.in_order = True
        self._repeats = 0
        self._now = datetime.now(UTC)

    def begin(self, position: datetime | None) -> None:
        """Start from a time."""
        self.last = position

    def take(self, reply: GitHubReply, position: datetime | None, what: str) -> list[Payload]:
        """The items of a page that are new; `position` is the time from which the page was asked for."""
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
                self._changed.append(time)  # it changed while we read: the next run takes it, so reached stays below
        self._repeats = 0 if fresh else self._repeats + max(len(items), PER_PAGE)
        self.in_order = self.in_order and times == sorted(times)
        if self.in_order and times:
            self.last = max(times[-1], self.last or times[-1])
        return fresh

    @property
    def exhausted(self) -> bool:
        """Whether pages bring nothing new for so long that the list has no end."""
        return self._repeats > len(self._times) + 10 * PER_PAGE

    @property
    def reached(self) -> datetime | None:
        """The time of change up to which all was seen."""
        return min([self.last, *self._changed]) if self.last else None

    def is_stable(self, item: Payload, reply: GitHubReply) -> bool:
        """Whether an item is as it was read, and for so long that no change of the same second may be missing."""
        same = self._times.get(self.identify(item)) == item.get("updated_at")
        time = self._time(item)
        return same and time is not None and time < _now(reply) - OVERLAP

    def _time(self, item: Payload) -> datetime | None:
        given = from_iso(item.get("updated_at"))
        return min(given, self._now) if given else None


def _now(reply: GitHubReply) -> datetime:
    """The server's time, or ours where it does not tell."""
    return datetime.now(UTC) if reply.server_time is None else datetime.fromtimestamp(reply.server_time, UTC)


def stamp(time: datetime) -> str:
    """A time as GitHub writes it."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def endless(what: str, path: str) -> SourceError:
    """The error for a list whose pages do not come to an end."""
    return SourceError(
        f"The list of {what} of {path.removeprefix('/repos/').rpartition('/')[0]} runs in a circle or has no end.",
        remedy="Check the base URL; GitHub's own API does not do this.",
    )
