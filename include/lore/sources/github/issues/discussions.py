"""The discussions of a repository, which GitHub offers through GraphQL only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from lore.declarations import GitHubIssuesDeclaration
from lore.sources.github.api.client import GitHubClient
from lore.sources.github.api.replies import GitHubError
from lore.sources.github.issues.discussion_text import as_item, discussion_document
from lore.sources.github.issues.documents import IssuesBatch, is_selected
from lore.sources.github.issues.feed import MAX_PAGES, OVERLAP, FeedState, endless
from lore.sources.github.issues.state import NumberIndex
from lore.sources.github.issues.text import issue_number
from lore.sources.payload import Payload, as_mappings, from_iso, nested

__all__ = ["Discussions"]

NOT_FOUND = 404
DISCUSSIONS_PER_QUERY = 5
"""GitHub counts 100 comments with 100 replies for each discussion, and allows ten times as many nodes."""
PERSON = "author { login __typename }"
FACTS = f"number updatedAt closed {PERSON} labels(first: 50) {{ nodes {{ name }} }}"
COMMENTS = f"""
  pageInfo {{ hasNextPage endCursor }}
  nodes {{
    id databaseId body createdAt {PERSON}
    replies(first: 100) {{ nodes {{ databaseId body createdAt {PERSON} }} }}
  }}"""
DISCUSSION = f"""
  {FACTS} title body url createdAt closedAt stateReason category {{ name isAnswerable }} answer {{ id }}
  comments(first: 100) {{ {COMMENTS} }}"""
REPOSITORY = "query($owner: String!, $name: String!{more}) {{ repository(owner: $owner, name: $name) {{ {what} }} }}"
LIST = REPOSITORY.format(
    more=", $after: String",
    what="discussions(first: 100, after: $after, orderBy: {field: UPDATED_AT, direction: DESC}) "
    f"{{ totalCount pageInfo {{ hasNextPage endCursor }} nodes {{ {FACTS} }} }}",
)
MORE_COMMENTS = REPOSITORY.format(
    more=", $number: Int!, $after: String",
    what=f"discussion(number: $number) {{ comments(first: 100, after: $after) {{ {COMMENTS} }} }}",
)


class Discussions:
    """The discussions that changed since the state `before`; `known` are those that existed then, None if unknown.

    After `batches`, `state` and `numbers` are the new state and the existing discussions.
    """

    def __init__(
        self,
        client: GitHubClient,
        declaration: GitHubIssuesDeclaration,
        before: FeedState,
        known: NumberIndex | None,
        earliest: datetime | None,
    ) -> None:
        self._client, self._declaration, self._earliest = client, declaration, earliest
        owner, _, name = declaration.repository.partition("/")
        self._names = {"owner": owner, "name": name}
        self._before, self._known = before, known
        self.state = before
        self.numbers: NumberIndex = known or {}

    def batches(self) -> Iterator[IssuesBatch]:
        """Yield the documents of changed discussions, oldest change first; `state` advances with them."""
        reached = self._before.reached
        listed, total = self._list(reached - OVERLAP if reached else None)
        changed = [n for n, item in listed.items() if self._before.recent.get(str(n)) != item["updated_at"]]
        known = dict(self._known or {}) | self._selected_numbers(listed)
        for found in self._read([number for number in reversed(changed) if known[number]], listed):
            known = {number: is_wanted for number, is_wanted in known.items() if number not in found.gone}
            yield found
        if total != len(known) or (self._known is None and reached is not None):
            everything, _ = self._list(None)
            missed = [n for n in everything if n not in listed and n not in (self._known or everything)]
            known = self._selected_numbers(everything)
            yield from self._read([number for number in missed if known[number]], everything)
        self.numbers = known
        self.state = self._final_state(listed)

    def selected_numbers(self) -> NumberIndex:
        """Return all discussions, each True if the declaration selects it."""
        return self._selected_numbers(self._list(None)[0])

    def _selected_numbers(self, listed: Mapping[int, Payload]) -> dict[int, bool]:
        return {number: is_selected(item, self._declaration, self._earliest) for number, item in listed.items()}

    def _list(self, until: datetime | None) -> tuple[dict[int, Payload], int]:
        """Return the discussions that changed at `until` or later (None: all), newest first, and the total number."""
        listed: dict[int, Payload] = {}
        after, total = None, 0
        for _ in range(MAX_PAGES):
            found = self._client.graphql(LIST, {**self._names, "after": after})
            connection = nested(found, "repository", "discussions")
            total = connection.get("totalCount") or 0
            for node in as_mappings(connection.get("nodes")):
                item = as_item(node)
                time = from_iso(item["updated_at"])
                if until and time and time < until:
                    return listed, total
                if number := issue_number(item):
                    listed.setdefault(number, item)
            info = nested(connection, "pageInfo")
            if not info.get("hasNextPage") or info.get("endCursor") in (None, after):
                return listed, total
            after = info["endCursor"]
        raise endless("discussions", f"/repos/{self._declaration.repository}/discussions")

    def _read(self, numbers: Sequence[int], listed: Mapping[int, Payload]) -> Iterator[IssuesBatch]:
        for start in range(0, len(numbers), DISCUSSIONS_PER_QUERY):
            chunk = numbers[start : start + DISCUSSIONS_PER_QUERY]
            found = IssuesBatch()
            for number, node in self._fetch(chunk).items():
                if node is None:
                    found.gone.append(number)
                else:
                    found.documents.append(discussion_document(node, self._comments(number, node), self._declaration))
            reached = from_iso(listed[chunk[-1]]["updated_at"])
            self.state = FeedState(max((time for time in (reached, self.state.reached) if time), default=None))
            yield found

    def _fetch(self, numbers: Sequence[int]) -> dict[int, Payload | None]:
        """Return discussions by number; None for a deleted one, for which GitHub refuses the whole query."""
        what = " ".join(f"d{number}: discussion(number: {number}) {{ {DISCUSSION} }}" for number in numbers)
        try:
            found = self._client.graphql(REPOSITORY.format(more="", what=what), self._names)
        except GitHubError as error:
            if error.status != NOT_FOUND:
                raise
            if len(numbers) == 1:
                return {numbers[0]: None}
            return {number: node for one in numbers for number, node in self._fetch([one]).items()}
        nodes = nested(found, "repository")
        return {number: nested(nodes, f"d{number}") or None for number in numbers}

    def _comments(self, number: int, node: Payload) -> list[Payload]:
        """Return all comments; a discussion comes with the first hundred."""
        connection = nested(node, "comments")
        comments = as_mappings(connection.get("nodes"))
        for _ in range(MAX_PAGES):
            info = nested(connection, "pageInfo")
            if not info.get("hasNextPage"):
                return comments
            variables = {**self._names, "number": number, "after": info.get("endCursor")}
            connection = nested(self._client.graphql(MORE_COMMENTS, variables), "repository", "discussion", "comments")
            comments += as_mappings(connection.get("nodes"))
        raise endless("comments", f"/repos/{self._declaration.repository}/comments")

    def _final_state(self, listed: Mapping[int, Payload]) -> FeedState:
        """Return the final state; the next read can skip changes in the overlap that are old enough to be complete."""
        times = {number: from_iso(item["updated_at"]) for number, item in listed.items()}
        now = datetime.now(UTC)
        reached = max((min(time, now) for time in (*times.values(), self._before.reached) if time), default=None)
        recent = {
            str(number): listed[number]["updated_at"]
            for number, time in times.items()
            if time and reached and reached - OVERLAP <= time < now - OVERLAP
        }
        return FeedState(reached, recent)
