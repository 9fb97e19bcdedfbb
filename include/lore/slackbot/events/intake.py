"""What is asked goes to the desk; greetings, "forget me" and an opened assistant pane are answered here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from lore.errors import LoreError
from lore.slackbot.events.incoming import TOO_OLD, ForgetMe, Greeting, Ignored, Incoming
from lore.slackbot.queue.holds import ClaimLost, Hold, Holds
from lore.slackbot.queue.limits import Limits
from lore.slackbot.render import notice, phrases
from lore.slackbot.reply.posts import Posts
from lore.slackbot.reply.signs import Background
from lore.slackbot.reply.suggestions import Suggestions
from lore.slackbot.slack_api.errors import level
from lore.slackbot.types import Ask, Desk, Slack, SlackError
from lore.sources.payload import as_mapping, as_text

__all__ = ["Courtesies", "Intake"]

log = logging.getLogger(__name__)

GREETING, FORGETTING = "greeting", "forgetting"
HELP = f"{phrases.NO_QUESTION}\n\n{phrases.WELCOME}"


class Courtesies:
    """What is answered without looking anything up, each once: how to ask, and that a person was forgotten. Its claim
    notes which of them it is, so that whoever takes it over after a crash does it `again`.

    `forget` removes what is kept of somebody, named as in `Ask.asker`, and says so in words; doing it twice is no harm.
    `limits` bound how often a person, or a channel, is told how to ask.
    """

    def __init__(
        self, holds: Holds, slack: Slack, background: Background, limits: Limits, *, forget: Callable[[str], str]
    ) -> None:
        self._holds = holds
        self._slack = slack
        self._background = background
        self._limits = limits
        self._forget = forget

    def greet(self, ask: Ask) -> None:
        """Say how to ask; nothing where that was said too often lately. Raises RecordsError."""
        self._once(ask, GREETING)

    def forget_me(self, ask: Ask) -> None:
        """Remove what is kept of the asker, and say so. Raises RecordsError."""
        self._once(ask, FORGETTING)

    def again(self, hold: Hold) -> None:
        """Do one that was interrupted. Raises RecordsError."""
        try:
            message = notice(self._forgotten(hold.ask) if hold.courtesy == FORGETTING else HELP)
            posts = Posts(hold, self._slack)
            if hold.ask.way == "command":
                posts.whisper(message)
            else:
                posts.begin("message", message, closed="said")
            hold.finish()
        except ClaimLost:
            hold.abandon()
        except SlackError as error:
            log.log(level(error, logging.ERROR), "A word in %s was not said: %s", hold.ask.channel, error)
            if error.retryable:
                hold.abandon()
            else:
                hold.finish()

    def _once(self, ask: Ask, courtesy: str) -> None:
        hold = self._holds.first(ask, courtesy=courtesy)
        if hold is None:
            return
        if courtesy == GREETING and self._limits.admit(ask):
            hold.finish()
            return
        self._background(lambda: self.again(hold))

    def _forgotten(self, ask: Ask) -> str:
        try:
            return self._forget(ask.asker)
        except LoreError as error:
            log.error("What is kept of a person could not be removed: %s", error)
            return phrases.NOT_FORGOTTEN


class Intake:
    """Reads what comes in and gives it to whom it concerns; used by several threads.

    `read_event` and `read_command` are those of `incoming`, for this bot.
    """

    def __init__(
        self,
        desk: Desk,
        courtesies: Courtesies,
        slack: Slack,
        *,
        read_event: Callable[[Mapping[str, Any]], Incoming],
        read_command: Callable[[Mapping[str, Any]], Incoming],
        suggestions: Suggestions,
    ) -> None:
        self._desk = desk
        self._courtesies = courtesies
        self._slack = slack
        self._read_event = read_event
        self._read_command = read_command
        self._suggestions = suggestions

    def ask(self, body: Mapping[str, Any]) -> None:
        """A message. Raises RecordsError where it could not be kept."""
        self._take(self._read_event(body))

    def command(self, body: Mapping[str, Any]) -> None:
        """A slash command. Raises RecordsError where it could not be kept."""
        self._take(self._read_command(body))

    def opened(self, body: Mapping[str, Any]) -> None:
        """The assistant pane was opened: questions are suggested. Raises SlackError."""
        thread = as_mapping(as_mapping(body.get("event")).get("assistant_thread"))
        channel, thread_ts = as_text(thread.get("channel_id")), as_text(thread.get("thread_ts"))
        shown = self._suggestions
        if channel and thread_ts and shown.questions:
            self._slack.set_prompts(channel, thread_ts, shown.questions, title=shown.title)

    def _take(self, incoming: Incoming) -> None:
        match incoming:
            case Ask():
                self._desk.take(incoming)
            case Greeting(ask):
                self._courtesies.greet(ask)
            case ForgetMe(ask):
                self._courtesies.forget_me(ask)
            case Ignored(reason):
                log.log(
                    logging.WARNING if reason == TOO_OLD else logging.DEBUG, "A message is not answered: %s.", reason
                )
