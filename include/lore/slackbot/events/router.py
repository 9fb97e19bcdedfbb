"""The way of an event: questions go to the queue; greetings, "forget me" and an opened assistant pane get a reply."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from lore.errors import LoreError
from lore.slackbot.events.incoming import TOO_OLD, ForgetMe, Greeting, Ignored, Incoming
from lore.slackbot.queue.leases import HeldLeases, Lease
from lore.slackbot.queue.question_queue import QuestionQueue
from lore.slackbot.queue.rate_limits import RateLimiter
from lore.slackbot.render import notice, phrases
from lore.slackbot.reply.poster import Poster
from lore.slackbot.reply.status import Background
from lore.slackbot.reply.suggested_prompts import SuggestedPrompts
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.error_log import ErrorLog
from lore.slackbot.types import SlackQuestion
from lore.sources.payload import as_mapping, as_text

__all__ = ["EventRouter", "QuickReplies"]

logger = logging.getLogger(__name__)

GREETING, FORGETTING, INVITED = "greeting", "forgetting", "invited"
HELP = f"{phrases.NO_QUESTION}\n\n{phrases.WELCOME}"
HELLO = f"{phrases.HELLO}\n\n{phrases.WELCOME}"


class QuickReplies:
    """Replies that need no search, each given once: how to ask, a greeting, and that a person's records were removed.

    A reply is noted in the lease, so that another process gives it after a crash. `forget` removes the records of a
    person, named as in `SlackQuestion.asker`, and returns a sentence that says so; it may be called twice. `limiter`
    bounds how often a person, or a channel, is told how to ask.
    """

    def __init__(
        self,
        leases: HeldLeases,
        slack: BotApi,
        background: Background,
        limiter: RateLimiter,
        errors: ErrorLog,
        *,
        forget: Callable[[str], str],
    ) -> None:
        self._leases = leases
        self._slack = slack
        self._background = background
        self._limiter = limiter
        self._errors = errors
        self._forget = forget

    def greet(self, question: SlackQuestion, kind: str = GREETING) -> None:
        """Say how to ask, unless that was said too often lately. Raises RecordsError."""
        lease = self._leases.acquire(question, quick_reply=kind)
        if lease and self._limiter.admit(question):
            lease.finish()
        elif lease:
            self._background(lambda: self.reply(lease))

    def forget_me(self, question: SlackQuestion) -> None:
        """Remove the asker's records, and say so. Raises RecordsError."""
        if lease := self._leases.acquire(question, quick_reply=FORGETTING):
            self._background(lambda: self.reply(lease))

    def reply(self, lease: Lease) -> None:
        """Give a reply, also one that was interrupted. Never raises."""
        with lease.handling(self._errors):
            message = notice(self._text(lease))
            poster, asked = Poster(lease, self._slack), lease.question
            is_personal = lease.quick_reply == FORGETTING and asked.via == "mention"
            if asked.via == "command" or is_personal:
                poster.post_privately(message)
            else:
                poster.post_first("message", message, closed="said")
            lease.finish()

    def _text(self, lease: Lease) -> str:
        if lease.quick_reply == FORGETTING:
            return self._forgotten(lease.question)
        return HELLO if lease.quick_reply == INVITED else HELP

    def _forgotten(self, question: SlackQuestion) -> str:
        try:
            return self._forget(question.asker)
        except LoreError as error:
            logger.error("Couldn't remove the records of a person: %s", error)
            return phrases.NOT_FORGOTTEN


class EventRouter:
    """Reads events and hands them on; used by several threads.

    `read_event`, `read_command` and `read_invitation` are those of `incoming`, for this bot.
    """

    def __init__(
        self,
        queue: QuestionQueue,
        quick_replies: QuickReplies,
        slack: BotApi,
        *,
        read_event: Callable[[Mapping[str, Any]], Incoming],
        read_command: Callable[[Mapping[str, Any]], Incoming],
        read_invitation: Callable[[Mapping[str, Any]], SlackQuestion | None],
        prompts: SuggestedPrompts,
    ) -> None:
        self._queue = queue
        self._quick_replies = quick_replies
        self._slack = slack
        self._read_event = read_event
        self._read_command = read_command
        self._read_invitation = read_invitation
        self._prompts = prompts

    def on_message(self, body: Mapping[str, Any]) -> None:
        """Take a message. Raises RecordsError if it couldn't be stored."""
        self._take(self._read_event(body))

    def on_command(self, body: Mapping[str, Any]) -> None:
        """Take a slash command. Raises RecordsError if it couldn't be stored."""
        self._take(self._read_command(body))

    def on_opened(self, body: Mapping[str, Any]) -> None:
        """Suggest questions in an assistant pane that was opened. Raises SlackCallError."""
        thread = as_mapping(as_mapping(body.get("event")).get("assistant_thread"))
        channel, thread_ts = as_text(thread.get("channel_id")), as_text(thread.get("thread_ts"))
        if channel and thread_ts and self._prompts.questions:
            self._slack.set_prompts(channel, thread_ts, self._prompts.questions, title=self._prompts.title)

    def on_event(self, body: Mapping[str, Any]) -> None:
        """Greet a channel that the bot was invited to; any other event is ignored. Raises RecordsError."""
        if question := self._read_invitation(body):
            self._quick_replies.greet(question, INVITED)

    def _take(self, incoming: Incoming) -> None:
        match incoming:
            case SlackQuestion():
                self._queue.take(incoming)
            case Greeting(question):
                self._quick_replies.greet(question)
            case ForgetMe(question):
                self._quick_replies.forget_me(question)
            case Ignored(reason):
                level = logging.WARNING if reason == TOO_OLD else logging.DEBUG
                logger.log(level, "A message is not answered: %s.", reason)
