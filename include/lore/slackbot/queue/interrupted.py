"""Interrupted questions: they are answered from the beginning, or end with a message that says so."""

from __future__ import annotations

import logging

from lore.records.posted_answers import PostedAnswers
from lore.slackbot.queue.leases import Lease
from lore.slackbot.queue.posted_messages import PostedMessages, find_messages
from lore.slackbot.render import phrases
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.poster import Poster, record_posts
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.types import SlackCallError, SlackMessage

__all__ = ["MAX_ATTEMPTS", "settle"]

MAX_ATTEMPTS = 3
"""Attempts to answer a question before it ends with an apology."""
MAX_APOLOGIES = 3
"""Attempts to apologize after that."""
UPDATED_CHARACTERS = 3_000
"""Characters of a message's plain text that are kept when it is changed; Slack takes 4,000."""

logger = logging.getLogger(__name__)


def settle(lease: Lease, slack: BotApi, posted: PostedAnswers, text: str = phrases.APOLOGY) -> bool:
    """End an interrupted question and return True; return False if it may be answered from the beginning.

    `text` tells the asker of the interruption. Raises SlackCallError, LeaseLost and RecordsError.
    """
    if lease.attempts > MAX_ATTEMPTS + MAX_APOLOGIES:
        logger.error("Gave up on a question in %s after %d attempts.", lease.question.channel, lease.attempts)
    elif lease.kind == "ephemeral":  # nobody can look whether it arrived
        _post_privately(lease, slack, phrases.UNSURE)
    elif lease.kind != "told":
        seen = _look(lease, slack)
        if _may_answer(lease, seen):
            return False
        if seen or lease.is_awaited:
            _end(lease, slack, seen, text)
        if seen and seen.answer_id:
            record_posts(posted, lease.question, seen.all_ts, seen.answer_id)
    lease.finish()
    return True


def _look(lease: Lease, slack: BotApi) -> PostedMessages | None:
    """Return the messages the asker sees; what was noted of them is put right."""
    if not lease.kind:
        return None
    seen = find_messages(slack, lease)
    if seen is None:
        lease.note(kind="", shown="")
    elif seen.ts != lease.shown:
        lease.note(shown=seen.ts)
    return seen


def _may_answer(lease: Lease, seen: PostedMessages | None) -> bool:
    if lease.attempts > MAX_ATTEMPTS:
        return False
    if seen is None:  # the text of a command can't be read again
        return lease.quick_reply != "" or lease.question.via != "command"
    return lease.kind == "placeholder" and not (seen.answer_id or seen.is_whole)


def _end(lease: Lease, slack: BotApi, seen: PostedMessages | None, text: str) -> None:
    """Say, where the answer is or would have been, that there is no more of it."""
    poster, notice = Poster(lease, slack), plain(text)
    if seen is None and lease.question.via == "command":
        _post_privately(lease, slack, text)
    elif seen is None:
        poster.post_first("message", notice, closed="interrupted")
    elif seen.is_whole:
        return
    elif seen.answer_id:  # the first ones of several messages are complete
        poster.post_next(notice, closed="interrupted")
    elif lease.kind == "placeholder":
        _update(poster, notice, notice)
    else:
        _end_part(lease, poster, seen, notice)


def _end_part(lease: Lease, poster: Poster, seen: PostedMessages, notice: SlackMessage) -> None:
    """Add the notice to the message that shows a part of the answer."""
    if lease.kind == "stream":
        try:
            poster.stop_stream(blocks=notice.blocks, closed="interrupted")
            return
        except SlackCallError as error:
            if error.retryable:
                raise
    text = str(seen.first.get("text", ""))[:UPDATED_CHARACTERS]
    blocks = (*(seen.first.get("blocks") or ()), *notice.blocks)
    _update(poster, SlackMessage(blocks, f"{text}\n\n{notice.text}"), notice)


def _update(poster: Poster, message: SlackMessage, notice: SlackMessage) -> None:
    try:
        poster.update(message, closed="interrupted")
    except SlackCallError as error:  # Slack doesn't take back all that it gives
        if error.retryable:
            raise
        poster.post_next(notice, closed="interrupted")


def _post_privately(lease: Lease, slack: BotApi, text: str) -> None:
    lease.note(kind="told")
    Poster(lease, slack).post_privately(plain(text))
