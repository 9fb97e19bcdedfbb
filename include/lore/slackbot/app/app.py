"""The Bolt app: each kind of event goes to one handler, and is acknowledged once it was taken.

A question is acknowledged only once it is stored: where that fails, Slack delivers it again. What people do with
answers is acknowledged at once, and handled after.
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
from threading import Event
from typing import Any, TypeAlias

from slack_bolt import Ack, App, BoltResponse
from slack_bolt.authorization import AuthorizeResult
from slack_sdk import WebClient

from lore.errors import RecordsError
from lore.slackbot.background import BackgroundPool
from lore.slackbot.feedback.views import PRESSED, REASON, WHY
from lore.slackbot.render import phrases
from lore.slackbot.slack_api.error_log import describe_error
from lore.slackbot.types import BotIdentity

__all__ = ["EventExecutor", "EventHandlers", "make_app"]

log = logging.getLogger(__name__)

Body: TypeAlias = Mapping[str, Any]
Handler: TypeAlias = Callable[[Body], None]

TAKE_SECONDS = 2.0
"""Time for the records to store a question. Slack waits three seconds for its acknowledgement."""
THREADS = 16
LOG_SECONDS = 60.0

ANYTHING = re.compile("")


@dataclass(frozen=True, slots=True)
class EventHandlers:
    """The handler of each kind of body. `message` and `command` store a question, and raise RecordsError; all others
    are called after the acknowledgement. `any_event` gets every event.
    """

    message: Handler
    command: Handler
    opened: Handler
    button: Handler
    why: Handler
    reason: Handler
    reaction: Handler
    any_event: Handler


class EventExecutor:
    """Runs handlers in threads: questions within a limit of time, everything else in `background`."""

    def __init__(self, background: BackgroundPool, *, threads: int = THREADS, seconds: float = TAKE_SECONDS) -> None:
        self._background = background
        self._takers = ThreadPoolExecutor(threads, thread_name_prefix="lore-slack-take")
        self._seconds = seconds
        self._closed = Event()
        self._quiet_until = 0.0

    def take(self, handler: Handler, body: Body) -> bool:
        """Return True if a question was stored in time. One that is stored too late does no harm."""
        if self._closed.is_set():
            return False
        try:
            self._takers.submit(handler, body).result(self._seconds)
        except TooLate:
            self._complain(f"The records took longer than {self._seconds:g} s to store one.")
        except RecordsError as error:
            self._complain(str(error))
        except (RuntimeError, CancelledError):
            if not self._closed.is_set():  # else the threads ended meanwhile
                raise
        else:
            return True
        return False

    def later(self, handler: Handler, body: Body) -> None:
        """Run a handler soon. Its errors are logged."""
        if not self._closed.is_set():
            self._background.soon(lambda: handler(body))

    def refuse(self) -> None:
        """Take nothing more: Slack delivers what waits to another process."""
        self._closed.set()
        self._takers.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Take nothing more, and wait for running handlers."""
        self.refuse()
        self._takers.shutdown()
        self._background.shutdown()

    def _complain(self, reason: str) -> None:
        """Log why questions aren't taken, once a minute."""
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + LOG_SECONDS
            log.error("Couldn't take questions; Slack delivers them again: %s", reason)


def make_app(
    handlers: EventHandlers, executor: EventExecutor, identity: BotIdentity, *, signing_secret: str = ""
) -> App:
    """Return the app for one workspace.

    With a `signing_secret`, requests over HTTP must be signed by it; without one, none is accepted.
    """
    us = AuthorizeResult(
        enterprise_id=None, team_id=identity.team, bot_user_id=identity.user, bot_id=identity.bot, bot_token=""
    )
    app = App(
        name="bolt",  # Bolt gives the logger of this name the level of `logger`: never name a package here
        logger=logging.Logger("lore.slackbot.bolt", level=logging.CRITICAL + 1),  # its lines hold whole bodies
        client=WebClient(),  # never called: the bot calls Slack through BotApi
        authorize=lambda: us,
        signing_secret=signing_secret or secrets.token_hex(),  # one that nobody knows
        process_before_response=True,
        attaching_conversation_kwargs_enabled=False,
    )
    app.error(_failed)
    _listen(app, handlers, executor)
    return app


def _listen(app: App, handlers: EventHandlers, executor: EventExecutor) -> None:
    def on_message(body: dict[str, Any]) -> BoltResponse:
        executor.later(handlers.any_event, body)
        return BoltResponse(status=200 if executor.take(handlers.message, body) else 503)

    def on_command(body: dict[str, Any], ack: Ack) -> None:
        if executor.take(handlers.command, body):
            ack()
        else:
            ack(text=phrases.NOT_NOW, response_type="ephemeral")  # Slack delivers no command again

    def after(handler: Handler) -> Callable[..., None]:
        def acknowledge(body: dict[str, Any], ack: Ack) -> None:
            executor.later(handler, body)
            ack()

        return acknowledge

    for message in ("app_mention", "message"):
        app.event(message)(on_message)
    for reaction in ("reaction_added", "reaction_removed"):
        app.event(reaction)(after(handlers.reaction))
    app.event("assistant_thread_started")(after(handlers.opened))
    app.event(ANYTHING)(after(handlers.any_event))
    app.command(ANYTHING)(on_command)
    app.action(PRESSED)(after(handlers.button))
    app.action(WHY)(after(handlers.why))
    app.action(ANYTHING)(after(lambda _: None))  # links are buttons too
    app.view(REASON)(after(handlers.reason))


def _failed(error: Exception) -> None:
    log.error("Couldn't handle an event from Slack: %s", describe_error(error))
