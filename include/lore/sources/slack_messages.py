"""Slack's messages to posts, and posts to conversations: what an export and, later, the Web API have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from include.lore.sources.mrkdwn import Names, escape, to_markdown, to_plain

__all__ = ["Conversation", "Post", "conversations", "display_name", "one_line", "read_post", "render", "title_of"]

SAID = frozenset({"", "me_message", "thread_broadcast", "reply_broadcast", "file_share", "file_comment", "bot_message"})
"""Subtypes in which somebody says something; all others are joins, leaves, topics and the like."""
SILENCE = 2 * 3600.0
"""Seconds after which the next message outside threads begins another conversation."""
MAX_POSTS = 50
"""A conversation outside threads is cut here, so that a busy channel does not become one document."""
SAME_BREATH = 300.0
"""Within so many seconds, a person's posts stand under one name."""
TITLE_CHARACTERS = 80
NAME_CHARACTERS = 200
TS = re.compile(r"[0-9]{1,10}\.[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class Post:
    """A message as Markdown `text`, and `plain` for a title. `ts` identifies it in its channel, `thread` its thread."""

    ts: str
    thread: str
    author: str
    text: str
    plain: str
    bot: bool

    @property
    def seconds(self) -> float:
        """When it was posted, since the epoch."""
        return float(self.ts)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread, or messages outside threads without a long silence between them; `ts` identifies it in its channel."""

    ts: str
    posts: tuple[Post, ...]

    @property
    def updated_at(self) -> datetime:
        return datetime.fromtimestamp(self.posts[-1].seconds, UTC)


def display_name(user: Mapping[str, Any]) -> str:
    """What people are called: the real name where there is one."""
    profile = _mapping(user.get("profile"))
    candidates = (profile.get("real_name"), user.get("real_name"), profile.get("display_name"), user.get("name"))
    return next((one_line(name) for name in candidates if isinstance(name, str) and name.strip()), "")


def one_line(name: str) -> str:
    """A name as it stands before every message: one line, and no longer than a name is."""
    return " ".join(name.split())[:NAME_CHARACTERS]


def read_post(message: Mapping[str, Any], names: Names, bots: frozenset[str]) -> Post | None:
    """The post that a message is, or None when nobody says anything in it. `bots` are ids of users that are bots."""
    ts, subtype = _text(message.get("ts")), _text(message.get("subtype"))
    if message.get("type", "message") != "message" or subtype not in SAID or message.get("hidden"):
        return None
    if not TS.fullmatch(ts):
        return None
    user = _author_id(message)
    said = _text(message.get("text")) or "\n".join(_block_texts(message.get("blocks")))
    parts = [to_markdown(said, names), *_attachments(message, names), *_files(message, said)]
    text = "\n\n".join(part for part in parts if part)
    if not text:
        return None
    thread = _text(message.get("thread_ts"))
    return Post(
        ts=ts,
        thread=thread if TS.fullmatch(thread) else "",
        author=_author(message, user, names),
        text=text,
        plain=to_plain(said, names) or " ".join(text.split()),
        bot=subtype == "bot_message" or bool(message.get("bot_id")) or user in bots,
    )


def conversations(posts: Iterable[Post], include_bots: bool) -> Iterator[Conversation]:
    """Group a channel's posts: a thread is one conversation, posts outside threads are parted by silence.

    Without bots, a thread that a bot began stays when people answer in it: they talk about what it said.
    """
    unique = {post.ts: post for post in posts}
    threads: dict[str, list[Post]] = {}
    loose: list[Post] = []
    roots = {post.thread for post in unique.values() if post.thread}
    for post in sorted(unique.values(), key=lambda post: (post.seconds, post.ts)):
        if post.thread or post.ts in roots:
            threads.setdefault(post.thread or post.ts, []).append(post)
        elif include_bots or not post.bot:
            loose.append(post)
    for ts, members in threads.items():
        kept = [post for post in members if include_bots or not post.bot or post.ts == ts]
        if include_bots or not all(post.bot for post in kept):
            yield Conversation(ts, tuple(kept))
    start = 0
    for end in range(1, len(loose) + 1):
        full = end - start == MAX_POSTS
        if end == len(loose) or full or loose[end].seconds - loose[end - 1].seconds > SILENCE:
            yield Conversation(loose[start].ts, tuple(loose[start:end]))
            start = end


def render(conversation: Conversation) -> str:
    """The conversation as Markdown: each post under its author and time (UTC)."""
    lines: list[str] = []
    before: Post | None = None
    for post in conversation.posts:
        if before is None or before.author != post.author or post.seconds - before.seconds > SAME_BREATH:
            time = datetime.fromtimestamp(post.seconds, UTC)
            lines.append(f"**{escape(post.author)}** ({time:%Y-%m-%d %H:%M} UTC):")
        lines.append(post.text)
        before = post
    return "\n\n".join(lines) + "\n"


def title_of(conversation: Conversation, channel: str) -> str:
    """The channel and the first words."""
    words = conversation.posts[0].plain
    if len(words) > TITLE_CHARACTERS:
        words = words[:TITLE_CHARACTERS].rpartition(" ")[0] or words[:TITLE_CHARACTERS]
        words += " …"
    return f"#{channel}: {words}"


def _author_id(message: Mapping[str, Any]) -> str:
    comment, file = _mapping(message.get("comment")), _mapping(message.get("file"))
    return _text(message.get("user")) or _text(comment.get("user")) or _text(file.get("user"))


def _author(message: Mapping[str, Any], user: str, names: Names) -> str:
    """The name; a person of another workspace is not among the users, but comes with a profile."""
    bot = _mapping(message.get("bot_profile"))
    guest = display_name({"profile": message.get("user_profile")})
    given = _text(bot.get("name")) or _text(message.get("username")) or user
    return names.users.get(user) or guest or one_line(to_plain(given, names)) or "unknown"


def _attachments(message: Mapping[str, Any], names: Names) -> Iterator[str]:
    """Previews of links, and what integrations attach, as quotes."""
    for attachment in _mappings(message.get("attachments")):
        title, link = _text(attachment.get("title")), _text(attachment.get("title_link"))
        heading = _link(link, title)
        fields = [f"*{_text(f.get('title'))}*: {_text(f.get('value'))}" for f in _mappings(attachment.get("fields"))]
        pieces = [_text(attachment.get("pretext")), heading, _text(attachment.get("text")), *fields]
        raw = "\n".join(piece for piece in pieces if piece) or _text(attachment.get("fallback"))
        text = to_markdown(raw, names)
        if text:
            yield "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _files(message: Mapping[str, Any], said: str) -> Iterator[str]:
    """Files by name and permalink; their private addresses carry secrets and are left out."""
    for file in [*_mappings(message.get("files")), *_mappings([message.get("file")])]:
        name = _text(file.get("title")) or _text(file.get("name"))
        if name and name not in said:
            yield "File: " + to_markdown(_link(_text(file.get("permalink")).partition("?")[0], name), Names())


def _link(url: str, label: str) -> str:
    """Mrkdwn for a link, or for the label alone where there is nothing to link to."""
    label = " ".join(label.split()).replace("<", "&lt;").replace(">", "&gt;")
    return f"<{url}|{label}>" if label and re.fullmatch(r"https?://[^\s<>|]+", url) else label


def _block_texts(blocks: object, depth: int = 0) -> Iterator[str]:
    """The texts of Block Kit blocks, for messages of apps that have no other."""
    for block in _mappings(blocks):
        if block.get("type") in ("mrkdwn", "plain_text"):
            yield _text(block.get("text"))
        elif depth < 4:
            for key in ("text", "fields", "elements"):
                inner = block.get(key)
                yield from _block_texts(inner if isinstance(inner, list) else [inner], depth + 1)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
