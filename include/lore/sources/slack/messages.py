"""Posts from Slack's messages, and conversations from posts, for the export and the Web API."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from lore.sources.payload import Payload, as_mapping, as_text
from lore.sources.slack.attachments import PostFile, attachment_quotes, file_lines, read_files
from lore.sources.slack.blocks import added_blocks
from lore.sources.slack.mrkdwn import SlackNames, escape, to_markdown, to_plain
from lore.sources.slack.values import is_ts

__all__ = [
    "Conversation",
    "Post",
    "author_id",
    "conversations",
    "display_name",
    "one_line",
    "read_post",
    "render",
    "title_of",
    "week_of",
]

SPEAKING_SUBTYPES = frozenset(
    {"", "me_message", "thread_broadcast", "reply_broadcast", "file_share", "file_comment", "bot_message"}
)
"""Subtypes of messages with text; all others are joins, leaves, topics and the like."""
QUOTE = re.compile(r"^> ?", re.MULTILINE)
SILENCE_SECONDS = 2 * 3600.0
"""Seconds of silence after which the next message outside threads begins another conversation."""
WEEK = 7 * 86_400.0
WEEK_START = 3 * 86_400.0 + 8 * 3600.0
"""The first Sunday, 8:00 UTC, when the fewest offices in the world are open."""
MAX_POSTS = 50
"""Posts of a conversation outside threads, so that a busy channel doesn't become one document."""
SAME_AUTHOR_SECONDS = 300.0
"""Seconds within which one name stands above several posts of a person."""
TITLE_CHARACTERS = 80
NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Post:
    """A message as Markdown `text`, and `plain` for a title. `ts` identifies it in its channel, `thread` its thread.

    `edited` is the time of the last edit, in seconds since the epoch, 0 if never.
    """

    ts: str
    thread: str
    author: str
    text: str
    plain: str
    bot: bool
    edited: float = 0.0
    files: tuple[PostFile, ...] = ()

    @property
    def seconds(self) -> float:
        """The time of posting, in seconds since the epoch."""
        return float(self.ts)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread, or messages outside threads without a long silence between them; `ts` identifies it in its channel."""

    ts: str
    posts: tuple[Post, ...]

    @property
    def updated_at(self) -> datetime:
        """The time of the last post or edit."""
        return datetime.fromtimestamp(max(max(post.seconds, post.edited) for post in self.posts), UTC)


def week_of(seconds: float) -> float:
    """Return the start of the week of a time, Sunday 8:00 UTC; both in seconds since the epoch."""
    return seconds - (seconds - WEEK_START) % WEEK


def display_name(user: Payload) -> str:
    """Return the name of a user: the real name if there is one."""
    profile = as_mapping(user.get("profile"))
    candidates = (profile.get("real_name"), user.get("real_name"), profile.get("display_name"), user.get("name"))
    return next((one_line(name) for name in candidates if isinstance(name, str) and name.strip()), "")


def one_line(name: str) -> str:
    """Return a name in one line of limited length."""
    return " ".join(name.split())[:NAME_CHARACTERS]


def read_post(message: Payload, names: SlackNames, bots: Container[str]) -> Post | None:
    """Read the post in a message; None if it has no text. `bots` are the ids of users that are bots."""
    ts, subtype = as_text(message.get("ts")), as_text(message.get("subtype"))
    if (
        message.get("type", "message") != "message"
        or subtype not in SPEAKING_SUBTYPES
        or message.get("hidden")
        or not is_ts(ts)
    ):
        return None
    user = author_id(message)
    said = as_text(message.get("text"))
    markdown = to_markdown(said, names)
    blocks = added_blocks(message.get("blocks"), markdown, names)
    text = "\n\n".join(part for part in (markdown, *blocks, *attachment_quotes(message, names)) if part)
    files = read_files(message, said)
    plain = (
        to_plain(said, names)
        or " ".join(QUOTE.sub("", text).replace("**", "").split())
        or next((file.plain for file in files if file.plain), "")
    )
    if not plain:
        return None
    thread, edited = as_text(message.get("thread_ts")), as_text(as_mapping(message.get("edited")).get("ts"))
    return Post(
        ts=ts,
        thread=thread if is_ts(thread) else "",
        author=_author(message, user, names),
        text=text,
        plain=plain,
        bot=subtype == "bot_message" or bool(message.get("bot_id")) or user in bots,
        edited=float(edited) if is_ts(edited) else 0.0,
        files=files,
    )


def conversations(posts: Iterable[Post], include_bots: bool) -> Iterator[Conversation]:
    """Group a channel's posts: a thread is one conversation; silence separates posts outside threads.

    The end of a week separates them as well, so that any week can be grouped without the one before. Without bots, a
    thread that a bot began stays if people answer in it.
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
        if end == len(loose) or end - start == MAX_POSTS or _is_separate(loose[end - 1], loose[end]):
            yield Conversation(loose[start].ts, tuple(loose[start:end]))
            start = end


def _is_separate(post: Post, following: Post) -> bool:
    return following.seconds - post.seconds > SILENCE_SECONDS or week_of(following.seconds) != week_of(post.seconds)


def render(conversation: Conversation) -> str:
    """Return the conversation as Markdown: each post under its author and time (UTC)."""
    lines: list[str] = []
    before: Post | None = None
    for post in conversation.posts:
        if before is None or before.author != post.author or post.seconds - before.seconds > SAME_AUTHOR_SECONDS:
            time = datetime.fromtimestamp(post.seconds, UTC)
            lines.append(f"**{escape(post.author)}** ({time:%Y-%m-%d %H:%M} UTC):")
        lines += [post.text] if post.text else []
        lines += [line for file in post.files for line in file_lines(file)]
        before = post
    return "\n\n".join(lines) + "\n"


def title_of(conversation: Conversation, channel: str) -> str:
    """Return the channel and the first words."""
    words = conversation.posts[0].plain
    if len(words) > TITLE_CHARACTERS:
        words = words[:TITLE_CHARACTERS].rpartition(" ")[0] or words[:TITLE_CHARACTERS]
        words += " …"
    return f"#{channel}: {words}"


def author_id(message: Payload) -> str:
    """Return the id of the message's author, "" if it has none."""
    comment, file = as_mapping(message.get("comment")), as_mapping(message.get("file"))
    return as_text(message.get("user")) or as_text(comment.get("user")) or as_text(file.get("user"))


def _author(message: Payload, user: str, names: SlackNames) -> str:
    """Return the author's name; users of other workspaces come with a profile of their own."""
    bot = as_mapping(message.get("bot_profile"))
    guest = display_name({"profile": message.get("user_profile")})
    given = as_text(bot.get("name")) or as_text(message.get("username")) or user
    return names.users.get(user) or guest or one_line(to_plain(given, names)) or "unknown"
