"""Privacy: nothing secret is kept of a question that comes through the bot, and a person can be forgotten."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from lore.errors import ConfigurationError
from lore.records.leases import LeaseStore
from lore.records.opinions import PostedNotice, Vote
from lore.records.posted_answers import PostedAnswers
from lore.records.recorder import QueuedRecorder
from lore.records.records import Records
from lore.redact.redactor import Redactor
from lore.slackbot.access.privacy import Erasure, Privacy
from lore.slackbot.feedback.maintainers import MaintainersChannel, RatedAnswer
from lore.types import Question
from sqlalchemy import inspect, text

from tests.records.answers import full_answer, small_answer
from tests.servers.slack.app import BOT_USER, SlackApp, channel, person
from tests.slackbot.bots import payload_of, running, waits_for_answers
from tests.slackbot.fake_slack import FakeSlack

ADA, BEN = "slack:T1:UADA", "slack:T1:UBEN"
SECRET = "ghp_" + "x1Y2" * 9
URL = "sqlite:///{}/records.db"


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(URL.format(tmp_path), Redactor("secrets").text) as records:
        yield records


@pytest.fixture
def slack() -> FakeSlack:
    slack = FakeSlack()
    slack.add_channel("CMAINT")
    return slack


def make_privacy(slack: FakeSlack, records: Records, *, flushed: bool = True) -> Privacy:
    return Privacy(
        records.opinions(), forget=records.forget, flush=lambda _: flushed, refresh=maintainers(slack, records).refresh
    )


def maintainers(slack: FakeSlack, records: Records) -> MaintainersChannel:
    return MaintainersChannel(slack, records.opinions(), records.get, channel="CMAINT")  # type: ignore[arg-type]


def everything(records: Records) -> str:
    """All rows of all tables, as text."""
    with records.engine.connect() as connection:
        names = inspect(connection).get_table_names()
        return "\n".join(str(connection.execute(text(f"SELECT * FROM {name}")).all()) for name in names)


def question(records: Records, answer_id: str, asker: str, channel: str = "C1") -> None:
    records.add(full_answer(answer_id, asker=asker))
    PostedAnswers(records.engine).keep(
        "T1", channel, f"{answer_id}.1", thread_ts="1.0", answer_id=answer_id, asker=asker
    )


def test_forgetting_removes_what_is_kept_of_the_asker_alone(slack: FakeSlack, records: Records) -> None:
    question(records, "ada-1", ADA)
    question(records, "ada-2", ADA)
    question(records, "ben-1", BEN)
    opinions = records.opinions()
    told = PostedNotice("CMAINT", slack.say("CMAINT", "UBOT", "An answer did not help: says Ada")["ts"])
    opinions.vote("ben-1", ADA, Vote("button", False, 1.0, reason="Ada's reason"))
    opinions.begin_notice("ben-1", ADA, 60)
    opinions.end_notice("ben-1", ADA, told)
    opinions.vote("ben-1", BEN, Vote("button", True, 1.0))

    forgotten = make_privacy(slack, records).forget(ADA)

    assert forgotten == Erasure(answers=2, opinions=1)
    assert forgotten.in_words().startswith("Done: I deleted 2 questions with answers and 1 opinion.")
    kept = everything(records)
    assert "UADA" not in kept
    assert "Ada's reason" not in kept
    assert [one.id for one in records.latest(9)] == ["ben-1"]
    assert [(one.asker, one.helpful) for one in records.get("ben-1").feedback] == [(BEN, True)]
    assert PostedAnswers(records.engine).answer_at("T1", "C1", "ben-1.1") == "ben-1"
    assert PostedAnswers(records.engine).answer_at("T1", "C1", "ada-1.1") is None
    assert slack.own("CMAINT") == []


def test_a_notice_that_quotes_the_question_goes_and_one_with_others_words_loses_the_persons(
    slack: FakeSlack, records: Records
) -> None:
    slack.add_channel("C1")
    question(records, "ada-1", ADA)
    question(records, "ben-1", BEN)
    told, opinions = maintainers(slack, records), records.opinions()
    for answer, asker, at in (("ada-1", BEN, 1.0), ("ben-1", ADA, 2.0), ("ben-1", BEN, 3.0)):
        opinion = opinions.vote(answer, asker, Vote("button", False, at, reason=f"{asker[-3:]} finds {answer} old"))
        assert opinion
        told.tell(RatedAnswer(answer, asker, "C1", f"{answer}.1"), opinion)
    assert len(slack.own("CMAINT")) == 2, "one message for an answer"
    assert make_privacy(slack, records).forget(ADA).left == 0
    [notice] = slack.own("CMAINT")
    assert "BEN finds ben-1 old" in str(notice["blocks"]) and "ADA" not in str(notice["blocks"])
    assert "https://acme.slack.com/archives/C1/pben-11" in str(notice["blocks"])
    opinion = opinions.vote("ben-1", BEN, Vote("button", True, 4.0))
    assert opinion and opinion.notice
    told.tell(RatedAnswer("ben-1", BEN, "C1", "ben-1.1"), opinion)
    assert "since found it helpful" in slack.own("CMAINT")[0]["text"]


def test_forgetting_twice_is_no_harm(slack: FakeSlack, records: Records) -> None:
    question(records, "ada-1", ADA)
    privacy = make_privacy(slack, records)
    assert privacy.forget(ADA).answers == 1
    assert privacy.forget(ADA) == Erasure(0, 0)
    assert privacy.forget(ADA).in_words().startswith("I have no data about you.")


def test_what_waits_in_the_queue_is_written_first_and_then_removed(slack: FakeSlack, tmp_path: Path) -> None:
    def open_records() -> Records:
        return Records.open(URL.format(tmp_path), str)

    with open_records() as records:
        recorder = QueuedRecorder(open_records, "the records")
        for number in range(50):
            recorder.record(small_answer(f"ada-{number:02}", asker=ADA))
        told = maintainers(slack, records).refresh
        privacy = Privacy(records.opinions(), forget=records.forget, flush=recorder.flush, refresh=told)
        assert privacy.forget(ADA) == Erasure(answers=50, opinions=0)
        recorder.close()
        assert records.latest(99) == []


def test_a_queue_that_does_not_empty_is_said(slack: FakeSlack, records: Records) -> None:
    question(records, "ada-1", ADA)
    forgotten = make_privacy(slack, records, flushed=False).forget(ADA)
    assert forgotten == Erasure(answers=1, opinions=0, waiting=True)
    assert "send this again" in forgotten.in_words()
    assert records.latest(9) == []


def test_nobody_is_not_everybody(slack: FakeSlack, records: Records) -> None:
    records.add(small_answer("someone", asker=""))
    with pytest.raises(ConfigurationError):
        make_privacy(slack, records).forget("")
    assert records.count() == 1


@pytest.mark.parametrize(("code", "left"), [("message_not_found", 0), ("ratelimited", 1)])
def test_a_message_that_slack_keeps_is_said(slack: FakeSlack, records: Records, code: str, left: int) -> None:
    question(records, "ben-1", BEN)
    opinions = records.opinions()
    opinions.vote("ben-1", ADA, Vote("button", False, 1.0))
    opinions.begin_notice("ben-1", ADA, 60)
    opinions.end_notice("ben-1", ADA, PostedNotice("CMAINT", "1.0"))
    slack.refuse("delete", code)
    forgotten = make_privacy(slack, records).forget(ADA)
    assert forgotten == Erasure(answers=0, opinions=1, left=left)
    assert ("didn't let me delete 1 message " in forgotten.in_words()) == bool(left)


def test_a_secret_in_a_question_is_kept_nowhere(records: Records, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    question = Question(f"Why is {SECRET} refused?", asker=ADA, surface="slack")
    records.add(full_answer("ada-1", asker=ADA, question=question, text=f"Because {SECRET} is old [1]."))
    records.opinions().vote("ada-1", ADA, Vote("button", False, 1.0, reason=f"It repeats {SECRET}"))
    kept = everything(records)
    assert "Why is" in kept
    assert "It repeats" in kept
    assert SECRET not in kept
    assert SECRET not in caplog.text
    assert LeaseStore(records.engine).expired() == []


def test_nothing_of_a_secret_is_left_behind_by_the_whole_bot(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "lore")
    places = [channel("C1", "help", members=["U1", BOT_USER]), channel("C9", "maintainers", members=[BOT_USER])]
    with SlackApp(places, [person("U1")]) as slack, running(slack, tmp_path, slack_feedback_channel="C9"):
        asked = slack.say("U1", "C1", f"<@{BOT_USER}> Why is {SECRET} refused by xyzzy?")
        [answer] = waits_for_answers(slack, "C1", asked["ts"])
        value = f"unhelpful:{payload_of(answer)['answer']}"
        slack.press("U1", "C1", answer["ts"], "lore_feedback", value)
        view = slack.wait(lambda: slack.methods.views, 20)[0]
        typed = {"type": "plain_text_input", "value": f"It repeats {SECRET}"}
        slack.submit(view, {"reason": {"reason": typed}})
        told = slack.wait(lambda: [one for one in slack.posted("C9") if "It repeats" in str(one["blocks"])], 20)
        with Records.open(URL.format(tmp_path), str) as records:
            kept = everything(records)
    assert "refused by xyzzy" in kept
    assert "It repeats" in kept
    assert "refused by xyzzy" in str(told)
    for written in (kept, str(told), caplog.text):
        assert SECRET not in written
    with Records.open(URL.format(tmp_path), str) as records, records.engine.connect() as connection:
        claimed = str(connection.execute(text("SELECT * FROM lore_claims")).all())
    assert asked["ts"] in claimed
    assert "xyzzy" not in claimed
    assert "xyzzy" not in caplog.text
