"""A workspace, and the bot's calls of its API."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.caller import SlackCaller
from lore.slackbot.types import SlackCallError, SlackMessage

from tests.servers.slack.app import (
    SlackApp,
)

HELLO = SlackMessage(({"type": "markdown", "text": "**Hello**"},), "Hello")
PUBLIC, PRIVATE, DIRECT = "C1", "C2", "D1"


@dataclass
class World:
    """A workspace, the bot's hand in it, what it slept, and what it was told of its token."""

    slack: SlackApp
    waits: list[float] = field(default_factory=list)
    deaths: list[SlackCallError] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.api: BotApi = self.api_with()

    def api_with(self, *, token: str = "", timeout: float = 5.0, max_retries: int = 3) -> BotApi:
        caller = SlackCaller(
            token or self.slack.bot_token,
            self.slack.base_url,
            timeout,
            max_retries=max_retries,
            sleep=self.waits.append,
            chance=lambda: 0.0,
            on_dead=self.deaths.append,
        )
        return BotApi(caller)


def failed(world: World, code: str) -> SlackCallError:
    """The error that a call to post ends with, which has this code."""
    with pytest.raises(SlackCallError) as caught:
        world.api.post(PUBLIC, HELLO, thread_ts="")
    assert caught.value.code == code
    return caught.value
