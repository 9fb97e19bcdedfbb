"""Issues and pull requests of a GitHub repository, with their comments, through the REST API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from include.lore.declarations import GitHubIssuesDeclaration
from include.lore.errors import SourceError
from include.lore.sources.github_comments import MAX_PAGES, PER_PAGE, Comments, endless
from include.lore.sources.github_text import as_list, is_pull_request, issue_document, issue_number, parse_time
from include.lore.sources.http import HttpClient, HttpError, Reply
from include.lore.types import Batch, Cursor, Document, Failure

__all__ = ["GitHubIssuesSource"]

BATCH_ISSUES = 25
"""Few enough that a batch is complete, and the cursor moves, within the 60 calls an hour without a token."""
SECOND = timedelta(seconds=1)
OVERLAP = timedelta(seconds=60)
"""Read again at every start: a change shows in GitHub's lists some seconds after the time that it carries."""

Payload = Mapping[str, Any]


class GitHubIssuesSource:
    """One document for each issue or pull request, oldest change first, so that a cut read goes on where it was.

    The cursor is the `updated_at` up to which everything was read. `http` makes the client; it is there for tests.
    """

    def __init__(
        self,
        declaration: GitHubIssuesDeclaration,
        *,
        token: str | None,
        base_url: str,
        timeout: float = 60.0,
        max_retries: int = 4,
        http: Callable[..., HttpClient] = HttpClient,
    ) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._path = f"/repos/{declaration.repository}"
        self._options = {"token": token, "timeout": timeout, "max_retries": max_retries}
        self._base_url = base_url
        self._http = http

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield, in batches, the issues that changed at the cursor or later (None: all)."""
        start = self._from_cursor(since) if since else None
        with self._client() as client:
            comments: Comments | None = None
            for page in self._pages(client, start - OVERLAP if start else None):
                comments = comments or Comments(client, self._path, page.issues, page.reply)
                for first in range(0, max(1, len(page.issues)), BATCH_ISSUES):
                    issues = page.issues[first : first + BATCH_ISSUES]
                    reached = page.reached
                    if reached and len(page.issues) > first + BATCH_ISSUES:
                        reached = min(reached, parse_time(issues[-1].get("updated_at")) or reached)
                    yield self._batch(issues, comments, max((time for time in (reached, start) if time), default=None))

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every issue that the declaration covers, at a call for each hundred issues."""
        with self._client() as client:
            for page in self._pages(client, None):
                yield from (f"{self.id}:{issue['number']}" for issue in page.issues)

    def _client(self) -> HttpClient:
        repository = self._declaration.repository
        return self._http(
            self._base_url,
            headers={"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"},
            remedies={
                401: "The token is wrong or has expired: set LORE_GITHUB_TOKEN or the connection github_default anew.",
                403: f"The token may not read {repository}: give it read access to issues and pull requests.",
                404: f"Check the name {repository}; a private repository needs a token that may read its issues.",
                410: f"The issues of {repository} are switched off: remove the declaration.",
            },
            **self._options,
        )

    def _pages(self, client: HttpClient, since: datetime | None) -> Iterator[_Page]:
        """Every issue once, by time of change. Page numbers shift while issues change, so each call starts at the
        last time seen, a second before it; pages are turned only among issues of the same second.

        Where a list is not in order, all its pages are turned and nothing after the place is called reached.
        """
        first_day = self._declaration.since
        earliest = datetime(first_day.year, first_day.month, first_day.day, tzinfo=UTC) if first_day else None
        position = max((time for time in (since, earliest) if time), default=None)
        walk = _Walk(position, datetime.now(UTC))
        visited: set[str] = set()
        reply = client.get(f"{self._path}/issues", self._query(position))
        for _ in range(MAX_PAGES):
            fresh = walk.take(as_list(reply.data, "issues"), position)
            yield _Page(tuple(issue for issue in fresh if self._wanted(issue)), walk.reached, reply)
            next_url = reply.next_url
            if next_url is None:
                return
            if walk.in_order and walk.last and (position is None or walk.last - SECOND > position):
                position = walk.last - SECOND
                reply = client.get(f"{self._path}/issues", self._query(position))
            elif next_url in visited or walk.repeats > len(walk.seen) + 10 * PER_PAGE:
                break
            else:
                visited.add(next_url)
                reply = client.get(next_url)
        raise endless("issues", self._path)

    def _query(self, since: datetime | None) -> dict[str, str | int]:
        query: dict[str, str | int] = {
            "state": self._declaration.state,
            "sort": "updated",
            "direction": "asc",
            "per_page": PER_PAGE,
        }
        if self._declaration.labels:
            query["labels"] = ",".join(self._declaration.labels)
        if since:
            query["since"] = f"{since:%Y-%m-%dT%H:%M:%SZ}"
        return query

    def _wanted(self, issue: Payload) -> bool:
        return self._declaration.include_pull_requests or not is_pull_request(issue)

    def _batch(self, issues: Sequence[Payload], comments: Comments, reached: datetime | None) -> Batch:
        documents: list[Document] = []
        failures: list[Failure] = []
        for issue in issues:
            try:
                documents.append(issue_document(issue, comments.of(issue), self._declaration))
            except HttpError as error:
                if error.status not in (404, 410):  # those two: it was deleted or moved since it was listed
                    raise
                failures.append(Failure(f"{self.id}:{issue['number']}", f"Its comments cannot be read: {error}"))
        return Batch(tuple(documents), self._to_cursor(reached) if reached else None, failures=tuple(failures))

    def _to_cursor(self, time: datetime) -> Cursor:
        return json.dumps({"updated_at": f"{time:%Y-%m-%dT%H:%M:%SZ}", "selection": self._selection()})

    def _from_cursor(self, cursor: Cursor) -> datetime | None:
        """Where to go on; None when the declaration chose other issues then: what it did not, was never read."""
        try:
            stored = json.loads(cursor)
            time = parse_time(stored["updated_at"])
            selection = stored.get("selection")
        except (ValueError, KeyError, TypeError, AttributeError):
            time = selection = None
        if time is None:
            raise SourceError(
                f"The stored cursor of {self.id} cannot be read.", remedy="Sync the source from its start."
            )
        return time if selection == self._selection() else None

    def _selection(self) -> str:
        chosen = {"repository", "state", "labels", "since", "include_pull_requests", "audiences"}
        return sha256(self._declaration.model_dump_json(include=chosen).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class _Page:
    """Issues not seen before; `reached` is the time of change up to which all are seen, `reply` the call's own."""

    issues: tuple[Payload, ...]
    reached: datetime | None
    reply: Reply


class _Walk:
    """What was seen on the way through the list: from `last`, the newest time of change, the list is asked for again.

    A time that lies in the future counts as `now`: a cursor there would hide every change until then.
    """

    def __init__(self, position: datetime | None, now: datetime) -> None:
        self._now = now
        self._changed: list[datetime] = []
        self.seen: dict[int, datetime | None] = {}
        self.last = position
        self.in_order = True
        self.repeats = 0

    def take(self, issues: Sequence[Payload], position: datetime | None) -> list[Payload]:
        """The issues of a page that are new; `position` is the time from which the page was asked for."""
        fresh: list[Payload] = []
        times: list[datetime] = [position] if position else []
        for issue in issues:
            number, given = issue_number(issue), parse_time(issue.get("updated_at"))
            if number is None:
                continue
            time = min(given, self._now) if given else None
            times += [time] if time else []
            if number not in self.seen:
                self.seen[number] = time
                fresh.append(issue)
            elif time and time != self.seen[number]:
                self._changed.append(time)  # it changed while we read: the next run takes it, so the cursor stays below
        self.repeats = 0 if fresh else self.repeats + max(len(issues), PER_PAGE)
        self.in_order = self.in_order and times == sorted(times)
        if self.in_order and times:
            self.last = max(times[-1], self.last or times[-1])
        return fresh

    @property
    def reached(self) -> datetime | None:
        """The time of change up to which all was seen."""
        return min([self.last, *self._changed]) if self.last else None
