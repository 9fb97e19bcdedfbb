"""The maintainers' channel on the language model: told once that it fails, and once that it works again."""

from __future__ import annotations

import pytest
from lore.errors import ModelError
from lore.records.leases import LeaseStore
from lore.records.records import Records
from lore.slackbot.background import BackgroundPool
from lore.slackbot.feedback.outages import OutageNotices

from tests.slackbot.fake_slack import FakeSlack

ERROR = ModelError("openai:gpt rejected the key (HTTP 401).", remedy="Check LORE_CHAT_API_KEY.")


class Immediate(BackgroundPool):
    def soon(self, task) -> None:  # type: ignore[no-untyped-def]
        task()


class Desk:
    def __init__(self, records: Records, channel: str = "COPS") -> None:
        self.now = 1_000_000.0
        self.slack = FakeSlack()
        self.slack.add_channel("COPS")
        self.store = LeaseStore(records.engine)
        self.processes = [
            OutageNotices(self.slack, self.store, Immediate(1), channel=channel, owner=owner, clock=lambda: self.now)  # type: ignore[arg-type]
            for owner in ("a", "b")
        ]

    def told(self) -> list[str]:
        return [one["text"] for one in self.slack.own("COPS")]


def test_of_several_processes_one_tells_with_the_remedy(records: Records) -> None:
    desk = Desk(records)
    for process in desk.processes * 2:
        process.on_model_change(ERROR)
    [text] = desk.told()
    assert ERROR.message in text and "LORE_CHAT_API_KEY" in text and "lore doctor" in text
    for process in desk.processes:
        process.on_model_change(None)
    assert desk.told()[1:] == ["The language model works again."]
    desk.now += 3_600
    desk.processes[0].on_model_change(ERROR)
    assert len(desk.told()) == 3
    assert desk.store.expired() == [], "nobody takes a notice for a question"


def test_without_a_channel_nobody_is_told(records: Records) -> None:
    desk = Desk(records, channel="")
    desk.processes[0].on_model_change(ERROR)
    assert desk.slack.calls == []


def test_a_refusal_is_logged(records: Records, caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk(records)
    desk.slack.refuse("post", "not_in_channel")
    desk.processes[0].on_model_change(ERROR)
    assert "COPS" in caplog.text and "not_in_channel" in caplog.text
