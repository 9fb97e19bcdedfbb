"""The Bolt app: what goes through which handler, and what is acknowledged when."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from lore.errors import RecordsError
from lore.slackbot.app.app import EventExecutor, EventHandlers, make_app
from lore.slackbot.background import BackgroundPool
from lore.slackbot.types import BotIdentity
from slack_bolt import App, BoltRequest, BoltResponse

from tests.servers.slack.app import BOT, BOT_USER, TEAM, channel, person
from tests.servers.slack.app_events import (
    block_actions,
    event_body,
    mention_event,
    message_event,
    reaction_event,
    slash_command,
    thread_started_event,
    view_submission,
)

PLACE, WHO = channel("C1", members=["U1", BOT_USER]), person("U1")
SAID = {"type": "message", "user": "U1", "text": "How?", "ts": "1.000001", "team": TEAM}
BELOW = {"type": "button", "block_id": "b"}
VIEW = {"type": "modal", "id": "V1", "callback_id": "lore_feedback_reason", "blocks": [], "private_metadata": ""}


@dataclass
class House:
    """An app whose handlers write down what comes through, and fail as they are told."""

    came: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    failure: Exception | None = None
    gate: threading.Event = field(default_factory=threading.Event)
    executor: EventExecutor = field(default_factory=lambda: EventExecutor(BackgroundPool(2), threads=2, seconds=0.2))

    def __post_init__(self) -> None:
        self.gate.set()
        names = ("message", "command", "opened", "button", "why", "reason", "reaction", "any_event")
        handlers = EventHandlers(**{name: self.handler(name) for name in names})
        self.app: App = make_app(handlers, self.executor, BotIdentity(TEAM, BOT_USER, BOT, "lore"))

    def handler(self, name: str) -> Callable[[Mapping[str, Any]], None]:
        def pass_through(body: Mapping[str, Any]) -> None:
            if name in ("message", "command"):
                assert self.gate.wait(10)
                if self.failure:
                    raise self.failure
            self.came.append((name, body))

        return pass_through

    def sent(self, body: Mapping[str, Any]) -> BoltResponse:
        """What the app answers to a body."""
        return self.app.dispatch(BoltRequest(mode="socket_mode", body=dict(body)))

    def names(self) -> list[str]:
        """Through which handlers something came, once all is done."""
        self.executor.close()
        return sorted(name for name, _ in self.came)


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    yield made
    made.gate.set()
    made.executor.close()


def action(action_id: str) -> dict[str, Any]:
    pressed = {**BELOW, "action_id": action_id, "value": "x"}
    return block_actions(WHO, PLACE, SAID, pressed, "t1", "https://127.0.0.1/r")


EVENTS = {
    "mention": (event_body(mention_event(SAID, PLACE)), ["any_event", "message"]),
    "message": (event_body(message_event(SAID, PLACE)), ["any_event", "message"]),
    "thumb": (event_body(reaction_event("reaction_added", "U1", "+1", "C1", SAID, "1.2")), ["reaction"]),
    "thumb away": (event_body(reaction_event("reaction_removed", "U1", "+1", "C1", SAID, "1.2")), ["reaction"]),
    "pane": (event_body(thread_started_event("U1", "D1", "1.2", "")), ["opened"]),
    "left": (event_body({"type": "member_left_channel", "user": "U1", "channel": "C1"}), ["any_event"]),
    "an event of tomorrow": (event_body({"type": "tomorrow_came", "user": "U1"}), ["any_event"]),
    "button": (action("lore_feedback"), ["button"]),
    "why": (action("lore_feedback_why"), ["why"]),
    "link": (action("whatever"), []),
    "modal": (view_submission(WHO, VIEW, {}, "t1"), ["reason"]),
    "command": (slash_command(WHO, PLACE, "/lore", "How?", "t1", "https://127.0.0.1/r"), ["command"]),
    "renamed command": (slash_command(WHO, PLACE, "/ask", "How?", "t1", "https://127.0.0.1/r"), ["command"]),
}


@pytest.mark.parametrize("name", EVENTS)
def test_each_goes_through_its_door_and_is_acknowledged(house: House, name: str) -> None:
    body, handlers = EVENTS[name]
    response = house.sent(body)
    assert (response.status, response.body) == (200, "")
    assert house.names() == handlers
    assert all(came["token"] == body["token"] for _, came in house.came)


def test_the_bots_own_messages_go_no_further(house: House) -> None:
    own = {**SAID, "user": BOT_USER, "bot_id": BOT}
    assert house.sent(event_body(message_event(own, PLACE))).status == 200
    assert "message" not in house.names()


def test_what_cannot_be_kept_is_not_acknowledged_so_that_slack_delivers_it_again(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.failure = RecordsError("The records are locked.", retryable=True)
    for _ in range(3):
        assert house.sent(EVENTS["mention"][0]).status == 503
    assert caplog.text.count("The records are locked.") == 1, "it is said once"
    house.failure = None
    assert house.sent(EVENTS["mention"][0]).status == 200


def test_records_that_are_slow_do_not_hold_the_answer_to_slack(house: House) -> None:
    house.gate.clear()
    assert house.sent(EVENTS["mention"][0]).status == 503
    house.gate.set()
    assert "message" in house.names(), "it is kept after all, and known when Slack delivers it again"


def test_a_command_that_cannot_be_kept_says_so_because_slack_delivers_it_once(house: House) -> None:
    house.failure = RecordsError("The records are locked.")
    response = house.sent(EVENTS["command"][0])
    assert response.status == 200
    assert "ask again" in str(response.body) and "ephemeral" in str(response.body)


def test_a_mistake_is_logged_without_what_was_written(house: House, caplog: pytest.LogCaptureFixture) -> None:
    house.failure = KeyError("xyzzy is no key")
    house.failure.__cause__ = ValueError("xyzzy")
    said = {**SAID, "text": "My password is xyzzy"}
    assert house.sent(event_body(message_event(said, PLACE))).status == 500
    assert "from Slack: KeyError (" in caplog.text and "from ValueError" in caplog.text
    assert "xyzzy" not in caplog.text


def test_once_it_is_closed_nothing_is_taken(house: House) -> None:
    house.executor.close()
    assert house.sent(EVENTS["mention"][0]).status == 503
    assert house.sent(EVENTS["thumb"][0]).status == 200
    assert house.came == []


def test_what_waits_to_be_kept_when_it_stops_is_left_to_another_process(house: House) -> None:
    house.gate.clear()
    assert [house.sent(EVENTS["command"][0]).status for _ in range(5)] == [200] * 5
    house.executor.refuse()
    house.gate.set()
    assert house.names().count("command") == 2  # two threads had begun


def test_bolt_silences_itself_and_not_the_bot(house: House) -> None:
    assert house.sent(EVENTS["mention"][0]).status == 200
    assert logging.getLogger("lore.slackbot").isEnabledFor(logging.INFO) == logging.root.isEnabledFor(logging.INFO)
    assert logging.getLogger("lore.slackbot").isEnabledFor(logging.ERROR)
