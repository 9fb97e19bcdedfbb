"""Kill -9 in the middle of answers: another process ends each question with one answer or one apology."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.servers.slack.app import BOT_USER, SlackApp, channel, person

QUESTIONS = 12
SECONDS = 100.0


@contextmanager
def bot(slack: SlackApp, records_url: str, *asked: str) -> Iterator[subprocess.Popen[str]]:
    """A process of the bot, which is killed at the end of the block."""
    command = (sys.executable, "-m", "tests.slackbot.mortal", slack.base_url, slack.bot_token, records_url, "C1")
    process = subprocess.Popen([*command, *asked], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ends(slack: SlackApp, thread: str) -> list[str]:
    """How each of the bot's messages in a thread ended."""
    found = []
    for message in slack.thread("C1", thread)[1:]:
        payload: dict[str, Any] = message.get("metadata", {}).get("event_payload", {})
        found.append("answer" if payload.get("answer") else "apology" if payload.get("closed") else "open")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seen", [1, 6])
def test_after_kill_9_there_is_one_end_to_each_question(records_url: str, seen: int) -> None:
    users = [f"U{number}" for number in range(QUESTIONS)]
    with SlackApp([channel("C1", members=[*users, BOT_USER])], map(person, users)) as slack:
        asked = [slack.say(user, "C1", f"<@{BOT_USER}> Question of {user}?", send=False)["ts"] for user in users]
        with bot(slack, records_url, *asked) as process:
            assert process.stdout and process.stdout.readline() == "ready\n"
            slack.wait(lambda: len(slack.posted("C1")) >= seen, SECONDS)
        with bot(slack, records_url):
            over = (["answer"], ["apology"])
            slack.wait(lambda: all(ends(slack, ts) in over for ts in asked), SECONDS)
        assert [len(ends(slack, ts)) for ts in asked] == [1] * QUESTIONS
