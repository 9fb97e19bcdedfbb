"""The comments of a repository's issues and pull requests, read in the fewest calls."""

from __future__ import annotations

import json
from collections.abc import Iterator

from lore.sources.github.api.client import GitHubClient
from lore.sources.github.api.replies import GitHubReply, page_number
from lore.sources.github.issues.feed import MAX_PAGES, PER_PAGE, endless
from lore.sources.github.issues.text import items_of
from lore.sources.payload import Payload, as_text

__all__ = ["CommentReader", "list_items", "number_at_end"]

SHOWN = (
    "id", "body", "created_at", "updated_at", "path", "line", "original_line", "diff_hunk", "in_reply_to_id",
)  # fmt: skip
FEW_CALLS = 10
"""Issues up to which comments are read one issue at a time, without comparing the costs."""


class CommentReader:
    """The comments below `part` ("issues", or "pulls" for those on code) of the repository at `path`.

    They take one or more calls for each issue with comments, or the repository's whole list is read at once if the
    expected number of issues makes that cheaper.
    """

    def __init__(self, client: GitHubClient, path: str, part: str, url_key: str) -> None:
        self._client, self._path, self._part, self._url_key = client, path, part, url_key
        self._all: dict[int, list[Payload]] | None = None

    def prefetch(self, issues: int) -> None:
        """Read the whole list if that takes fewer calls for the comments of so many issues."""
        if issues <= FEW_CALLS:
            return
        query: dict[str, str | int] = {"sort": "created", "direction": "asc", "per_page": PER_PAGE}
        first = self._client.get(f"{self._path}/{self._part}/comments", query)
        pages = 1 if first.next_url is None else page_number(first.last_url)
        if pages is None or pages > issues or (first.calls_left is not None and pages > first.calls_left):
            return
        self._all = {}
        for comment in list_items(self._client, first, "comments", self._path):
            if number := number_at_end(comment.get(self._url_key)):
                self._all.setdefault(number, []).append(_shown_fields(comment))

    def of(self, number: int, count: int | None = None) -> list[Payload]:
        """Return the comments of one issue; `count` is their number, if known. Raises GitHubError."""
        if count == 0:
            return []
        if self._all is not None:
            known = self._all.get(number, [])
            if count is None or len(known) == count:  # otherwise comments changed since the list was read
                return known
        first = self._client.get(f"{self._path}/{self._part}/{number}/comments", {"per_page": PER_PAGE})
        return list(list_items(self._client, first, "comments", self._path))


def list_items(client: GitHubClient, reply: GitHubReply, what: str, path: str) -> Iterator[Payload]:
    """Yield each item of a list once, from the first reply on; it ends at a page without new items."""
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        fresh = {key: item for item in items_of(reply.data, what) if (key := _key(item)) not in seen}
        seen.update(fresh)
        yield from fresh.values()
        if not reply.next_url or not fresh:
            return
        reply = client.get(reply.next_url)
    raise endless(what, f"{path}/{what}")


def number_at_end(url: object) -> int | None:
    """Return the number at the end of an API address."""
    number = as_text(url).rpartition("/")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 19 else None


def _shown_fields(comment: Payload) -> Payload:
    """Return the fields that a page shows, a tenth of the payload, as all comments are in memory at once."""
    user = comment.get("user")
    who = {key: user.get(key) for key in ("login", "type")} if isinstance(user, dict) else None
    return {key: comment[key] for key in SHOWN if key in comment} | {"user": who}


def _key(item: Payload) -> str:
    """Return an item's id, or all of it as JSON if it has none."""
    return str(item.get("id") or json.dumps(item, sort_keys=True))
