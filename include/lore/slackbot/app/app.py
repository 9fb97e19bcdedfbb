"""The Bolt app: each kind of thing that Slack sends goes to one function, and is acknowledged when it was taken.

What is asked is acknowledged only once it is kept: where it cannot be, Slack delivers it again. What people do with
answers is acknowledged at once, and done after.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, TypeAlias

from slack_bolt import Ack, App, BoltResponse
from slack_bolt.authorization import AuthorizeResult
from slack_sdk import WebClient

from lore.errors import LoreError, RecordsError
from lore.slackbot.feedback.views import PRESSED, REASON, WHY
from lore.slackbot.render import phrases
from lore.slackbot.slack_api.error_log import describe_error
from lore.slackbot.slack_api.errors import level
from lore.slackbot.types import BotIdentity

__all__ = ["EventExecutor", "EventHandlers", "make_app"]

log = logging.getLogger(__name__)

Body: TypeAlias = Mapping[str, Any]

TAKE_SECONDS = 2.0
"""How long the records may take to keep a question. Slack waits three seconds for its acknowledgement."""
THREADS = 16
LOG_SECONDS = 60.0

ANYTHING = re.compile("")
MESSAGES = ("app_mention", "message")
REACTIONS = ("reaction_added", "reaction_removed")


@dataclass(frozen=True, slots=True)
class EventHandlers:
    """What is done with each kind of body. `ask` and `command` keep what is asked, and raise RecordsError where that
    cannot be; all others are called after the acknowledgement. `notice` is given the bodies of all events.
    """

    question: Callable[[Body], None]
    command: Callable[[Body], None]
    opened: Callable[[Body], None]
    button: Callable[[Body], None]
    why: Callable[[Body], None]
    reason: Callable[[Body], None]
    reaction: Callable[[Body], None]
    notice: Callable[[Body], None]


class EventExecutor:
    """Where what comes in waits to be kept or done: a few threads, and a limit of time for what must be kept."""

    def __init__(self, *, threads: int = THREADS, seconds: float = TAKE_SECONDS) -> None:
        self._takers = ThreadPoolExecutor(threads, thread_name_prefix="lore-slack-take")
        self._doers = ThreadPoolExecutor(threads, thread_name_prefix="lore-slack-do")
        self._seconds = seconds
        self._closed = Event()
        self._quiet_until = 0.0

    def take(self, door: Callable[[Body], None], body: Body) -> bool:
        """Whether it was kept in time. Where not, it may be kept later all the same: that is no harm."""
        if self._closed.is_set():
            return False
        try:
            self._takers.submit(door, body).result(self._seconds)
        except TooLate:
            self._complain(f"The records did not keep a question within {self._seconds:g} s.")
        except RecordsError as error:
            self._complain(str(error))
        except (RuntimeError, CancelledError):
            if not self._closed.is_set():  # else the threads ended meanwhile
                raise
        else:
            return True
        return False

    def later(self, door: Callable[[Body], None], body: Body) -> None:
        """Do it soon. What it raises is logged."""
        if self._closed.is_set():
            return
        self._doers.submit(_guarded, door, body)

    def refuse(self) -> None:
        """Take nothing more: what waits to be kept is delivered to another process."""
        self._closed.set()
        self._takers.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Take nothing more, and wait for what is being done."""
        self.refuse()
        self._takers.shutdown()
        self._doers.shutdown()

    def _complain(self, reason: str) -> None:
        """Slack delivers what was not taken again, which needs no line each."""
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + LOG_SECONDS
            log.error("Questions are not taken, and Slack delivers them again: %s", reason)


def make_app(doors: EventHandlers, porch: EventExecutor, identity: BotIdentity, *, signing_secret: str = "") -> App:
    """The app for one workspace. With a `signing_secret`, requests that come over HTTP must be signed by it; without
    one, nothing that comes over HTTP is taken.
    """
    us = AuthorizeResult(
        enterprise_id=None, team_id=identity.team, bot_user_id=identity.user, bot_id=identity.bot, bot_token=""
    )
    app = App(
        name="bolt",  # Bolt gives the logger of this name the level of `logger`: never name a package here
        logger=logging.Logger("lore.slackbot.bolt", level=logging.CRITICAL + 1),  # its lines hold whole bodies
        client=WebClient(),  # never called: what the bot says to Slack goes through types.SlackApi
        authorize=lambda: us,
        signing_secret=signing_secret or secrets.token_hex(),  # one that nobody knows
        process_before_response=True,
        attaching_conversation_kwargs_enabled=False,
    )
    app.error(_failed)
    _listen(app, doors, porch)
    return app


def _listen(app: App, doors: EventHandlers, porch: EventExecutor) -> None:
    def asked(body: dict[str, Any]) -> BoltResponse:
        porch.later(doors.notice, body)
        return BoltResponse(status=200 if porch.take(doors.question, body) else 503)

    def commanded(body: dict[str, Any], ack: Ack) -> None:
        if porch.take(doors.command, body):
            ack()
        else:
            ack(text=phrases.NOT_NOW, response_type="ephemeral")  # Slack delivers no command again

    def after(door: Callable[[Body], None]) -> Callable[..., None]:
        def listener(body: dict[str, Any], ack: Ack) -> None:
            porch.later(door, body)
            ack()

        return listener

    for event in MESSAGES:
        app.event(event)(asked)
    for event in REACTIONS:
        app.event(event)(after(doors.reaction))
    app.event("assistant_thread_started")(after(doors.opened))
    app.event(ANYTHING)(after(doors.notice))
    app.command(ANYTHING)(commanded)
    app.action(PRESSED)(after(doors.button))
    app.action(WHY)(after(doors.why))
    app.action(ANYTHING)(after(partial(_passed_over, "a button")))  # links are buttons too
    app.view(REASON)(after(doors.reason))


def _passed_over(what: str, _: Body) -> None:
    log.debug("The bot has nothing to do for %s.", what)


def _guarded(door: Callable[[Body], None], body: Body) -> None:
    try:
        door(body)
    except LoreError as error:
        log.log(level(error, logging.ERROR), "Something that came from Slack was not dealt with: %s", error)
    except Exception as error:
        _failed(error)


def _failed(error: Exception) -> None:
    log.error("Something that came from Slack was not dealt with: %s", describe_error(error))
