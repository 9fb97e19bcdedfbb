"""The bot put together: what its parts may not do to each other."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lore.records.records import Records
from lore.settings import Settings
from lore.slackbot.app.bot import open_bot
from lore.types import Answer
from slack_bolt import App, BoltRequest

from tests.slackbot.fake_slack import BOT, FakeSlack
from tests.slackbot.queues import Scripted

SECONDS = 20


class Stuck:
    """A recorder whose answers are not written before `gate` is set."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.waiting = threading.Semaphore(0)

    def record(self, answer: Answer) -> None:
        pass

    def flush(self, timeout: float = 0) -> bool:
        self.waiting.release()
        return self.gate.wait(SECONDS)

    def close(self, timeout: float = 0) -> None:
        self.gate.set()


class ByHand:
    """A transport whose bodies a test hands over."""

    def __init__(self, app: App) -> None:
        self.app = app

    def start(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_who_asks_sees_a_sign_while_many_wait_to_be_forgotten(records: Records, tmp_path: Path) -> None:
    slack, recorder, seen = FakeSlack(), Stuck(), threading.Event()
    slack.add_channel("C1", members=["U1"])
    slack.add_channel("D2", members=["U2"])

    def look(verb: str, arguments: Mapping[str, Any]) -> None:
        if verb == "set_status" and arguments["channel"] == "C1":
            seen.set()

    def wait(number: int, question: object) -> None:
        assert seen.wait(SECONDS)

    slack.before = look
    settings = Settings.of(assistant=tmp_path / "assistant.yaml")
    bot = open_bot(settings, slack, BOT, records, recorder, Scripted(between=wait), transport=ByHand)
    assert isinstance(bot.transport, ByHand)
    app = bot.transport.app
    bot.start()
    try:
        for _ in range(20):
            forget = slack.event("D2", slack.say("D2", "U2", "forget me"))
            assert app.dispatch(BoltRequest(mode="socket_mode", body=forget)).status == 200
        assert recorder.waiting.acquire(timeout=SECONDS)
        asked = slack.event("C1", slack.say("C1", "U1", f"<@{BOT.user}> How do I rotate a key?"), kind="app_mention")
        assert app.dispatch(BoltRequest(mode="socket_mode", body=asked)).status == 200
        assert seen.wait(SECONDS), "no sign was shown"
        assert not recorder.gate.is_set()
    finally:
        recorder.gate.set()
        seen.set()
        bot.stop()
