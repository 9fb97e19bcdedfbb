"""One read of a repository's issues: what changed, in which order, and what exists in the end."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from include.lore.declarations import GitHubIssuesDeclaration
from include.lore.sources.github_answers import page_number
from include.lore.sources.github_discussions import Discussions
from include.lore.sources.github_feed import OVERLAP, Feed, FeedState, Page, stamp
from include.lore.sources.github_http import GitHubClient
from include.lore.sources.github_pages import Found, IssuePages, wanted
from include.lore.sources.github_state import IssuesState, Numbers
from include.lore.sources.github_text import as_text, issue_number, parse_time

__all__ = ["IssuesRun"]

BATCH_ISSUES = 25
"""Few enough that a batch is complete, and the cursor moves, within the 60 calls an hour without a token."""

Payload = Mapping[str, Any]


class IssuesRun:
    """Reads from the state `before`. When `batches` came to their end, `state` is what is reached."""

    def __init__(self, client: GitHubClient, declaration: GitHubIssuesDeclaration, before: IssuesState) -> None:
        self._client, self._declaration = client, declaration
        self._path = f"/repos/{declaration.repository}"
        self._before = before
        self._earliest = _earliest(declaration)
        self._pages = IssuePages(client, declaration, self._path)
        self._seen: dict[int, bool] = {}
        self.state = before

    def batches(self) -> Iterator[Found]:
        """Issues that changed, issues of which a comment was edited, discussions, and what else came to be there."""
        yield from self._changed_issues()
        comments = yield from self._edited("issues", self.state.comments)
        self.state = replace(self.state, comments=comments)
        if self._declaration.include_reviews:
            code_comments = yield from self._edited("pulls", self.state.code_comments)
            self.state = replace(self.state, code_comments=code_comments)
        if self._declaration.include_discussions:
            yield from self._discussions()
        yield from self._count()

    def existing(self) -> list[int]:
        """The numbers of all that the declaration covers, by the whole lists."""
        listed, _ = self._list_all(None)
        if self._declaration.include_discussions:
            listed |= Discussions(self._client, self._declaration, FeedState(), None, self._earliest).existing()
        return [number for number, is_wanted in listed.items() if is_wanted]

    def _changed_issues(self) -> Iterator[Found]:
        feed = self._feed(self._before.issues)
        first = True
        for page in feed.pages():
            if first:
                self._start(page)
                first = False
            self._seen |= {item["number"]: self._wanted(item) for item in page.items}
            issues = [item for item in page.items if self._wanted(item)]
            for start in range(0, len(issues), BATCH_ISSUES):
                batch = issues[start : start + BATCH_ISSUES]
                reached = page.reached
                if reached and len(issues) > start + BATCH_ISSUES:
                    reached = min(reached, parse_time(batch[-1].get("updated_at")) or reached)
                state = replace(self.state, issues=FeedState(reached), numbers=None) if reached else None
                yield self._pages.add(batch, Found(state=state))
        self.state = replace(self.state, issues=feed.settled())

    def _start(self, page: Page) -> None:
        """From the first answer's time on, edited comments are looked for; those before it are read now."""
        time = page.reply.server_time
        now = datetime.now(UTC) if time is None else datetime.fromtimestamp(time, UTC)
        begin = FeedState(now.replace(microsecond=0))
        comments = self._before.comments if self._before.comments.reached else begin
        code_comments = self._before.code_comments if self._before.code_comments.reached else begin
        self.state = replace(self.state, comments=comments, code_comments=code_comments)
        starts = [one.reached for one in (comments, code_comments) if one.reached]
        self._pages.window = min(starts) - OVERLAP
        pages = 1 if page.reply.next_url is None else page_number(page.reply.last_url) or 2
        self._pages.expect([item for item in page.items if self._wanted(item)], pages)

    def _edited(self, part: str, state: FeedState) -> Generator[Found, None, FeedState]:
        """The issues of which a comment was written or edited without their being in the list of changed ones."""
        feed = Feed(
            self._client,
            f"{self._path}/{part}/comments",
            {},
            state,
            what="comments",
            identify=lambda comment: as_text(comment.get("node_id")) or str(comment.get("id") or ""),
        )
        for page in feed.pages():
            numbers = sorted(number for number in self._pages.numbers_of(page.items) if self._may_be_wanted(number))
            for start in range(0, len(numbers), BATCH_ISSUES):
                yield self._pages.add_by_number(numbers[start : start + BATCH_ISSUES], self._earliest, Found())
        return feed.settled()

    def _may_be_wanted(self, number: int) -> bool:
        known = self._seen.get(number)
        if known is None and self._before.numbers is not None:
            known = self._before.numbers.get(number)
        return known is not False

    def _discussions(self) -> Iterator[Found]:
        before = self._before
        discussions = Discussions(
            self._client, self._declaration, before.discussions, before.discussion_numbers, self._earliest
        )
        for found in discussions.batches():
            found.state = replace(self.state, discussions=discussions.state, numbers=None, discussion_numbers=None)
            yield found
        self.state = replace(self.state, discussions=discussions.state, discussion_numbers=discussions.numbers)

    def _count(self) -> Iterator[Found]:
        """See whether what is known is all that there is; else list it, and read what is new in it."""
        known = dict(self._before.numbers or {}) | self._seen
        complete = self._before.numbers is not None or self._before.issues.reached is None
        if not complete or self._client.count(f"{self._path}/issues", self._query_of_all()) != len(known):
            known, new = self._list_all(known if complete else None)
            if new:  # transferred to here, say, with an old time of change
                yield self._pages.add(new, Found())
        self.state = replace(self.state, numbers=known)

    def _list_all(self, known: Numbers | None) -> tuple[dict[int, bool], list[Payload]]:
        """Everything in the whole list, and of what is wanted, that which is not known; none where `known` is None."""
        listed: dict[int, bool] = {}
        new: list[Payload] = []
        for page in self._feed(FeedState()).pages():
            for item in page.items:
                listed[item["number"]] = self._wanted(item)
                if known is not None and item["number"] not in known and self._wanted(item):
                    new.append(item)
        return listed, new

    def _feed(self, state: FeedState) -> Feed:
        return Feed(
            self._client,
            f"{self._path}/issues",
            self._query(),
            state,
            what="issues",
            identify=lambda issue: str(issue_number(issue) or ""),
            earliest=self._earliest,
        )

    def _query(self) -> dict[str, str | int]:
        labels = {"labels": ",".join(self._declaration.labels)} if self._declaration.labels else {}
        return {"state": self._declaration.state, **labels}

    def _query_of_all(self) -> dict[str, str | int]:
        return self._query() | ({"since": stamp(self._earliest)} if self._earliest else {})

    def _wanted(self, issue: Payload) -> bool:
        return wanted(issue, self._declaration, self._earliest)


def _earliest(declaration: GitHubIssuesDeclaration) -> datetime | None:
    """The first time of change that the declaration covers; ages count in whole days, so that it moves once a day."""
    days = [declaration.since] if declaration.since else []
    if declaration.max_age_days is not None:
        days.append((datetime.now(UTC) - timedelta(days=declaration.max_age_days)).date())
    return max((datetime(day.year, day.month, day.day, tzinfo=UTC) for day in days), default=None)
