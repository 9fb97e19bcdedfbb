"""Markdown of one topic, from payloads in which any field may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from lore.declarations import DiscourseDeclaration
from lore.sources.payload import Payload, day, from_iso, one_line, web_address
from lore.sources.post_text import facts_line, post_section, to_markdown
from lore.types import Document

__all__ = ["Topic", "is_accepted", "is_reply", "topic_document", "topic_of"]

REGULAR_POST = 1
"""Other types are moderators' notes, actions ("closed this topic"), and whispers that only staff sees."""
DIGESTED_FIELDS = (
    "title",
    "bumped_at",
    "last_posted_at",
    "posts_count",
    "highest_post_number",
    "has_accepted_answer",
    "closed",
    "archived",
    "pinned",
    "category_id",
    "tags",
)
"""Fields of a listed topic that its page depends on."""

DECORATIONS = "div.meta, a.anchor"
"""Elements that Discourse adds: the file name and size below a picture, the empty link before a heading."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A listed topic; `mark` is a digest of what the list shows."""

    id: int
    category_id: int | None
    mark: str
    solved: bool
    bumped: str


def topic_of(row: Payload) -> Topic | None:
    """Read a topic of a list; None for one that not everybody with access to its category sees."""
    number = row.get("id")
    if not isinstance(number, int) or isinstance(number, bool) or number <= 0:
        return None
    if row.get("archetype", "regular") != "regular" or row.get("visible") is False:
        return None
    category = row.get("category_id")
    mark = sha256(repr([row.get(name) for name in DIGESTED_FIELDS]).encode("utf-8", "replace")).hexdigest()[:8]
    solved = row.get("has_accepted_answer") is True
    return Topic(number, category if isinstance(category, int) else None, mark, solved, one_line(row.get("bumped_at")))


def is_reply(post: Payload) -> bool:
    """Return True for a post of a person that everybody may read."""
    user = post.get("user_id")
    by_system = isinstance(user, int) and user < 0
    gone = post.get("deleted_at") or post.get("user_deleted") is True or post.get("hidden") is True
    return post.get("post_type", REGULAR_POST) == REGULAR_POST and not by_system and not gone


def is_accepted(post: Payload) -> bool:
    """Return True for the solution of its topic."""
    return post.get("accepted_answer") is True


def topic_document(
    topic: Payload, posts: Sequence[Payload], left: int, category: str, declaration: DiscourseDeclaration
) -> Document:
    """Return the page: facts about the topic, its first post, the accepted solution, then the other replies in order.

    `left` is the number of posts not read. Raises ConversionError when a post is unreadable.
    """
    slug = one_line(topic.get("slug"))
    url = web_address(f"{declaration.url}/t/{f'{slug}/' if slug else ''}{topic['id']}")
    first, *replies = [post for post in posts if is_reply(post)] or [{}]
    if first.get("post_number", 1) != 1:  # the opening post was deleted
        first, replies = {}, [first, *replies]
    replies.sort(key=lambda post: not is_accepted(post))
    state = _state(topic, any(map(is_accepted, replies)))
    known = facts_line(
        (
            "Forum topic",
            f"State: {state}",
            "Pinned" if topic.get("pinned") is True else "",
            f"Category: {category}" if category else "",
            f"Tags: {', '.join(_tags(topic))}" if _tags(topic) else "",
            f"Opened{_attribution(first)}",
            f"Last post {day(from_iso(topic.get('last_posted_at')))}" if from_iso(topic.get("last_posted_at")) else "",
        )
    )
    parts = [
        known,
        _text(first, url),
        *(
            post_section(f"{_reply_heading(post)}{_attribution(post)}", _text(post, f"{url}/{post.get('post_number')}"))
            for post in replies
        ),
        f"*{left} more posts are not shown here.*" if left else "",
    ]
    return Document(
        id=f"{declaration.id}:{topic['id']}",
        source_id=declaration.id,
        url=url,
        title=one_line(topic.get("title")) or f"Topic {topic['id']}",
        text="\n\n".join(part for part in parts if part) + "\n",
        updated_at=from_iso(topic.get("last_posted_at")) or from_iso(topic.get("created_at")),
        metadata={
            "topic": topic["id"],
            "state": state,
            "category": category,
            "tags": _tags(topic),
            "author": _author(first),
            "posts": len(replies) + bool(first),
        },
        audiences=declaration.audiences,
    )


def _state(topic: Payload, solved: bool) -> str:
    states = ["solved" if solved else "no accepted solution"]
    states += [name for name in ("closed", "archived") if topic.get(name) is True]
    return ", ".join(states)


def _tags(topic: Payload) -> list[str]:
    """Return the names of tags, which newer versions put into objects."""
    tags = topic.get("tags")
    names = [tag.get("name") if isinstance(tag, dict) else tag for tag in tags] if isinstance(tags, list) else []
    return [name for tag in names if (name := one_line(tag))]


def _reply_heading(post: Payload) -> str:
    return "Accepted solution" if is_accepted(post) else "Reply"


def _attribution(post: Payload) -> str:
    author, written = _author(post), from_iso(post.get("created_at"))
    return f"{f' by {author}' if author else ''}{f' on {day(written)}' if written else ''}"


def _author(post: Payload) -> str:
    return one_line(post.get("username"))


def _text(post: Payload, url: str) -> str:
    cooked = post.get("cooked")
    return to_markdown(_without_decorations(cooked), url) if isinstance(cooked, str) else ""


def _without_decorations(cooked: str) -> str:
    """Remove additions around pictures and before headings, and guessed languages of code; emoji become their names."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(cooked, "html.parser")
    for element in soup.select(DECORATIONS):
        element.decompose()
    for code in soup.select("code.lang-auto"):
        del code["class"]
    for emoji in soup.select("img.emoji"):
        emoji.replace_with(str(emoji.get("alt") or emoji.get("title") or ""))
    return str(soup)
