"""Recovery: wherever a process dies, each question ends in one answer, or in one message that says it broke off."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from lore.records.records import Records
from lore.slackbot.queue.leases import HeldLeases
from lore.slackbot.render import phrases
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.poster import Poster
from lore.types import Question

from tests.slackbot.queue.processes import (
    PIECES,
    Killed,
    Mortal,
    World,
    is_apology,
    is_whole,
)
from tests.slackbot.queues import Scripted, make_question, shown_key

MUTE = frozenset({"identity", "replies", "message"})


# ------------------------------------------------------------------------------------------------ dying at every moment


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("status", [True, False], ids=["status", "placeholder"])
@pytest.mark.parametrize("streams", [True, False], ids=["stream", "update"])
def test_whenever_a_process_dies_there_is_one_answer_or_apology(
    records: Records, streams: bool, status: bool, after: bool
) -> None:
    moment, seen = 0, set()
    while True:
        moment += 1
        world = World(records)
        world.slack.start += 1_000 * moment  # so that its messages and keys are others
        if not streams:
            world.slack.refuse("start_stream", "missing_scope", times=None)
        if not status:
            world.slack.refuse("set_status", "missing_scope", times=None)
        question = make_question(world.slack)
        mortal = Mortal(world.slack, moment, after=after)
        try:
            world.process("dying", mortal).answer(question)
            break  # it had done all before that moment
        except Killed:
            pass
        world.clock.forward(31)
        world.recover()
        message = world.shown
        assert is_whole(message) != is_apology(message), f"it died {moment} calls after it began"
        assert not world.slack.streaming
        assert message["thread_ts"] == question.ts
        world.assert_finished(question)
        seen.add("whole" if is_whole(message) else "apology")
    assert moment > 5
    assert seen == {"whole", "apology"}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("noted", [{}, {"kind": "stream"}], ids=["nothing shown", "stream"])
def test_whenever_the_recovering_process_dies_the_next_one_ends_it(
    records: Records, noted: dict[str, str], after: bool
) -> None:
    moment = 0
    while True:
        moment += 1
        world = World(records)
        world.slack.start += 1_000 * moment
        question = make_question(world.slack)
        if noted:
            world.slack.start_stream("C1", question.ts, team="T1", user="U1", markdown="One sen")
        world.left_by_a_dead_one(question, **noted)
        try:
            world.process("dying", Mortal(world.slack, moment, after=after)).queue.recover()
            break
        except Killed:
            pass
        world.clock.forward(31)
        world.recover()
        assert is_whole(world.shown) != is_apology(world.shown), f"it died {moment} calls after it began"
        assert not world.slack.streaming
        world.assert_finished(question)
    assert moment > 2


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("via", ["direct", "command"])
@pytest.mark.parametrize("what", ["greet", "forget_me"])
def test_whenever_a_process_dies_a_courtesy_is_done_and_nothing_is_asked(
    records: Records, what: str, via: str, after: bool
) -> None:
    moment = 0
    while True:
        moment += 1
        world = World(records)
        world.slack.start += 1_000 * moment
        question = make_question(world.slack, "forget me", via=via)
        question = replace(question, key=f"{question.key}:{moment}")
        process = world.process("dying", Mortal(world.slack, moment, after=after))
        try:
            getattr(process.quick_replies, what)(question)
            break
        except Killed:
            pass
        world.clock.forward(31)
        assert world.recover().pipeline.asked == []
        said = world.slack.ephemerals if via == "command" else world.slack.own("C1")
        words = "I deleted 1 question" if what == "forget_me" else "What would you like to know?"
        assert all(words in one["text"] for one in said)
        assert len(said) == (1 + after if via == "command" else 1)  # nobody can look for what one person alone sees
        assert set(world.forgotten) == ({"slack:T1:U1"} if what == "forget_me" else set())
        world.assert_finished(question)
    assert moment > 1


def test_a_courtesy_that_slack_does_not_take_for_the_moment_is_done_later(world: World) -> None:
    world.slack.refuse("post", "unreachable", retryable=True)
    question = make_question(world.slack, "", via="direct")
    world.process("a").quick_replies.greet(question)
    assert world.slack.own("C1") == []
    world.clock.forward(31)
    world.recover()
    assert "What would you like to know?" in world.shown["text"]
    world.assert_finished(question)


def test_a_stream_of_another_question_in_the_thread_goes_on(world: World) -> None:
    dead = make_question(world.slack, "first")
    alive = make_question(world.slack, "second", user="U2", thread_ts=dead.ts, via="thread")
    streams = [
        world.slack.start_stream("C1", dead.ts, team="T1", user=user, markdown="One sen") for user in ("U2", "U1")
    ]
    world.left_by_a_dead_one(dead, kind="stream")
    lease = HeldLeases(world.claims, "alive", clock=world.clock).acquire(alive)
    assert lease
    lease.note(kind="stream", shown=streams[0])
    world.recover()
    assert [is_apology(message) for message in world.slack.own("C1")] == [False, True]
    assert world.slack.streaming == {("C1", streams[0])}
    assert shown_key(world.slack.own("C1")[1]) == dead.key


# ------------------------------------------------------------------------------------------------------- one by one


def test_where_nothing_was_shown_the_question_is_read_again_and_answered(world: World) -> None:
    question = world.left_by_a_dead_one(make_question(world.slack, "How do I *rotate* a key?"))
    process = world.recover()
    assert [question.text for question in process.pipeline.asked] == ["How do I **rotate** a key?"]
    assert process.pipeline.asked[0].asker == "slack:T1:U1"
    assert is_whole(world.shown)
    world.assert_finished(question)


def test_a_lease_that_did_not_end_is_left_alone(world: World) -> None:
    HeldLeases(world.claims, "alive", clock=world.clock).acquire(make_question(world.slack))
    world.clock.forward(29)
    assert world.process().queue.recover() == 0
    assert world.slack.own("C1") == []


def test_what_this_process_is_late_to_extend_is_not_taken_from_itself(world: World) -> None:
    process = world.process()
    assert process.leases.acquire(make_question(world.slack))
    world.clock.forward(31)
    assert process.queue.recover() == 0
    process.leases.extend()
    assert world.claims.expired() == []


def test_a_question_that_was_deleted_meanwhile_is_not_answered(world: World) -> None:
    question = make_question(world.slack)
    del world.slack.messages["C1"][question.ts]
    world.left_by_a_dead_one(question)
    world.recover()
    assert world.slack.own("C1") == []
    world.assert_finished(question)


def test_the_words_of_a_command_are_gone_so_that_there_is_an_apology(world: World) -> None:
    question = world.left_by_a_dead_one(make_question(world.slack, via="command"))
    world.recover()
    assert [(one["user"], one["text"]) for one in world.slack.ephemerals] == [("U1", phrases.APOLOGY)]
    world.assert_finished(question)


def test_where_nobody_can_tell_whether_a_command_was_answered_that_is_said(world: World) -> None:
    question = world.left_by_a_dead_one(make_question(world.slack, via="command"), kind="ephemeral")
    world.recover()
    assert [one["text"] for one in world.slack.ephemerals] == [phrases.UNSURE]
    world.assert_finished(question)


def test_an_answer_that_was_whole_is_left_as_it_is(world: World) -> None:
    question = make_question(world.slack)
    metadata = {"key": question.key, "answer": "a1", "part": "1/1"}
    ts = world.slack.post("C1", plain("Rotate it."), thread_ts=question.ts, metadata=metadata)
    world.left_by_a_dead_one(question, kind="message")  # it died before it noted where
    process = world.recover()
    assert world.shown["text"] == "Rotate it."
    assert process.pipeline.asked == []
    assert world.places.answer_at("T1", "C1", ts) == "a1"
    world.assert_finished(question)


def test_an_answer_whose_further_parts_are_missing_says_so(world: World) -> None:
    question = make_question(world.slack)
    metadata = {"key": question.key, "answer": "a1", "part": "1/3"}
    ts = world.slack.post("C1", plain("Rotate it."), thread_ts=question.ts, metadata=metadata)
    world.left_by_a_dead_one(question, kind="message", shown=ts)
    world.recover()
    first, second = world.slack.own("C1")
    assert first["text"] == "Rotate it."
    assert second["text"] == phrases.APOLOGY
    assert world.places.answer_at("T1", "C1", ts) == "a1"
    world.assert_finished(question)


def test_a_stream_that_slack_ended_meanwhile_gets_the_apology_by_a_change(world: World) -> None:
    question = make_question(world.slack)
    ts = world.slack.start_stream("C1", question.ts, team="T1", user="U1", markdown="One sentence.")
    world.slack.streaming.clear()
    world.left_by_a_dead_one(question, kind="stream", shown=ts)
    world.recover()
    assert is_apology(world.shown)
    assert "One sentence." in world.shown["text"]
    world.assert_finished(question)


def test_a_message_that_slack_lets_nobody_change_gets_the_apology_below_it(world: World) -> None:
    question = make_question(world.slack)
    ts = world.slack.post("C1", plain("One sen"), thread_ts=question.ts, metadata={"key": question.key})
    world.slack.refuse("update", "invalid_blocks")
    world.left_by_a_dead_one(question, kind="message", shown=ts)
    world.recover()
    assert [message["text"] for message in world.slack.own("C1")] == ["One sen", phrases.APOLOGY]
    world.assert_finished(question)


def test_a_sign_that_was_left_becomes_the_answer(world: World) -> None:
    question = make_question(world.slack)
    lease = HeldLeases(world.claims, "dead", clock=world.clock).acquire(question)
    assert lease
    ts = Poster(lease, world.slack).post_first("placeholder", plain("Looking…"))
    world.clock.forward(31)
    world.recover()
    assert world.shown["ts"] == ts
    assert is_whole(world.shown)
    world.assert_finished(question)


def test_what_fails_again_and_again_ends_in_an_apology(world: World) -> None:
    question = world.left_by_a_dead_one(make_question(world.slack))
    world.slack.refuse("start_stream", "unreachable", times=None, retryable=True)
    world.slack.refuse("post", "unreachable", times=2, retryable=True)
    for attempt in range(6):
        world.recover(f"attempt {attempt}")
        world.clock.forward(31)
    assert is_apology(world.shown)
    world.assert_finished(question)


def test_what_cannot_even_end_in_an_apology_is_given_up(world: World, caplog: pytest.LogCaptureFixture) -> None:
    question = world.left_by_a_dead_one(make_question(world.slack))
    for verb in ("post", "start_stream", "message"):
        world.slack.refuse(verb, "unreachable", times=None, retryable=True)
    for attempt in range(12):
        world.recover(f"attempt {attempt}")
        world.clock.forward(31)
    assert "Gave up" in caplog.text
    assert world.slack.counts()["post"] < 12
    world.assert_finished(question)


def test_a_channel_that_is_gone_ends_it_with_one_line(world: World, caplog: pytest.LogCaptureFixture) -> None:
    questions = [world.left_by_a_dead_one(make_question(world.slack)) for _ in range(3)]
    world.slack.channels["C1"]["is_member"] = False
    world.recover()
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1
    for question in questions:
        world.assert_finished(question)


def test_without_room_it_waits_where_it_is(world: World) -> None:
    question = world.left_by_a_dead_one(make_question(world.slack))
    process = world.process()
    process.waiting.room = False
    assert process.queue.recover() == 0
    [claim] = world.claims.expired()
    assert (claim.key, claim.attempts) == (question.key, 1)


def test_two_that_recover_at_once_give_one_answer(world: World) -> None:
    question = world.left_by_a_dead_one(make_question(world.slack))
    second = world.process("c")

    def between(number: int, question: Question) -> None:
        if number == 0:
            assert second.queue.recover() == 0  # the first one has it

    world.process("b", pipeline=Scripted(PIECES, between)).queue.recover()
    assert is_whole(world.shown)
    assert second.pipeline.asked == []
    world.assert_finished(question)


def test_what_is_delivered_again_after_a_crash_is_left_to_the_recovery(world: World) -> None:
    question = world.left_by_a_dead_one(make_question(world.slack))
    assert world.process().leases.acquire(question) is None
    world.recover()
    assert is_whole(world.shown)
