"""The categories, lists and topics of a Discourse forum, from its JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lore.declarations import DiscourseDeclaration
from lore.errors import SourceError
from lore.sources.discourse.text import Topic, is_accepted, topic_document, topic_of
from lore.sources.http.json_client import JsonClient
from lore.sources.http.retries import Retry
from lore.sources.payload import Payload, as_mapping, as_mappings, one_line
from lore.types import Document

__all__ = ["Forum", "explain_discourse"]

POSTS_PER_CALL = 20
"""The number that the forum's own pages request."""
MAX_PAGES = 20_000
MAX_REPEATS = 10
"""Consecutive pages without new topics after which a list counts as endless."""


@dataclass(frozen=True, slots=True)
class Category:
    id: int
    name: str
    slug: str
    restricted: bool
    parent: int | None


class Forum:
    """Categories, lists and topics of one forum, during one read."""

    def __init__(self, api: JsonClient, declaration: DiscourseDeclaration) -> None:
        self._api = api
        self._declaration = declaration
        self._categories = {category.id: category for category in self._load_categories()}

    def topics(self) -> dict[int, Topic]:
        """Return every selected topic, by id.

        Pages are numbered. A topic bumped meanwhile comes twice, but a deleted one moves another onto a page that was
        read. So lists of more than one page are read twice.
        """
        found: dict[int, Topic] = {}
        for path, allowed in self._lists():
            for _ in range(2):
                pages = 0
                for rows in self._pages(path):
                    pages += 1
                    for topic in map(topic_of, rows):
                        if topic and topic.category_id in allowed and self._wanted(topic):
                            found.setdefault(topic.id, topic)
                    if len(found) > self._declaration.max_topics:
                        raise SourceError(
                            f"{self._declaration.id} selects more than {self._declaration.max_topics:,} topics.",
                            remedy="Name `categories`, set `solved_only`, or raise `max_topics`.",
                        )
                if pages == 1:
                    break
        return found

    def document(self, topic: Topic) -> Document:
        """Return a topic's document. Raises HttpError when it was deleted, ConversionError when a post is
        unreadable.
        """
        path = f"/t/{topic.id}"
        payload = as_mapping(self._api.get(f"{path}.json").data)
        stream = as_mapping(payload.get("post_stream"))
        posts = {post["id"]: post for post in as_mappings(stream.get("posts")) if isinstance(post.get("id"), int)}
        order = [number for number in stream.get("stream") or () if isinstance(number, int)] or list(posts)
        wanted = order[: self._declaration.max_posts]
        missing = [number for number in wanted if number not in posts]
        for start in range(0, len(missing), POSTS_PER_CALL):
            some = missing[start : start + POSTS_PER_CALL]
            answer = as_mapping(self._api.get(f"{path}/posts.json", {"post_ids[]": some}).data)
            posts |= {post.get("id"): post for post in as_mappings(as_mapping(answer.get("post_stream")).get("posts"))}
        shown = [posts[number] for number in wanted if number in posts]
        shown += self._solution(path, payload, shown)
        category = self._categories.get(topic.category_id or 0)
        return topic_document(
            {**payload, "id": topic.id},
            shown,
            max(0, len(order) - len(wanted)),
            category.name if category else "",
            self._declaration,
        )

    def _solution(self, path: str, payload: Payload, shown: list[Payload]) -> list[Payload]:
        """Return the accepted solution, if it isn't among the posts read."""
        number = as_mapping(payload.get("accepted_answer")).get("post_number")
        if not isinstance(number, int) or any(is_accepted(post) or post.get("post_number") == number for post in shown):
            return []
        near = as_mapping(as_mapping(self._api.get(f"{path}/{number}.json").data).get("post_stream"))
        return [
            {**post, "accepted_answer": True}
            for post in as_mappings(near.get("posts"))
            if post.get("post_number") == number
        ]

    def _wanted(self, topic: Topic) -> bool:
        return topic.solved or not self._declaration.solved_only

    def _lists(self) -> Iterator[tuple[str, set[int]]]:
        """Yield the lists to read, each with the categories whose topics it provides.

        Raises SourceError for a private category without declared audiences.
        """
        if not self._declaration.categories:
            yield "/latest.json", {one.id for one in self._categories.values() if not one.restricted}
            return
        for category in {one.id: one for one in map(self._category, self._declaration.categories)}.values():
            if category.restricted and "audiences" not in self._declaration.model_fields_set:
                raise SourceError(
                    f"The category {category.name!r} of {self._declaration.url} is private.",
                    remedy="Set `audiences` to those who may see its topics.",
                )
            slug = category.slug or f"{category.id}-category"
            yield f"/c/{slug}/{category.id}/l/latest.json", self._with_subcategories(category.id)

    def _category(self, name: str | int) -> Category:
        named: dict[str, Category] = {}
        for category in self._categories.values():
            for key in (str(category.id), category.slug, category.name.lower()):
                named.setdefault(key, category)
        found = named.get(str(name).lower())
        if found is None:
            near = difflib.get_close_matches(str(name), named, n=1)
            private = "Correct `categories`; a private one needs an API key in LORE_API_HEADERS."
            raise SourceError(
                f"{self._declaration.url} has no category {name!r} that Lore can see.",
                remedy=f"Did you mean {near[0]!r}?" if near else private,
            )
        return found

    def _with_subcategories(self, category_id: int) -> set[int]:
        """Return a category and the public ones below it."""
        family = {category_id}
        public = [one for one in self._categories.values() if not one.restricted]
        while more := {one.id for one in public if one.parent in family} - family:
            family |= more
        return family

    def _load_categories(self) -> Iterator[Category]:
        """Yield all categories; large forums have pages of them, others repeat the same ones."""
        seen: set[int] = set()
        for page in range(1, MAX_PAGES):
            params: dict[str, str | int] = {"include_subcategories": "true", "page": page}
            data = as_mapping(self._api.get("/categories.json", params).data)
            rows = list(_flat(as_mappings(as_mapping(data.get("category_list")).get("categories"))))
            fresh = [row for row in rows if isinstance(row.get("id"), int) and row["id"] not in seen]
            if not fresh:
                return
            for row in fresh:
                seen.add(row["id"])
                parent = row.get("parent_category_id")
                yield Category(
                    id=row["id"],
                    name=one_line(row.get("name")),
                    slug=one_line(row.get("slug")).rpartition("/")[2],
                    restricted=row.get("read_restricted") is True,
                    parent=parent if isinstance(parent, int) else None,
                )

    def _pages(self, path: str) -> Iterator[list[Payload]]:
        seen: set[object] = set()
        repeats = 0
        for page in range(MAX_PAGES):
            params: dict[str, str | int] = {"page": page, "no_definitions": "true"}
            data = as_mapping(self._api.get(path, params).data)
            topics = data.get("topic_list")
            if not isinstance(topics, dict):
                raise SourceError(
                    f"{self._declaration.url}{path} didn't return a list of topics.",
                    remedy="Check that `url` is the address of a Discourse forum.",
                )
            rows = as_mappings(topics.get("topics"))
            yield rows
            if not topics.get("more_topics_url") or not rows:
                return
            repeats = 0 if any(row.get("id") not in seen for row in rows) else repeats + 1
            if repeats > MAX_REPEATS:
                break
            seen.update(row.get("id") for row in rows)
        raise SourceError(
            f"The list {self._declaration.url}{path} runs in a circle or has no end.",
            remedy="Check that `url` is the address of a Discourse forum.",
        )


def explain_discourse(status: int, data: Any) -> Retry | str:
    """Explain a refusal of Discourse: a list of sentences, and the wait after too many calls."""
    payload = as_mapping(data)
    errors = payload.get("errors")
    said = "; ".join(one_line(error) for error in errors[:3]) if isinstance(errors, list) else ""
    seconds = as_mapping(payload.get("extras")).get("wait_seconds")
    if payload.get("error_type") == "rate_limit" or status == 429:
        return Retry(said, float(seconds) if isinstance(seconds, int | float) else None)
    return said


def _flat(rows: list[Payload]) -> Iterator[Payload]:
    for row in rows:
        yield row
        yield from (
            {"parent_category_id": row.get("id"), **below} for below in _flat(as_mappings(row.get("subcategory_list")))
        )
