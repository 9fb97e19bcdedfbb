"""The manifest against the small Slack: what the bot does is allowed, and nothing is asked for in vain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import pytest
from lore.slackbot.checks.manifest import AppManifest
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.caller import SlackCaller
from lore.slackbot.types import SlackCallError, SlackMessage

from tests.servers.slack.app import BOT_USER, SlackApp, channel, direct, group_direct, person
from tests.servers.slack.app_events import EVENT_SCOPES

MANIFEST = AppManifest.load()
PLACES = ("C1", "C2", "D1", "G1")
"""A public channel, a private one, a direct message, one of a group."""
HELLO = SlackMessage((), "Hello")
CALLS: dict[str, Callable[[BotApi, str, str], object]] = {
    "identity": lambda slack, place, ts: slack.identity(),
    "post": lambda slack, place, ts: slack.post(place, HELLO, thread_ts=ts),
    "post_ephemeral": lambda slack, place, ts: slack.post_ephemeral(place, "U1", HELLO),
    "update": lambda slack, place, ts: slack.update(place, slack.post(place, HELLO), HELLO),
    "delete": lambda slack, place, ts: slack.delete(place, slack.post(place, HELLO)),
    "stream": lambda slack, place, ts: _stream(slack, place, ts),
    "set_status": lambda slack, place, ts: slack.set_status(place, ts, "is reading …"),
    "set_prompts": lambda slack, place, ts: slack.set_prompts("D1", ts, ["How?"]),
    "replies": lambda slack, place, ts: slack.replies(place, ts),
    "history": lambda slack, place, ts: slack.history(place),
    "message": lambda slack, place, ts: slack.message(place, ts),
    "channel": lambda slack, place, ts: slack.channel(place),
    "user": lambda slack, place, ts: slack.user("U1"),
    "private_channels_of": lambda slack, place, ts: slack.private_channels_of("U1"),
    "is_member": lambda slack, place, ts: slack.is_member(place, "U1"),
    "permalink": lambda slack, place, ts: slack.permalink(place, ts),
}


def _stream(slack: BotApi, place: str, ts: str) -> None:
    stream = slack.start_stream(place, ts, team="T1", user="U1", markdown="One")
    slack.append_stream(place, stream, " two")
    slack.stop_stream(place, stream)


@contextmanager
def calling(scopes: Collection[str]) -> Iterator[tuple[BotApi, dict[str, str]]]:
    """The bot's hand in a Slack that gave it these scopes, and a message in each place."""
    made = [
        channel("C1", members=["U1", BOT_USER]),
        channel("C2", private=True, members=["U1", BOT_USER]),
        direct("D1", "U1"),
        group_direct("G1", "U1", "U2"),
    ]
    with SlackApp(made, [person("U1"), person("U2")], scopes=scopes) as slack:
        said = {place: slack.say("U1", place, "How?", send=False)["ts"] for place in PLACES}
        yield BotApi(SlackCaller(slack.bot_token, slack.base_url, 5.0, max_retries=0)), said


def refused(scopes: Collection[str]) -> set[str]:
    """What cannot be called with these scopes."""
    found = set()
    with calling(scopes) as (slack, said):
        for name, call in CALLS.items():
            for place in PLACES:
                try:
                    call(slack, place, said[place])
                except SlackCallError as error:
                    assert error.code == "missing_scope", f"{name}: {error}"
                    found.add(name)
    return found


def test_everything_that_the_bot_calls_is_allowed() -> None:
    assert refused(MANIFEST.scopes) == set()


def test_every_verb_of_the_bot_is_tried_here() -> None:
    verbs = {name for name in vars(BotApi) if not name.startswith("_")}
    assert verbs - {"start_stream", "append_stream", "stop_stream", "open_view", "respond"} == set(CALLS) - {"stream"}


@pytest.mark.parametrize("scope", sorted(MANIFEST.scopes))
def test_no_scope_is_there_for_nothing(scope: str) -> None:
    """Each is what a call needs, or what an event that the app is subscribed to needs, or the command."""
    told = {EVENT_SCOPES[event] for event in MANIFEST.events}
    assert scope in told | {"commands"} or refused(set(MANIFEST.scopes) - {scope})


def test_events_are_those_that_the_scopes_allow() -> None:
    assert {EVENT_SCOPES[event] for event in MANIFEST.events} <= set(MANIFEST.scopes)
    assert MANIFEST.commands == ("/lore",)
    assert MANIFEST.socket_mode and MANIFEST.interactivity and MANIFEST.assistant and MANIFEST.messages
