"""Delivery: an answer grows at a pace that Slack allows, by a stream or by changes, and ends whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from lore.errors import RecordsError
from lore.records.leases import LeaseStore
from lore.records.records import Records
from lore.slackbot.queue.leases import Lease, LeaseLost
from lore.slackbot.render import phrases
from lore.slackbot.reply.delivery import Delivery
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.poster import Poster
from lore.slackbot.slack_api.errors import UncertainCallError
from lore.slackbot.slack_api.rate_budgets import RateBudgets, RefusalCache
from lore.types import Answer, Plan, Question, Trace
from sqlalchemy import text

from tests.slackbot.fake_slack import FakeSlack
from tests.slackbot.queues import BUTTONS, Clock, make_lease, make_question, make_slack

WORDS = [f"word{number} " for number in range(40)]


class Stage:
    """A delivery for a question that is held, and what is around it."""

    def __init__(self, records: Records, **question: Any) -> None:
        self.clock = Clock()
        self.slack = make_slack()
        self.pace = RateBudgets(clock=self.clock)
        self.refused = RefusalCache(clock=self.clock)
        self.claims = LeaseStore(records.engine, self.clock.moment)
        self.lease = make_lease(self.claims, make_question(self.slack, **question), self.clock)
        self.delivery = self.another(self.lease)

    def another(self, lease: Lease, slack: Any = None) -> Delivery:
        return Delivery(lease, slack or self.slack, lambda answer_id: (BUTTONS,), self.pace, self.refused)

    def grow(self, words: list[str], seconds: float = 0.25) -> None:
        for word in words:
            self.delivery.grow(word)
            self.clock.forward(seconds)

    @property
    def shown(self) -> dict[str, Any]:
        [message] = self.slack.own("C1")
        return message


def answer_of(words: list[str], name: str = "a1") -> Answer:
    return Answer(Question("q"), "".join(words), (), True, Trace(Plan("q", ("q",))), id=name)


@pytest.fixture
def stage(records: Records) -> Stage:
    return Stage(records)


def text_of(message: Mapping[str, Any]) -> str:
    return " ".join(str(block.get("text", "")) for block in message["blocks"])


def test_an_answer_is_streamed_at_a_pace(stage: Stage) -> None:
    stage.grow(WORDS)
    assert stage.delivery.finish(answer_of(WORDS)) == (stage.shown["ts"],)
    counts = stage.slack.counts()
    assert (counts["start_stream"], counts["stop_stream"], counts["post"], counts["update"]) == (1, 1, 0, 0)
    assert 5 <= counts["append_stream"] <= 12  # in ten seconds
    assert "".join(WORDS).strip() == stage.shown["blocks"][0]["text"].strip()
    assert stage.shown["blocks"][-1] == BUTTONS
    assert stage.shown["metadata"]["event_payload"] == {"key": stage.lease.question.key, "answer": "a1", "part": "1/1"}


@pytest.mark.parametrize("streams", [True, False])
def test_a_corrected_answer_takes_the_place_of_what_was_shown(stage: Stage, streams: bool) -> None:
    if not streams:
        stage.refused.remember("stream", "C1", "unknown_method")
    stage.grow(WORDS)
    stage.delivery.correct()
    verified = [*WORDS[:5], "and no more"]
    assert stage.delivery.finish(answer_of(verified)) == (stage.shown["ts"],)
    assert "".join(verified) in text_of(stage.shown)
    assert "word7" not in text_of(stage.shown)


def test_a_stream_begins_for_the_asker_in_the_thread(stage: Stage) -> None:
    stage.grow(WORDS)
    call = next(call for call in stage.slack.calls if call.name == "start_stream")
    assert {name: call.arguments[name] for name in ("channel", "thread_ts", "team", "user")} == {
        "channel": "C1",
        "thread_ts": stage.lease.question.ts,
        "team": "T1",
        "user": "U1",
    }


def test_a_quick_answer_is_one_message(stage: Stage) -> None:
    stage.grow(WORDS, seconds=0.0)
    stage.delivery.finish(answer_of(WORDS))
    assert [call.name for call in stage.slack.calls] == ["post"]
    assert "word39" in text_of(stage.shown)


def test_what_is_posted_is_noted_before_and_after(stage: Stage) -> None:
    noted: list[tuple[str, str, str]] = []

    def look(name: str, _: Mapping[str, Any]) -> None:
        [claim] = stage.claims.noted("channel", "C1")
        noted.append((name, claim.data.get("kind", ""), claim.data.get("shown", "")))

    stage.slack.before = look
    stage.grow(WORDS[:10])
    stage.delivery.finish(answer_of(WORDS[:10]))
    ts = stage.shown["ts"]
    assert noted[0] == ("start_stream", "stream", "")
    assert {(kind, shown) for _, kind, shown in noted[1:]} == {("stream", ts)}


@pytest.mark.parametrize("code", ["unknown_method", "missing_scope", "not_allowed", "user_not_found", "made_up"])
def test_where_slack_does_not_stream_a_message_is_changed_at_a_pace(stage: Stage, code: str) -> None:
    stage.slack.refuse("start_stream", code, times=None)
    stage.grow(WORDS)
    stage.delivery.finish(answer_of(WORDS))
    counts = stage.slack.counts()
    assert (counts["start_stream"], counts["post"]) == (1, 1)
    assert 3 <= counts["update"] <= 9  # in ten seconds
    assert "word39" in text_of(stage.shown)
    assert stage.shown["metadata"]["event_payload"]["answer"] == "a1"


@pytest.mark.parametrize(("code", "tried_elsewhere"), [("missing_scope", 1), ("channel_type_not_supported", 2)])
def test_what_slack_refuses_is_remembered(stage: Stage, code: str, tried_elsewhere: int) -> None:
    stage.slack.add_channel("C2", members=("U1",))
    stage.slack.refuse("start_stream", code, times=None)
    for channel in ("C1", "C1", "C2"):
        lease = make_lease(stage.claims, make_question(stage.slack, channel=channel), stage.clock)
        stage.delivery = stage.another(lease)
        stage.grow(WORDS[:10])
        stage.delivery.finish(answer_of(WORDS[:10]))
    assert stage.slack.counts()["start_stream"] == tried_elsewhere
    stage.clock.forward(3_601)
    stage.delivery = stage.another(make_lease(stage.claims, make_question(stage.slack), stage.clock))
    stage.grow(WORDS[:10])
    assert stage.slack.counts()["start_stream"] == tried_elsewhere + 1


def test_all_workers_together_stay_below_slacks_limits(stage: Stage) -> None:
    leases = [make_lease(stage.claims, make_question(stage.slack), stage.clock) for _ in range(30)]
    deliveries = [stage.another(lease) for lease in leases]
    for word in WORDS:
        for delivery in deliveries:
            delivery.grow(word)
        stage.clock.forward(0.5)
    counts = stage.slack.counts()  # of twenty seconds
    assert counts["start_stream"] <= 10 + 20 / 60 * 18
    assert counts["append_stream"] <= 8 + 20 / 60 * 90
    assert counts["update"] <= 5 + 20 / 60 * 45
    for delivery in deliveries:
        delivery.finish(answer_of(WORDS))
    assert all("word39" in text_of(message) for message in stage.slack.own("C1"))
    assert len(stage.slack.own("C1")) == 30


class Unconfirmed:
    """A Slack whose answer to the beginning of a stream is lost on its via, `after` it was carried out or before."""

    def __init__(self, slack: FakeSlack, *, after: bool) -> None:
        self._slack = slack
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._slack, name)

    def start_stream(self, *args: Any, **kwargs: Any) -> str:
        if self._after:
            self._slack.start_stream(*args, **kwargs)
        raise UncertainCallError("Cut off.", code="unreachable", retryable=True)


@pytest.mark.parametrize("after", [True, False], ids=["there", "not there"])
def test_a_stream_that_slack_did_not_confirm_is_looked_for_at_once(stage: Stage, after: bool) -> None:
    stage.delivery = stage.another(stage.lease, Unconfirmed(stage.slack, after=after))
    stage.grow(WORDS)
    assert stage.delivery.finish(answer_of(WORDS)) == (stage.shown["ts"],)
    assert text_of(stage.shown).split() == "".join(WORDS).split()
    assert stage.shown["metadata"]["event_payload"] == {"key": stage.lease.question.key, "answer": "a1", "part": "1/1"}
    counts = stage.slack.counts()
    assert (counts["replies"], counts["stop_stream"], counts["post"]) == (1, after, not after)
    assert not stage.slack.streaming


@pytest.mark.parametrize("why", ["another's", "unreadable"])
def test_a_stream_that_cannot_be_told_from_anothers_is_left_to_the_recovery(stage: Stage, why: str) -> None:
    if why == "unreadable":
        stage.slack.refuse("replies", "ratelimited", retryable=True)
    else:
        thread = {"thread_ts": stage.lease.question.ts, "via": "thread", "user": "U2"}
        make_lease(stage.claims, make_question(stage.slack, **thread), stage.clock, "b").note(kind="stream")
    stage.delivery = stage.another(stage.lease, Unconfirmed(stage.slack, after=True))
    with pytest.raises(UncertainCallError):
        stage.grow(WORDS)
    assert (stage.lease.kind, stage.lease.shown) == ("stream", "")
    assert stage.slack.counts()["post"] == 0


def test_the_answer_takes_the_place_of_the_sign(stage: Stage) -> None:
    sign = Poster(stage.lease, stage.slack).post_first("placeholder", plain("Looking…"))
    stage.grow(WORDS)
    assert stage.delivery.finish(answer_of(WORDS)) == (sign,)
    assert stage.slack.counts()["start_stream"] == 0
    assert "word39" in text_of(stage.shown)


def test_what_could_not_be_appended_comes_with_the_next(stage: Stage) -> None:
    stage.slack.refuse("append_stream", "ratelimited", times=3, retryable=True)
    stage.grow(WORDS)
    stage.delivery.finish(answer_of(WORDS))
    assert stage.slack.counts()["update"] == 0
    assert stage.shown["blocks"][0]["text"].split() == "".join(WORDS).split()


def test_where_it_is_not_known_what_was_appended_the_end_puts_it_right(stage: Stage) -> None:
    appended = 0

    def lose(name: str, arguments: Mapping[str, Any]) -> None:
        nonlocal appended
        appended += name == "append_stream"
        if name == "append_stream" and appended == 2:
            raise UncertainCallError("Cut off.", code="unreachable", retryable=True)

    stage.slack.before = lose
    stage.grow(WORDS)
    stage.delivery.finish(answer_of(WORDS))
    assert stage.slack.counts()["update"] == 1
    assert text_of(stage.shown).split() == "".join(WORDS).split()
    assert not stage.slack.streaming


def test_a_stream_that_slack_ended_is_gone_on_with_by_changes(stage: Stage) -> None:
    stage.grow(WORDS[:10])
    stage.slack.streaming.clear()
    stage.grow(WORDS[10:])
    assert stage.delivery.finish(answer_of(WORDS)) == (stage.shown["ts"],)
    assert text_of(stage.shown).split() == "".join(WORDS).split()
    assert stage.shown["metadata"]["event_payload"]["answer"] == "a1"


def test_a_stream_that_slack_ended_before_its_end_is_put_right(stage: Stage) -> None:
    stage.grow(WORDS)
    stage.slack.streaming.clear()
    stage.delivery.finish(answer_of(WORDS))
    assert text_of(stage.shown).split() == "".join(WORDS).split()
    assert stage.slack.counts()["update"] == 1


def test_a_message_whose_looks_are_refused_comes_as_plain_text(stage: Stage) -> None:
    stage.slack.refuse("post", "invalid_blocks")
    stage.grow(WORDS, seconds=0.0)
    stage.delivery.finish(answer_of(WORDS))
    assert "word39" in stage.shown["text"]


def test_a_long_answer_goes_on_in_further_messages_that_say_which_part_they_are(stage: Stage) -> None:
    words = [f"A sentence with the number {number} in it, which is one of many.\n\n" for number in range(500)]
    stage.grow(words, seconds=0.1)
    shown = stage.delivery.finish(answer_of(words))
    messages = stage.slack.own("C1")
    parts = len(messages)
    assert parts > 1
    assert shown == tuple(message["ts"] for message in messages)
    assert [message["metadata"]["event_payload"]["part"] for message in messages] == [
        f"{number}/{parts}" for number in range(1, parts + 1)
    ]
    assert {message["thread_ts"] for message in messages} == {stage.lease.question.ts}
    assert "number 499 " in text_of(messages[-1])


def test_a_command_is_answered_at_the_end_and_to_the_asker_alone(records: Records) -> None:
    stage = Stage(records, via="command")
    stage.grow(WORDS)
    assert stage.slack.calls == []
    assert stage.delivery.finish(answer_of(WORDS)) == ()
    assert stage.slack.own("C1") == []
    [whisper] = stage.slack.ephemerals
    assert (whisper["channel"], whisper["user"]) == ("C1", "U1")
    assert "word39" in text_of(whisper)


def test_a_command_from_where_the_bot_is_not_is_answered_in_a_direct_message(records: Records) -> None:
    stage = Stage(records, via="command")
    stage.slack.refuse("post_ephemeral", "not_in_channel")
    stage.slack.add_channel("U1", members=("U1",))
    stage.delivery.finish(answer_of(WORDS))
    [message] = stage.slack.own("U1")
    assert "word39" in text_of(message)


@pytest.mark.parametrize("refused", [("start_stream", "missing_scope"), ()])
def test_an_apology_stands_below_what_was_shown(stage: Stage, refused: tuple[str, ...]) -> None:
    if refused:
        stage.slack.refuse(*refused)
    stage.grow(WORDS[:20])
    stage.delivery.apologize(phrases.MODEL_FAILED)
    assert "word3" in text_of(stage.shown)
    assert phrases.MODEL_FAILED in text_of(stage.shown)
    assert stage.shown["metadata"]["event_payload"] == {"key": stage.lease.question.key, "closed": "failed"}
    assert not stage.slack.streaming


def test_an_apology_takes_the_place_of_the_sign(stage: Stage) -> None:
    Poster(stage.lease, stage.slack).post_first("placeholder", plain("Looking…"))
    stage.delivery.apologize(phrases.TRY_AGAIN)
    assert phrases.TRY_AGAIN in text_of(stage.shown)
    assert "Looking" not in text_of(stage.shown)


def test_whoever_lost_the_question_says_no_more(stage: Stage) -> None:
    stage.grow(WORDS[:10])
    calls = len(stage.slack.calls)
    stage.clock.forward(31)
    assert stage.claims.take(stage.lease.question.key, "b", 30)
    with pytest.raises(LeaseLost):
        stage.grow(WORDS[10:])
    with pytest.raises(LeaseLost):
        stage.delivery.finish(answer_of(WORDS))
    assert len(stage.slack.calls) == calls


def test_a_lease_that_nobody_took_over_goes_on(stage: Stage) -> None:
    stage.grow(WORDS[:10])
    stage.clock.forward(31)
    stage.grow(WORDS[10:])
    stage.delivery.finish(answer_of(WORDS))
    assert "word39" in text_of(stage.shown)


def test_nothing_is_posted_that_could_not_be_noted(stage: Stage, records: Records) -> None:
    with records.engine.begin() as connection:
        connection.execute(text("ALTER TABLE lore_claims RENAME TO elsewhere"))
    with pytest.raises(RecordsError):
        stage.delivery.finish(answer_of(WORDS))
    assert stage.slack.calls == []
