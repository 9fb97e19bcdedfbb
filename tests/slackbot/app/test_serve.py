"""`lore slack` before it runs: what has to be set, and what Slack says of it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NoReturn

import pytest
from lore.cli.app import app
from lore.errors import ConfigurationError, LoreError
from lore.settings import Settings, load_settings
from lore.slackbot.app.serve import HttpAddress, serve
from lore.slackbot.types import SlackCallError
from typer.testing import CliRunner

from tests.servers.slack.app import SlackApp
from tests.slackbot.bots import bot_settings

WHOLE = {"slack_token": "xoxb-1", "slack_app_token": "xapp-1", "slack_signing_secret": "s"}


def never(*_: object) -> NoReturn:
    raise AssertionError("nothing is opened before everything is set")


@pytest.mark.parametrize(
    ("changes", "http", "named"),
    [
        ({"slack_token": ""}, False, "LORE_SLACK_TOKEN"),
        ({"slack_token": "xoxp-1"}, False, "LORE_SLACK_TOKEN"),
        ({"slack_app_token": ""}, False, "LORE_SLACK_APP_TOKEN"),
        ({"slack_app_token": "xoxb-1"}, False, "LORE_SLACK_APP_TOKEN"),
        ({"slack_signing_secret": ""}, True, "LORE_SLACK_SIGNING_SECRET"),
        ({"records_url": "none"}, False, "LORE_RECORDS_URL"),
    ],
    ids=["no token", "a user's token", "no app token", "tokens mixed up", "no secret", "no records"],
)
def test_what_is_missing_is_named_with_where_it_is_found(changes: dict[str, str], http: bool, named: str) -> None:
    settings = load_settings({}, **(WHOLE | changes))
    with pytest.raises(ConfigurationError) as caught:
        serve(settings, http=HttpAddress() if http else None, make_pipeline=never)
    assert named in caught.value.message and named in caught.value.remedy
    assert "xo" not in caught.value.message.replace("xoxb-", "").replace("xapp-", "")


def test_the_command_ends_with_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"LORE_SLACK_TOKEN": "", "SLACK_BOT_TOKEN": ""}
    result = CliRunner().invoke(app, ["slack"], env=environment)
    assert result.exit_code == 2
    assert "LORE_SLACK_TOKEN" in result.output and "docs/slack.md" in result.output


def ended(settings: Settings) -> LoreError:
    """What a bot that cannot start ends with."""
    with pytest.raises(LoreError) as caught:
        serve(settings, make_pipeline=lambda *_: never, stop=threading.Event())  # type: ignore[arg-type, return-value]
    return caught.value


def test_a_token_that_slack_refuses_ends_the_start(tmp_path: Path) -> None:
    with SlackApp() as slack:
        error = ended(bot_settings(slack, tmp_path, slack_token="xoxb-wrong"))
        assert isinstance(error, SlackCallError) and error.code == "invalid_auth"
        assert "LORE_SLACK_TOKEN" in error.remedy and "xoxb-wrong" not in str(error)
        assert [call.method for call in slack.calls] == ["auth.test"]


def test_an_app_level_token_that_slack_refuses_ends_the_start(tmp_path: Path) -> None:
    with SlackApp() as slack:
        error = ended(bot_settings(slack, tmp_path, slack_app_token="xapp-wrong"))
    assert isinstance(error, SlackCallError) and error.code == "invalid_auth"
    assert "LORE_SLACK_APP_TOKEN" in error.remedy
