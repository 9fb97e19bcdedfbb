"""The comments of a repository's issues, read with as few calls as there are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from include.lore.errors import SourceError
from include.lore.sources.github_text import as_list, as_text
from include.lore.sources.http import HttpClient, Reply

__all__ = ["MAX_PAGES", "PER_PAGE", "Comments", "endless"]

PER_PAGE = 100
MAX_PAGES = 20_000
"""Two million items: a list that is longer is no list of a repository."""
FEW_CALLS = 10
"""Up to here, comments are asked for issue by issue without looking for a shorter way."""

Payload = Mapping[str, Any]


class Comments:
    """The comments of issues, by the way that takes fewer calls: one or more for each issue that has any, or the
    repository's whole list at once, where the first page of issues promises that this is the shorter way.
    """

    def __init__(self, client: HttpClient, path: str, issues: Sequence[Payload], reply: Reply) -> None:
        self._client, self._path = client, path
        self._all: dict[int, list[Payload]] = {}
        expected = sum(1 for issue in issues if issue.get("comments")) * (_page_count(reply) or 2)
        if expected > FEW_CALLS:
            self._load_all(expected)

    def of(self, issue: Payload) -> list[Payload]:
        """An issue's comments. Raises HttpError when they are refused."""
        count = issue.get("comments")
        if not count:
            return []
        known = self._all.get(issue["number"], [])
        if len(known) == count:  # otherwise comments came or went since the list was read
            return known
        first = self._client.get(f"{self._path}/issues/{issue['number']}/comments", {"per_page": PER_PAGE})
        return list(self._from(first))

    def _load_all(self, expected: int) -> None:
        query: dict[str, str | int] = {"sort": "created", "direction": "asc", "per_page": PER_PAGE}
        first = self._client.get(f"{self._path}/issues/comments", query)
        pages = _page_count(first)
        if pages is None or pages > expected or (first.calls_left is not None and pages > first.calls_left):
            return
        for comment in self._from(first):
            number = as_text(comment.get("issue_url")).rpartition("/")[2]
            if number.isascii() and number.isdigit():
                self._all.setdefault(int(number), []).append(comment)

    def _from(self, reply: Reply) -> Iterator[Payload]:
        """The comments of a list's pages, each once; it ends with a page that brings nothing new."""
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            fresh = {key: comment for comment in as_list(reply.data, "comments") if (key := _key(comment)) not in seen}
            seen.update(fresh)
            yield from fresh.values()
            if not reply.next_url or not fresh:
                return
            reply = self._client.get(reply.next_url)
        raise endless("comments", self._path)


def _key(comment: Payload) -> str:
    """What tells comments apart: the id, or all of it where there is none."""
    return str(comment.get("id") or json.dumps(comment, sort_keys=True))


def endless(what: str, path: str) -> SourceError:
    """The error for a list whose pages do not come to an end."""
    return SourceError(
        f"The list of {what} of {path.removeprefix('/repos/')} runs in a circle or has no end.",
        remedy="Check the base URL; GitHub's own API does not do this.",
    )


def _page_count(reply: Reply) -> int | None:
    """How many pages a list has, as its `Link` header says; None when it has more than one but does not say."""
    if reply.next_url is None:
        return 1
    page = parse_qs(urlsplit(reply.last_url or "").query).get("page", [""])[0]
    return int(page) if page.isascii() and page.isdigit() else None
