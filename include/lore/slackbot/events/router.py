"""What is asked goes to the desk; greetings, "forget me" and an opened assistant pane are answered here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from lore.errors import LoreError
from lore.slackbot.events.incoming import TOO_OLD, ForgetMe, Greeting, Ignored, Incoming
from lore.slackbot.queue.leases import HeldLeases, Lease, LeaseLost
from lore.slackbot.queue.rate_limits import RateLimiter
from lore.slackbot.render import notice, phrases
from lore.slackbot.reply.poster import Poster
from lore.slackbot.reply.status import Background
from lore.slackbot.reply.suggested_prompts import SuggestedPrompts
from lore.slackbot.slack_api.errors import level
from lore.slackbot.types import Desk, SlackApi, SlackCallError, SlackQuestion
from lore.sources.payload import as_mapping, as_text

__all__ = ["EventRouter", "QuickReplies"]

log = logging.getLogger(__name__)

GREETING, FORGETTING = "greeting", "forgetting"
HELP = f"{phrases.NO_QUESTION}\n\n{phrases.WELCOME}"


class QuickReplies:
    """What is answered without looking anything up, each once: how to ask, and that a person was forgotten. Its claim
    notes which of them it is, so that whoever takes it over after a crash does it `again`.

    `forget` removes the records of a person, named as in `SlackQuestion.asker`, and returns a sentence that says so.
    `limits` bound how often a person, or a channel, is told how to ask.
    """

    def __init__(
        self,
        leases: HeldLeases,
        slack: SlackApi,
        background: Background,
        limits: RateLimiter,
        *,
        forget: Callable[[str], str],
    ) -> None:
        self._leases = leases
        self._slack = slack
        self._background = background
        self._limits = limits
        self._forget = forget

    def greet(self, question: SlackQuestion) -> None:
        """Say how to ask; nothing where that was said too often lately. Raises RecordsError."""
        self._once(question, GREETING)

    def forget_me(self, question: SlackQuestion) -> None:
        """Remove what is kept of the asker, and say so. Raises RecordsError."""
        self._once(question, FORGETTING)

    def again(self, lease: Lease) -> None:
        """Do one that was interrupted. Raises RecordsError."""
        try:
            message = notice(self._forgotten(lease.question) if lease.quick_reply == FORGETTING else HELP)
            posts = Poster(lease, self._slack)
            if lease.question.via == "command":
                posts.whisper(message)
            else:
                posts.begin("message", message, closed="said")
            lease.finish()
        except LeaseLost:
            lease.abandon()
        except SlackCallError as error:
            log.log(level(error, logging.ERROR), "A word in %s was not said: %s", lease.question.channel, error)
            if error.retryable:
                lease.abandon()
            else:
                lease.finish()

    def _once(self, question: SlackQuestion, quick_reply: str) -> None:
        lease = self._leases.first(question, quick_reply=quick_reply)
        if lease is None:
            return
        if quick_reply == GREETING and self._limits.admit(question):
            lease.finish()
            return
        self._background(lambda: self.again(lease))

    def _forgotten(self, question: SlackQuestion) -> str:
        try:
            return self._forget(question.asker)
        except LoreError as error:
            log.error("What is kept of a person could not be removed: %s", error)
            return phrases.NOT_FORGOTTEN


class EventRouter:
    """Reads what comes in and gives it to whom it concerns; used by several threads.

    `read_event` and `read_command` are those of `incoming`, for this bot.
    """

    def __init__(
        self,
        queue: Desk,
        quick_replies: QuickReplies,
        slack: SlackApi,
        *,
        read_event: Callable[[Mapping[str, Any]], Incoming],
        read_command: Callable[[Mapping[str, Any]], Incoming],
        suggestions: SuggestedPrompts,
    ) -> None:
        self._queue = queue
        self._quick_replies = quick_replies
        self._slack = slack
        self._read_event = read_event
        self._read_command = read_command
        self._suggestions = suggestions

    def question(self, body: Mapping[str, Any]) -> None:
        """A message. Raises RecordsError where it could not be kept."""
        self._take(self._read_event(body))

    def command(self, body: Mapping[str, Any]) -> None:
        """A slash command. Raises RecordsError where it could not be kept."""
        self._take(self._read_command(body))

    def opened(self, body: Mapping[str, Any]) -> None:
        """The assistant pane was opened: questions are suggested. Raises SlackCallError."""
        thread = as_mapping(as_mapping(body.get("event")).get("assistant_thread"))
        channel, thread_ts = as_text(thread.get("channel_id")), as_text(thread.get("thread_ts"))
        shown = self._suggestions
        if channel and thread_ts and shown.questions:
            self._slack.set_prompts(channel, thread_ts, shown.questions, title=shown.title)

    def _take(self, incoming: Incoming) -> None:
        match incoming:
            case SlackQuestion():
                self._queue.take(incoming)
            case Greeting(question):
                self._quick_replies.greet(question)
            case ForgetMe(question):
                self._quick_replies.forget_me(question)
            case Ignored(reason):
                log.log(
                    logging.WARNING if reason == TOO_OLD else logging.DEBUG, "A message is not answered: %s.", reason
                )
