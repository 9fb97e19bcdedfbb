"""Forums that the tests of Discourse share."""

from __future__ import annotations

from lore.declarations import DiscourseDeclaration
from lore.sources.discourse.source import DiscourseSource
from lore.sources.http.json_client import Secrets
from lore.sources.http.retries import RetryPolicy

NOW = 1_800_000_000.0


def stamp(minute: float) -> str:
    return f"2024-01-{1 + int(minute) // 1440:02}T{int(minute) // 60 % 24:02}:{int(minute) % 60:02}:00.000Z"


def post(identity: int, number: int, cooked: str | None = None, **more: object) -> dict[str, object]:
    return {
        "id": identity,
        "post_number": number,
        "post_type": 1,
        "user_id": 3,
        "username": "ada",
        "created_at": stamp(number),
        "cooked": f"<p>Post {identity}.</p>" if cooked is None else cooked,
    } | more


def topic(number: int, posts: list[dict[str, object]] | None = None, **more: object) -> dict[str, object]:
    return {
        "id": number,
        "title": f"Topic {number}",
        "slug": f"topic-{number}",
        "created_at": stamp(number),
        "last_posted_at": stamp(number),
        "bumped_at": stamp(number),
        "category_id": 5,
        "tags": [],
        "pinned": False,
        "closed": False,
        "archived": False,
        "posts": [post(number * 1000, 1)] if posts is None else posts,
    } | more


def source_of(server, key=None, max_retries=1, waits=None, now=NOW, timeout=5.0, **options) -> DiscourseSource:
    return DiscourseSource(
        DiscourseDeclaration(id="forum", url=server.base_url, **options),
        secrets=Secrets(headers={"Api-Key": key, "Api-Username": "lore"}) if key else None,
        timeout=timeout,
        retries=RetryPolicy(max_retries, sleep=(waits if waits is not None else []).append, now=lambda: now),
    )


def documents(source, since=None):
    return {document.id.partition(":")[2]: document for batch in source.read(since) for document in batch.documents}
