"""The desk: each question is kept before it is taken, gets a sign at once, waits its turn, and is answered once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from include.lore.errors import RecordsError
from include.lore.records.claims import Claims
from include.lore.records.places import Places
from include.lore.records.records import Records
from include.lore.slackbot.reception import Reception
from include.lore.types import Question
from tests.slackbot.desks import Scripted, make_ask, make_slack, open_desk, shown_key
from tests.slackbot.fake_slack import FakeSlack

SECONDS = 20.0


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(f"sqlite:///{tmp_path}/records.db", str) as opened:
        yield opened


@pytest.fixture
def claims(records: Records) -> Claims:
    return Claims(records.engine)


@pytest.fixture
def places(records: Records) -> Places:
    return Places(records.engine)


@pytest.fixture
def slack() -> FakeSlack:
    return make_slack()


def finish(reception: Reception) -> None:
    """Wait until all is answered, and stop."""
    assert reception.desk.wait_until_idle(SECONDS)
    reception.desk.stop()


def test_a_question_is_answered_in_its_thread(slack: FakeSlack, claims: Claims, places: Places) -> None:
    reception = open_desk(slack, claims, places, Scripted())
    reception.desk.start()
    ask = make_ask(slack)
    reception.take(ask)
    finish(reception)
    [answer] = slack.own("C1")
    assert answer["thread_ts"] == ask.ts
    assert "Open the settings, press rotate, and copy the new key." in str(answer["blocks"])
    assert answer["metadata"]["event_payload"] == {"key": ask.key, "answer": "answer-1", "part": "1/1"}
    assert places.answer_at("T1", "C1", answer["ts"]) == "answer-1"
    assert places.answered_in("T1", "C1", ask.ts)
    assert not claims.claim(ask.key, "other", 60)
    assert claims.expired() == []
