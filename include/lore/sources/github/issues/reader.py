"""One read of a repository's issues: the changes in order, and what exists at the end."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lore.declarations import GitHubIssuesDeclaration
from lore.errors import SourceError
from lore.sources.github.api.client import GitHubClient
from lore.sources.github.api.replies import page_number
from lore.sources.github.issues.discussions import Discussions
from lore.sources.github.issues.documents import IssueDocuments, IssuesBatch, is_selected
from lore.sources.github.issues.feed import OVERLAP, PER_PAGE, Feed, FeedPage, FeedState
from lore.sources.github.issues.state import IssuesState, NumberIndex
from lore.sources.github.issues.text import issue_number
from lore.sources.payload import Payload, as_text, from_iso

__all__ = ["IssuesReader"]

BATCH_ISSUES = 25
"""Issues in a batch: few enough for the cursor to advance within 60 calls, an hour's limit without a token."""

LIST_AGAIN = timedelta(hours=23)
UNFILTERED: Mapping[str, str | int] = {"state": "all"}
TOTALS = """
query($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) { issues { totalCount } pullRequests { totalCount } }
}
"""


class IssuesReader:
    """Reads from the state `before`; `state` is the new one once `batches` is exhausted."""

    def __init__(self, client: GitHubClient, declaration: GitHubIssuesDeclaration, before: IssuesState) -> None:
        self._client, self._declaration = client, declaration
        self._path = f"/repos/{declaration.repository}"
        self._before = before
        self._earliest = _earliest(declaration)
        self._pages = IssueDocuments(client, declaration, self._path)
        self._seen: dict[int, bool] = {}
        self._now = datetime.now(UTC)
        self.state = before

    def batches(self) -> Iterator[IssuesBatch]:
        """Yield changed issues, issues with changed comments, discussions, and issues that appeared otherwise."""
        yield from self._changed_issues()
        comments = yield from self._commented_issues("issues", self.state.comments)
        self.state = replace(self.state, comments=comments)
        if self._declaration.include_reviews:
            code_comments = yield from self._commented_issues("pulls", self.state.code_comments)
            self.state = replace(self.state, code_comments=code_comments)
        if self._declaration.include_discussions:
            yield from self._discussions()
        yield from self._reconcile()

    def selected_numbers(self) -> list[int]:
        """Return the numbers of all selected issues and discussions, from the whole lists."""
        listed, _ = self._list_all(None)
        if self._declaration.include_discussions:
            listed |= Discussions(self._client, self._declaration, FeedState(), None, self._earliest).selected_numbers()
        return [number for number, is_wanted in listed.items() if is_wanted]

    def _changed_issues(self) -> Iterator[IssuesBatch]:
        feed = self._feed(self._before.issues)
        first = True
        for page in feed.pages():
            if first:
                self._start(page)
                first = False
            self._seen |= {item["number"]: self._is_selected(item) for item in page.items}
            issues = [item for item in page.items if self._is_selected(item)]
            for start in range(0, len(issues), BATCH_ISSUES):
                batch = issues[start : start + BATCH_ISSUES]
                reached = page.reached
                if reached and len(issues) > start + BATCH_ISSUES:
                    reached = min(reached, from_iso(batch[-1].get("updated_at")) or reached)
                state = replace(self.state, issues=FeedState(reached), numbers=None) if reached else None
                yield self._pages.add(batch, IssuesBatch(state=state))
        self.state = replace(self.state, issues=feed.final_state())

    def _start(self, page: FeedPage) -> None:
        """Start to watch for edited comments at the first reply's time; this run reads the earlier ones."""
        time = page.reply.server_time
        now = datetime.now(UTC) if time is None else datetime.fromtimestamp(time, UTC)
        begin = FeedState(now.replace(microsecond=0))
        comments = self._before.comments if self._before.comments.reached else begin
        code_comments = self._before.code_comments if self._before.code_comments.reached else begin
        self.state = replace(self.state, comments=comments, code_comments=code_comments)
        starts = [one.reached for one in (comments, code_comments) if one.reached]
        self._pages.window = min(starts) - OVERLAP
        self._pages.prefetch([item for item in page.items if self._is_selected(item)], self._pages_ahead(page))

    def _pages_ahead(self, page: FeedPage) -> int:
        """Return the number of pages of issues; GitHub doesn't tell it, but numbers issues by creation."""
        if page.reply.next_url is None:
            return 1
        last_page = page_number(page.reply.last_url)
        if last_page is not None or self._before.issues.reached is not None:
            return last_page or 2
        newest = self._client.get(f"{self._path}/issues", {"state": "all", "per_page": 1}).data
        number = issue_number(newest[0]) if isinstance(newest, list) and newest and isinstance(newest[0], dict) else 0
        return -(-(number or 0) // PER_PAGE) or 2

    def _commented_issues(self, part: str, state: FeedState) -> Generator[IssuesBatch, None, FeedState]:
        """Yield the issues with a new or edited comment that the list of changed issues doesn't contain."""
        feed = Feed(
            self._client,
            f"{self._path}/{part}/comments",
            {},
            state,
            what="comments",
            identify=lambda comment: as_text(comment.get("node_id")) or str(comment.get("id") or ""),
        )
        for page in feed.pages():
            numbers = sorted(
                number for number in self._pages.issue_numbers(page.items) if self._may_be_selected(number)
            )
            for start in range(0, len(numbers), BATCH_ISSUES):
                yield self._pages.add_by_number(numbers[start : start + BATCH_ISSUES], self._earliest, IssuesBatch())
        return feed.final_state()

    def _may_be_selected(self, number: int) -> bool:
        known = self._seen.get(number)
        if known is None and self._before.numbers is not None:
            known = self._before.numbers.get(number)
        return known is not False

    def _discussions(self) -> Iterator[IssuesBatch]:
        before = self._before
        discussions = Discussions(
            self._client, self._declaration, before.discussions, before.discussion_numbers, self._earliest
        )
        for found in discussions.batches():
            found.state = replace(self.state, discussions=discussions.state, numbers=None, discussion_numbers=None)
            yield found
        self.state = replace(self.state, discussions=discussions.state, discussion_numbers=discussions.numbers)

    def _reconcile(self) -> Iterator[IssuesBatch]:
        """Compare the known issues with all that exist; if they differ, list all and yield new ones."""
        known = dict(self._before.numbers or {}) | self._seen
        first = self._before.issues.reached is None
        complete = self._before.numbers is not None or first
        if not complete or self._must_list(known, first):
            known, new = self._list_all(known if complete else None)
            if new:  # for example transferred, with an old time of change
                yield self._pages.add(new, IssuesBatch())
            first = True
        listed = self._now.replace(microsecond=0) if first else self._before.listed
        self.state = replace(self.state, numbers=known, listed=listed)

    def _must_list(self, known: NumberIndex, first: bool) -> bool:
        """Return True if the number of issues differs; where GitHub doesn't tell it, if a day has passed."""
        total = self._total()
        if total is not None:
            return total != len(known)
        return not first and (self._before.listed is None or self._now - self._before.listed > LIST_AGAIN)

    def _total(self) -> int | None:
        """Return the number of issues and pull requests; None if unknown for this selection."""
        if self._earliest or self._filter() != UNFILTERED:
            return None
        total = self._total_by_graphql() if self._client.has_token else None
        return self._client.count(f"{self._path}/issues", UNFILTERED) if total is None else total

    def _total_by_graphql(self) -> int | None:
        owner, _, name = self._declaration.repository.partition("/")
        try:
            found = self._client.graphql(TOTALS, {"owner": owner, "name": name})["repository"]
            return int(found["issues"]["totalCount"]) + int(found["pullRequests"]["totalCount"])
        except (SourceError, TypeError, KeyError, ValueError):  # count over REST instead
            return None

    def _list_all(self, known: NumberIndex | None) -> tuple[dict[int, bool], list[Payload]]:
        """Return the whole list, and its selected issues that are not in `known`; none for `known` None."""
        listed: dict[int, bool] = {}
        new: list[Payload] = []
        for page in self._feed(FeedState()).pages():
            for item in page.items:
                listed[item["number"]] = self._is_selected(item)
                if known is not None and item["number"] not in known and self._is_selected(item):
                    new.append(item)
        return listed, new

    def _feed(self, state: FeedState) -> Feed:
        """Return the list of issues: first the selected ones, later all, to see which are no longer selected."""
        return Feed(
            self._client,
            f"{self._path}/issues",
            self._filter() if state.reached is None else UNFILTERED,
            state,
            what="issues",
            identify=lambda issue: str(issue_number(issue) or ""),
            earliest=self._earliest,
            later=UNFILTERED,
        )

    def _filter(self) -> dict[str, str | int]:
        labels = {"labels": ",".join(self._declaration.labels)} if self._declaration.labels else {}
        return {"state": self._declaration.state, **labels}

    def _is_selected(self, issue: Payload) -> bool:
        return is_selected(issue, self._declaration, self._earliest)


def _earliest(declaration: GitHubIssuesDeclaration) -> datetime | None:
    """Return the first selected time of change; ages count in whole days, so it moves once a day."""
    days = [declaration.since] if declaration.since else []
    if declaration.max_age_days is not None:
        days.append((datetime.now(UTC) - timedelta(days=declaration.max_age_days)).date())
    return max((datetime(day.year, day.month, day.day, tzinfo=UTC) for day in days), default=None)
