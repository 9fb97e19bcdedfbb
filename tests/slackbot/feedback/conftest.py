"""Records with one answer, a workspace, and the handlers over both."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lore.records.posted_answers import PostedAnswers
from lore.records.records import Records
from lore.types import Question

from tests.records.answers import full_answer
from tests.slackbot.fake_slack import BOT, FakeSlack
from tests.slackbot.feedback.bot import (
    ANSWER,
    TS,
    Bot,
    make_bot,
    redact,
)


@pytest.fixture
def slack() -> FakeSlack:
    slack = FakeSlack()
    slack.add_channel("C1", members=("U1", "U2"))
    slack.add_channel("CPRIV", members=("U1",), is_private=True)
    slack.add_channel("D1", members=("U1",))
    slack.add_channel("CMAINT", members=("U9",))
    for channel in ("C1", "CPRIV", "D1"):
        slack.say(channel, BOT.user, "An answer", ts=TS, thread_ts="1764500000.000100")
    return slack


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records with one answer, of which each test gets a copy."""
    file = tmp_path_factory.mktemp("records") / "records.db"
    with Records.open(f"sqlite:///{file}", redact) as records:
        question = Question("Where is <!channel> *the* key, hunter2?", asker="slack:T1:U1", surface="slack")
        records.add(full_answer(ANSWER, asker="slack:T1:U1", question=question))
        for channel in ("C1", "CPRIV", "D1", "CGONE"):
            PostedAnswers(records.engine).keep(
                "T1", channel, TS, thread_ts="1764500000.000100", answer_id=ANSWER, asker="slack:T1:U1"
            )
    return file


@pytest.fixture
def records(recorded: Path, tmp_path: Path) -> Iterator[Records]:
    with Records.open(f"sqlite:///{shutil.copy(recorded, tmp_path)}", redact) as records:
        yield records


@pytest.fixture
def bot(slack: FakeSlack, records: Records) -> Bot:
    return make_bot(slack, records)
