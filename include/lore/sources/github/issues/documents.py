"""Documents of issues and pull requests, from their numbers or payloads, with comments and reviews."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lore.declarations import GitHubIssuesDeclaration
from lore.sources.github.api.client import GitHubClient
from lore.sources.github.api.replies import GitHubError
from lore.sources.github.issues.comments import CommentReader, list_items, number_at_end
from lore.sources.github.issues.feed import PER_PAGE
from lore.sources.github.issues.reviews import review_facts, review_parts
from lore.sources.github.issues.state import IssuesState
from lore.sources.github.issues.text import is_bot, is_pull_request, issue_document, issue_number, label_names
from lore.sources.payload import Payload, as_text, from_iso
from lore.types import Document, Failure

__all__ = ["IssueDocuments", "IssuesBatch", "is_selected"]

GONE = (404, 410)
"""Statuses of an issue that was deleted, or transferred out of the token's reach."""


@dataclass(slots=True)
class IssuesBatch:
    """Documents, failures and deleted numbers, and the state after them (None: unchanged)."""

    documents: list[Document] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    state: IssuesState | None = None


def is_selected(item: Payload, declaration: GitHubIssuesDeclaration, earliest: datetime | None) -> bool:
    """Return True if the declaration selects an issue, pull request or discussion (with the keys of an issue)."""
    labels, updated = set(label_names(item)), from_iso(item.get("updated_at"))
    return (
        (declaration.include_pull_requests or not is_pull_request(item))
        and (declaration.include_bots or not is_bot(item))
        and (declaration.state in ("all", as_text(item.get("state"))))
        and labels.issuperset(declaration.labels)
        and labels.isdisjoint(declaration.exclude_labels)
        and not (earliest and updated and updated < earliest)
    )


class IssueDocuments:
    """Builds documents. `included_comments` are the comments in them (id, time of change) since `window`."""

    def __init__(self, client: GitHubClient, declaration: GitHubIssuesDeclaration, path: str) -> None:
        self._client, self._declaration, self._path = client, declaration, path
        self._comments = CommentReader(client, path, "issues", "issue_url")
        self._code_comments = CommentReader(client, path, "pulls", "pull_request_url")
        self.window: datetime | None = None
        self.included_comments: set[tuple[object, object]] = set()

    def prefetch(self, issues: Sequence[Payload], pages: int) -> None:
        """Prepare for `pages` pages of issues like these, so that their comments take the fewest calls."""
        self._comments.prefetch(pages * sum(1 for issue in issues if issue.get("comments")))
        if self._declaration.include_reviews:
            self._code_comments.prefetch(pages * sum(1 for issue in issues if is_pull_request(issue)))

    def add(self, issues: Iterable[Payload], found: IssuesBatch) -> IssuesBatch:
        """Add the documents of listed issues to `found`."""
        for issue in issues:
            number = issue["number"]
            try:
                found.documents.append(self._page(issue))
            except GitHubError as error:
                if error.status not in GONE:
                    raise
                if self._current(number) is None:
                    found.gone.append(number)
                else:
                    reason = f"Its comments can't be read: {error}"
                    found.failures.append(Failure(f"{self._declaration.id}:{number}", reason))
        return found

    def add_by_number(self, numbers: Iterable[int], earliest: datetime | None, found: IssuesBatch) -> IssuesBatch:
        """Add the documents of selected issues that were not listed to `found`."""
        for number in numbers:
            issue = self._current(number)
            if issue is None:
                found.gone.append(number)
            elif is_selected(issue, self._declaration, earliest):
                self.add([issue], found)
        return found

    def _current(self, number: int) -> Payload | None:
        """Return the current issue; None if it was deleted, or transferred, when GitHub redirects to its new place."""
        try:
            issue = self._client.get(f"{self._path}/issues/{number}").data
        except GitHubError as error:
            if error.status not in GONE:
                raise
            return None
        if not isinstance(issue, dict) or issue_number(issue) != number:
            return None
        place = as_text(issue.get("repository_url"))
        here = not place or place.lower().endswith(self._path.lower())
        return issue if here else None

    def _page(self, issue: Payload) -> Document:
        number = issue["number"]
        comments = self._without_bots(self._comments.of(number, issue.get("comments") or 0))
        if not (self._declaration.include_reviews and is_pull_request(issue)):
            return issue_document(issue, comments, self._declaration)
        reviews = self._without_bots(self._reviews(number))
        code_comments = self._without_bots(self._code_comments.of(number))
        return issue_document(
            issue,
            comments,
            self._declaration,
            facts=review_facts(reviews),
            parts=review_parts(reviews, code_comments),
        )

    def _reviews(self, number: int) -> list[Payload]:
        first = self._client.get(f"{self._path}/pulls/{number}/reviews", {"per_page": PER_PAGE})
        return list(list_items(self._client, first, "reviews", self._path))

    def _without_bots(self, items: Iterable[Payload]) -> list[Payload]:
        """Return the items of people, and of bots if these are selected; record them as included."""
        kept = [item for item in items if self._declaration.include_bots or not is_bot(item)]
        for item in kept:
            time = from_iso(item.get("updated_at"))
            if self.window is None or (time and time >= self.window):
                self.included_comments.add((item.get("id"), item.get("updated_at")))
        return kept

    def issue_numbers(self, comments: Iterable[Payload]) -> set[int]:
        """Return the numbers of the issues that comments belong to, except comments already in documents."""
        numbers: set[int] = set()
        for comment in comments:
            number = number_at_end(comment.get("issue_url") or comment.get("pull_request_url"))
            seen = (comment.get("id"), comment.get("updated_at")) in self.included_comments
            if number and not seen and (self._declaration.include_bots or not is_bot(comment)):
                numbers.add(number)
        return numbers
