"""The comments of a repository's issues and pull requests, read with as few calls as there are."""

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
"""Up to here, comments are asked for one by one without looking for a shorter way."""


class CommentReader:
    """The comments below `part` ("issues", or "pulls" for those on code) of the repository at `path`.

    They are read by the way that takes fewer calls: one or more for each issue that has any, or the repository's whole
    list at once, where the number of issues that are expected promises that this is the shorter way.
    """

    def __init__(self, client: GitHubClient, path: str, part: str, url_key: str) -> None:
        self._client, self._path, self._part, self._url_key = client, path, part, url_key
        self._all: dict[int, list[Payload]] | None = None

    def prefetch(self, issues: int) -> None:
        """Say that the comments of so many issues will be asked for."""
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
        """The comments of one issue, of which there are `count`, where that is known. Raises GitHubError."""
        if count == 0:
            return []
        if self._all is not None:
            known = self._all.get(number, [])
            if count is None or len(known) == count:  # otherwise comments came or went since the list was read
                return known
        first = self._client.get(f"{self._path}/{self._part}/{number}/comments", {"per_page": PER_PAGE})
        return list(list_items(self._client, first, "comments", self._path))


def list_items(client: GitHubClient, reply: GitHubReply, what: str, path: str) -> Iterator[Payload]:
    """The items of a list's pages from the first reply on, each once; it ends with a page that brings nothing new."""
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
    """The number that an address of the API ends with."""
    number = as_text(url).rpartition("/")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 19 else None


def _shown_fields(comment: Payload) -> Payload:
    """What a page shows of a comment: a tenth of what GitHub sends, for all are held in memory at once."""
    user = comment.get("user")
    who = {key: user.get(key) for key in ("login", "type")} if isinstance(user, dict) else None
    return {key: comment[key] for key in SHOWN if key in comment} | {"user": who}


def _key(item: Payload) -> str:
    """What tells items apart: the id, or all of it where there is none."""
    return str(item.get("id") or json.dumps(item, sort_keys=True))
