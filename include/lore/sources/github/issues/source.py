"""The source `github_issues`: issues, pull requests and discussions of a repository, with their comments."""

from __future__ import annotations

from collections.abc import Iterator

from lore.declarations import GitHubIssuesDeclaration
from lore.sources.cursors import NON_SELECTING_KEYS, invalid_cursor, selection_digest
from lore.sources.github.api.client import GitHubAccess, GitHubClient
from lore.sources.github.issues.reader import IssuesReader
from lore.sources.github.issues.state import IssuesState
from lore.types import Batch, Cursor

__all__ = ["GitHubIssuesSource"]


class GitHubIssuesSource:
    """One document for each issue, pull request and discussion, oldest change first, so that an interrupted read
    continues.

    Three lists are followed by time of change: issues; comments, as editing one doesn't change its issue; and, with
    reviews, comments on code. While nothing changes, a read takes one uncounted call for each list, and one for the
    number of issues, which reveals deletions.
    """

    def __init__(self, declaration: GitHubIssuesDeclaration, access: GitHubAccess) -> None:
        self.id = declaration.id
        self._declaration = declaration
        self._access = access
        self._listed: list[int] | None = None

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield, in batches, the changes since the cursor (None: all)."""
        self._listed = None
        before = self._from_cursor(since) if since else None
        moved = False
        with self._client() as client:
            run = IssuesReader(client, self._declaration, before or IssuesState())
            for found in run.batches():
                cursor = found.state.to_cursor(self._selection()) if found.state else None
                moved = moved or cursor is not None
                gone = tuple(f"{self.id}:{number}" for number in found.gone)
                yield Batch(tuple(found.documents), cursor, gone, tuple(found.failures))
        self._listed = run.state.selected_numbers()
        if moved or run.state != before:
            yield Batch((), run.state.to_cursor(self._selection()))

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every selected document: from the read just before, else from the whole lists."""
        listed, self._listed = self._listed, None
        if listed is None:
            with self._client() as client:
                listed = IssuesReader(client, self._declaration, IssuesState()).selected_numbers()
        yield from (f"{self.id}:{number}" for number in listed)

    def _client(self) -> GitHubClient:
        repository = self._declaration.repository
        return self._access.open(
            {
                401: "The token is wrong or has expired: set LORE_GITHUB_TOKEN or the connection github_default again.",
                403: f"The token may not read {repository}: give it read access to issues and pull requests.",
                404: f"Check the name {repository}; a private repository needs a token that may read its issues.",
                410: f"The issues of {repository} are turned off: remove the declaration.",
            }
        )

    def _from_cursor(self, cursor: Cursor) -> IssuesState | None:
        try:
            return IssuesState.from_cursor(cursor, self._selection())
        except ValueError:
            raise invalid_cursor(self.id) from None

    def _selection(self) -> str:
        values = self._declaration.model_dump_json(exclude={"id", *NON_SELECTING_KEYS})
        return selection_digest(f"{values} {self._access.base_url}")
