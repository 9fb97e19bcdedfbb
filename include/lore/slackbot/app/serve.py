"""`lore slack`: the bot runs until it is stopped, or its token becomes invalid."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

from lore.errors import ConfigurationError, require
from lore.query.model_watch import OnModelChange
from lore.settings import Settings
from lore.slackbot.reply.answer_worker import AnswerPipeline
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.caller import SlackCaller
from lore.slackbot.types import SlackCallError
from lore.wiring.records import make_recorder, open_records
from lore.wiring.secrets import secret

if TYPE_CHECKING:
    from slack_bolt import App

    from lore.protocols import Recorder
    from lore.records.records import Records
    from lore.slackbot.app.bot import Transport

__all__ = ["HttpAddress", "serve"]

log = logging.getLogger(__name__)

CALL_SECONDS = 20.0
"""Slack responds in a second or not at all; LORE_TIMEOUT_SECONDS may be longer, for slower servers."""
LEAVE_SECONDS = 30.0
"""Time for a stopping bot to call Slack, to finish current answers."""
OWN_PAGE = "https://api.slack.com/apps"


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """The address HTTP mode listens on."""

    host: str = "127.0.0.1"
    port: int = 3000


@dataclass
class _Shutdown:
    """The end of the bot: `happened` once it is to stop, with an `error` if nobody asked for it."""

    happened: Event = field(default_factory=Event)
    error: SlackCallError | None = None

    def die(self, error: SlackCallError) -> None:
        self.error = self.error or error
        self.happened.set()


def serve(
    settings: Settings,
    *,
    http: HttpAddress | None = None,
    make_pipeline: Callable[[Settings, Recorder, OnModelChange], AnswerPipeline],
    stop: Event | None = None,
    on_ready: Callable[[Transport], None] = lambda _: None,
) -> None:
    """Answer in Slack until `stop` is set, or SIGTERM or SIGINT arrive; over HTTP if an address is given.

    Raises ConfigurationError for a missing setting, and SlackCallError where Slack refuses the token, now or later.
    """
    require("slack_bolt", "slack", "Answering in Slack")
    token, app_token, signing_secret = _secrets(settings, http)
    end = _Shutdown(stop or Event())
    with ExitStack() as stack:
        records = stack.enter_context(_records(settings))
        callers = [_caller(settings, token, end), _caller(settings, app_token, end)]
        slack = BotApi(callers[0])
        identity = slack.identity()
        recorder = stack.enter_context(make_recorder(settings))
        # Bolt, slack_sdk and SQLAlchemy import slowly
        from lore.records.leases import LeaseStore
        from lore.slackbot.app.assembly import process_name
        from lore.slackbot.app.bot import open_bot
        from lore.slackbot.background import BackgroundPool
        from lore.slackbot.feedback.outages import OutageNotices

        notices = OutageNotices(
            slack,
            LeaseStore(records.engine),
            stack.enter_context(BackgroundPool(1)),
            channel=settings.slack.feedback_channel,
            owner=process_name(),
        )
        pipeline = make_pipeline(settings, recorder, notices.on_model_change)

        def transport(app: App) -> Transport:
            if http is not None:
                from lore.slackbot.app.http import HttpTransport

                return HttpTransport(app, signing_secret, host=http.host, port=http.port)
            from lore.slackbot.app.socket import SocketTransport

            return SocketTransport(app, callers[1])

        bot = open_bot(
            settings, slack, identity, records, recorder, pipeline, transport=transport, signing_secret=signing_secret
        )

        def leave() -> None:
            for caller in callers:
                caller.leave(LEAVE_SECONDS)
            bot.stop()

        with _signals(end.happened):
            stack.callback(leave)
            bot.start()
            log.info("Answering as %s in %s.", identity.name, identity.url or identity.team)
            on_ready(bot.transport)
            end.happened.wait()
            log.info("Stopping.")
            stack.close()
    if end.error is not None:
        raise end.error


def _secrets(settings: Settings, http: HttpAddress | None) -> tuple[str, str, str]:
    """Return the bot's token, the app-level one and the signing secret; "" for those that aren't needed."""
    token = _needed(
        secret(settings.slack.token),
        "LORE_SLACK_TOKEN",
        "the Bot User OAuth Token (xoxb-…) from the app's page OAuth & Permissions",
        prefix="xoxb-",
    )
    if http is not None:
        where = "the Signing Secret from the app's page Basic Information"
        return token, "", _needed(secret(settings.slack.signing_secret), "LORE_SLACK_SIGNING_SECRET", where)
    where = "an app-level token (xapp-…) with the scope connections:write, from the app's page Basic Information"
    return token, _needed(secret(settings.slack.app_token), "LORE_SLACK_APP_TOKEN", where, prefix="xapp-"), ""


def _needed(value: str | None, name: str, where: str, *, prefix: str = "") -> str:
    remedy = f"Set {name} to {where}: {OWN_PAGE}. docs/slack.md has the steps."
    if not value:
        raise ConfigurationError(f"The Slack bot needs {name}, which isn't set.", remedy=remedy)
    if not value.startswith(prefix):
        raise ConfigurationError(f"{name} is invalid: it must begin with {prefix}.", remedy=remedy)
    return value


@contextmanager
def _records(settings: Settings) -> Iterator[Records]:
    if secret(settings.records.url) == "none":
        raise ConfigurationError(
            "The Slack bot needs the records, to answer each question once, but LORE_RECORDS_URL is set to none.",
            remedy="Unset LORE_RECORDS_URL, or set it to a database.",
        )
    with open_records(settings, make=True) as records:
        yield records


def _caller(settings: Settings, token: str, end: _Shutdown) -> SlackCaller:
    timeout = min(settings.calls.timeout_seconds, CALL_SECONDS)
    return SlackCaller(token, settings.slack.base_url, timeout, max_retries=settings.calls.max_retries, on_dead=end.die)


@contextmanager
def _signals(stop: Event) -> Iterator[None]:
    """Let SIGTERM and SIGINT stop the bot; a second one ends the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def asked(number: int, _: FrameType | None) -> None:
        signal.signal(number, kept[signal.Signals(number)])
        stop.set()

    for number in kept:
        signal.signal(number, asked)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
