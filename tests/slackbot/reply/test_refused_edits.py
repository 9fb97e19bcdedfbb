"""A finished answer that Slack takes no more where it began: it is posted anew, whole, and nothing stays open."""

from __future__ import annotations

import pytest
from lore.records.records import Records
from lore.slackbot.types import SlackCallError

from tests.slackbot.reply.test_delivery import WORDS, Stage, answer_of, text_of

FINAL = ("edit_window_closed", "message_not_found", "cant_update_message", "streaming_state_conflict", "unknown_method")


@pytest.fixture
def stage(records: Records) -> Stage:
    return Stage(records)


def is_whole(stage: Stage, posted: tuple[str, ...]) -> bool:
    """Whether the last message of the bot is the answer, and the records are told where it is."""
    message = stage.slack.own("C1")[-1]
    payload = message["metadata"]["event_payload"]
    return (
        "".join(WORDS).strip() in text_of(message)
        and (payload["answer"], payload["part"]) == ("a1", "1/1")
        and posted == (message["ts"],) == (stage.lease.shown,)
    )


@pytest.mark.parametrize("code", FINAL)
@pytest.mark.parametrize("streams", [True, False], ids=["stream", "update"])
def test_an_answer_that_cannot_be_ended_is_posted_anew(stage: Stage, code: str, streams: bool) -> None:
    if not streams:
        stage.slack.refuse("start_stream", "missing_scope", times=None)
    stage.grow(WORDS[:20])
    for verb in ("append_stream", "stop_stream", "update"):
        stage.slack.refuse(verb, code, times=None)
    stage.grow(WORDS[20:])
    assert is_whole(stage, stage.delivery.finish(answer_of(WORDS)))
    assert len(stage.slack.own("C1")) == 1, "the half one is deleted"


@pytest.mark.parametrize("code", FINAL)
def test_a_piece_that_is_refused_ends_the_stream_and_the_answer_takes_its_place(stage: Stage, code: str) -> None:
    stage.grow(WORDS[:20])
    stage.slack.refuse("append_stream", code)
    stage.grow(WORDS[20:])
    assert is_whole(stage, stage.delivery.finish(answer_of(WORDS)))
    assert len(stage.slack.own("C1")) == 1 and not stage.slack.streaming


@pytest.mark.parametrize("code", ["msg_too_long", "invalid_blocks"])
def test_a_piece_of_a_wrong_form_comes_with_all_others_at_the_end(stage: Stage, code: str) -> None:
    stage.grow(WORDS[:20])
    stage.slack.refuse("append_stream", code)
    stage.grow(WORDS[20:])
    assert is_whole(stage, stage.delivery.finish(answer_of(WORDS)))


def test_a_half_message_that_cannot_be_deleted_stays_above(stage: Stage) -> None:
    stage.slack.refuse("start_stream", "missing_scope", times=None)
    stage.grow(WORDS[:20])
    stage.slack.refuse("update", "edit_window_closed", times=None)
    stage.slack.refuse("delete", "cant_delete_message", times=None)
    assert is_whole(stage, stage.delivery.finish(answer_of(WORDS)))
    assert len(stage.slack.own("C1")) == 2


def test_a_message_that_was_deleted_meanwhile_is_posted_anew(stage: Stage) -> None:
    stage.slack.refuse("start_stream", "missing_scope")
    stage.grow(WORDS[:20])
    stage.slack.delete("C1", stage.shown["ts"])
    stage.grow(WORDS[20:])
    assert is_whole(stage, stage.delivery.finish(answer_of(WORDS)))


@pytest.mark.parametrize("code", FINAL)
def test_an_apology_that_cannot_be_added_is_posted(stage: Stage, code: str) -> None:
    stage.grow(WORDS[:20])
    stage.slack.refuse("stop_stream", code, times=None)
    stage.slack.refuse("update", code, times=None)
    stage.delivery.apologize("The model failed.")
    assert "The model failed." in str(stage.slack.own("C1")[-1]["blocks"])


def test_who_cannot_be_answered_there_is_told_why_in_a_direct_message(stage: Stage) -> None:
    stage.delivery.explain(SlackCallError("Refused.", code="not_in_channel"))
    [call] = [one for one in stage.slack.calls if one.name == "post"]
    assert call.arguments["channel"] == "U1" and "not a member" in call.arguments["message"].text


def test_where_that_is_refused_too_only_the_asker_sees_it_there(stage: Stage) -> None:
    stage.slack.refuse("post", "restricted_action", times=None)
    stage.delivery.explain(SlackCallError("Refused.", code="restricted_action"))
    assert "restricted_action" in str(stage.slack.ephemerals[0]["blocks"])
    stage.slack.refuse("post_ephemeral", "restricted_action", times=None)
    stage.delivery.explain(SlackCallError("Refused.", code="restricted_action"))
