"""Socket Mode on its own: connections that end at once, and what no Slack sends over them."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from lore.slackbot.app.app import EventExecutor, EventHandlers, make_app
from lore.slackbot.app.socket import SocketTransport
from lore.slackbot.background import BackgroundPool
from lore.slackbot.slack_api.caller import SlackCaller
from lore.slackbot.slack_api.rate_budgets import TokenBucket
from lore.slackbot.types import BotIdentity

from tests.servers.slack.app import BOT, BOT_USER, TEAM, SlackApp, channel, person
from tests.servers.slack.app_socket import CLOSE, TEXT
from tests.slackbot.queues import Clock

PLACE = channel("C1", members=["U1", BOT_USER])


class CountedBucket(TokenBucket):
    """A bucket that tells when it was asked in vain."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(60, 3, clock=clock)
        self.empty = threading.Event()

    def take(self) -> bool:
        taken = super().take()
        if not taken:
            self.empty.set()
        return taken


class World:
    """A small Slack, and an app that writes down what it is asked."""

    def __init__(self, slack: SlackApp, renewals: TokenBucket | None) -> None:
        self.slack = slack
        self.asked: list[Mapping[str, Any]] = []
        self.executor = EventExecutor(BackgroundPool(2), threads=2)

        def nothing(_: Mapping[str, Any]) -> None:
            """Do nothing."""

        others = ("command", "opened", "button", "why", "reason", "reaction", "any_event")
        handlers = EventHandlers(message=self.asked.append, **dict.fromkeys(others, nothing))
        app = make_app(handlers, self.executor, BotIdentity(TEAM, BOT_USER, BOT, "lore"))
        caller = SlackCaller(slack.app_token, slack.base_url, 5.0, max_retries=0)
        self.transport = SocketTransport(app, caller, ping=0.05, renewals=renewals)

    def takes(self, text: str) -> bool:
        """Whether something that a person writes now comes in."""
        self.slack.say("U1", "C1", text)
        return self.slack.settle() and any(body["event"]["text"] == text for body in self.asked)


@contextmanager
def connected(renewals: TokenBucket | None = None) -> Iterator[World]:
    with SlackApp([PLACE], [person("U1")], ack_seconds=0.5) as slack:
        world = World(slack, renewals)
        world.transport.start()
        assert slack.sockets.wait_connected()
        try:
            yield world
        finally:
            world.executor.close()
            world.transport.close()


def test_connections_that_end_at_once_are_renewed_at_a_pace_and_it_goes_on_after() -> None:
    clock = Clock()
    renewals = CountedBucket(clock)
    with connected(renewals) as world:
        storm = threading.Event()
        served = world.slack.sockets.serve

        def serve(sock: Any, stream: Any, app: str) -> None:
            if storm.is_set():
                sock.close()
            else:
                served(sock, stream, app)

        storm.set()
        world.slack.sockets.serve = serve  # type: ignore[method-assign]
        for connection in list(world.slack.sockets.connections):
            connection.cut()
        assert renewals.empty.wait(20)
        opened = len(world.slack.called("apps.connections.open"))
        assert opened <= 1 + 3
        storm.clear()
        clock.forward(60)
        assert world.takes("How?")


def test_an_address_that_nobody_answers_at_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with connected() as world:
        tickets = world.slack._use_ticket
        world.slack._use_ticket = lambda ticket: False  # type: ignore[method-assign]
        world.slack.sockets.connections[-1].cut()
        assert world.slack.wait(lambda: len(world.slack.called("apps.connections.open")) >= 4, 20)
        world.slack._use_ticket = tickets  # type: ignore[method-assign]
        assert world.takes("How?")
    assert caplog.text.count("connect to Slack's websocket") == 1


DEEP = b'{"type":"events_api","envelope_id":"x","payload":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001
RUBBISH = {
    "nothing": (TEXT, b""),
    "cut json": (TEXT, b'{"type":'),
    "null": (TEXT, b"null"),
    "list": (TEXT, b"[]"),
    "no type": (TEXT, b'{"type":[],"envelope_id":{}}'),
    "payload is a list": (TEXT, b'{"type":"events_api","envelope_id":"x","payload":[1]}'),
    "no payload": (TEXT, b'{"type":"events_api","envelope_id":"x"}'),
    "event is a list": (TEXT, b'{"type":"events_api","envelope_id":"x","payload":{"event":[]}}'),
    "deep": (TEXT, DEEP),
    "no text": (TEXT, b"\xff\xfe{"),
    "binary": (2, b"\x00\xff"),
    "unknown kind": (11, b"\xff"),
    "strange pong": (10, b"\xff\xff"),
    "strange close": (CLOSE, struct.pack(">H", 1000) + b"\xff\xff"),
}


def test_what_no_slack_sends_stops_nothing_and_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with connected() as world:
        for name, (kind, data) in RUBBISH.items():
            assert world.slack.sockets.wait(lambda: bool(world.slack.sockets.connections))
            world.slack.sockets.connections[-1]._send(kind, data)
            assert world.takes(f"after {name}"), name
    assert "Traceback" not in caplog.text and "envelope" not in caplog.text
