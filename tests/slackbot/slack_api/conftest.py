"""The workspace of the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.slack.app import (
    BOT_USER,
    SlackApp,
    channel,
    direct,
    group_direct,
    person,
)
from tests.slackbot.slack_api.world import DIRECT, PRIVATE, PUBLIC, World


@pytest.fixture
def world() -> Iterator[World]:
    channels = [
        channel(PUBLIC, members=["U1", "U2", BOT_USER]),
        channel(PRIVATE, private=True, members=["U1", BOT_USER]),
        channel("C3", private=True, members=["U1"]),
        channel("C4", members=["U1"]),
        channel("C5", members=["U1", BOT_USER], archived=True),
        direct(DIRECT, "U1"),
        group_direct("G1", "U1", "U2"),
    ]
    with SlackApp(channels, [person("U1"), person("U2"), person("U3", guest=True)]) as slack:
        yield World(slack)
