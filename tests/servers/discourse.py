"""A small server that speaks the part of Discourse's JSON that Lore reads: categories, lists, topics, posts, faults.

with DiscourseServer(topics) as forum:
    ...  # point a discourse declaration at forum.base_url
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.servers.json_api import ApiServer, Fault, Payload, Request, Response

CATEGORIES = (
    {"id": 5, "name": "Support", "slug": "support"},
    {"id": 6, "name": "Deep support", "slug": "deep", "parent_category_id": 5},
    {"id": 7, "name": "Show & tell", "slug": "show"},
    {"id": 8, "name": "Staff", "slug": "staff", "read_restricted": True},
)


def rate_limited(seconds: int, match: str = "", times: int = 1) -> Fault:
    """Discourse's refusal of too many calls, without the header that says how long to wait."""
    body = {
        "errors": ["You’ve performed this action too many times, please try again later."],
        "error_type": "rate_limit",
        "extras": {"wait_seconds": seconds, "time_left": f"{seconds} seconds"},
    }
    return Fault(match, 429, body=json.dumps(body).encode(), times=times)


class DiscourseServer(ApiServer):
    """A forum. `topics` stay a list of this object: each has the fields of a list, and its posts in `posts`.

    `page` topics are in a page of a list and `chunk` posts in the first answer of a topic. `key` is what the header
    Api-Key must be; without it only public categories show.
    """

    def __init__(
        self,
        topics: Iterable[Payload] = (),
        *,
        categories: Sequence[Payload] = CATEGORIES,
        page: int = 30,
        chunk: int = 20,
        key: str | None = None,
        closed: bool = False,
        faults: Sequence[Fault] = (),
        before: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(faults=faults, before=before)
        self.topics = [dict(topic) for topic in topics]
        self.categories = [dict(category) for category in categories]
        self.page, self.chunk, self.key, self.closed = page, chunk, key, closed

    def answer(self, request: Request) -> Response:
        given = request.headers.get("api-key")
        if given is not None and given != self.key:
            return _error(403, "invalid_access", f"You are not permitted to view {given}")
        if self.closed and given is None:
            return _error(403, "not_logged_in", "You need to be logged in to do that.")
        path = request.path
        if path == "/categories.json":
            return Response({"category_list": {"categories": self._tree(None, given)}})
        if path == "/latest.json":
            return self._list(path, request.query, [one for one in self.topics if self._sees(one, given)])
        if match := re.fullmatch(r"/c/[\w-]+/(\d+)/l/latest\.json", path):
            family = self._family(int(match[1]))
            rows = [one for one in self.topics if one["category_id"] in family and self._sees(one, given)]
            return self._list(path, request.query, rows)
        if match := re.fullmatch(r"/t/(\d+)(?:/(posts|\d+))?\.json", path):
            found = [one for one in self.topics if one["id"] == int(match[1]) and self._sees(one, given)]
            if found:
                return self._topic(found[0], match[2], request)
        return _error(404, "not_found", "The requested URL or resource could not be found.")

    def _sees(self, topic: Payload, given: str | None) -> bool:
        category = next((one for one in self.categories if one["id"] == topic["category_id"]), {})
        return not category.get("read_restricted") or given is not None

    def _tree(self, parent: int | None, given: str | None) -> list[dict[str, Any]]:
        return [
            {**one, "subcategory_list": self._tree(one["id"], given)}
            for one in self.categories
            if one.get("parent_category_id") == parent and (given is not None or not one.get("read_restricted"))
        ]

    def _family(self, top: int) -> set[int]:
        return {top} | {one["id"] for one in self.categories if one.get("parent_category_id") == top}

    def _list(self, path: str, query: Mapping[str, str], rows: list[dict[str, Any]]) -> Response:
        rows = sorted(rows, key=lambda row: row["bumped_at"], reverse=True)
        rows.sort(key=lambda row: not row.get("pinned"))
        number = int(query.get("page", "0"))
        shown = rows[number * self.page : (number + 1) * self.page]
        topics: dict[str, Any] = {"per_page": self.page, "topics": [self._row(one) for one in shown]}
        if len(rows) > (number + 1) * self.page:
            topics["more_topics_url"] = f"{path.removesuffix('.json')}?page={number + 1}"
        return Response({"users": [], "topic_list": topics})

    def _row(self, topic: Payload) -> dict[str, Any]:
        row = {key: value for key, value in topic.items() if key != "posts"}
        row["has_accepted_answer"] = any(post.get("accepted_answer") for post in topic["posts"])
        return {"archetype": "regular", "visible": True, "posts_count": len(topic["posts"]), **row}

    def _topic(self, topic: Payload, part: str | None, request: Request) -> Response:
        posts = topic["posts"]
        if part == "posts":
            wanted = {int(value) for key, value in parse_qsl(urlsplit(request.target).query) if key == "post_ids[]"}
            return Response({"post_stream": {"posts": [post for post in posts if post["id"] in wanted]}})
        if part:
            return Response(
                {"post_stream": {"posts": [post for post in posts if post["post_number"] >= int(part)][:5]}}
            )
        stream = {"posts": posts[: self.chunk], "stream": [post["id"] for post in posts]}
        payload = {**self._row(topic), "post_stream": stream}
        solution = next((post for post in posts if post.get("accepted_answer")), None)
        if solution:
            payload["accepted_answer"] = {"post_number": solution["post_number"], "username": solution["username"]}
        return Response(payload)


def _error(status: int, kind: str, message: str) -> Response:
    return Response({"errors": [message], "error_type": kind}, status)
