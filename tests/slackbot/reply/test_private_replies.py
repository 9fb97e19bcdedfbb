"""What only the asker sees: through the command's response URL, else an ephemeral message, else a direct message."""

from __future__ import annotations

import pytest
from lore.records.records import Records
from lore.slackbot.render import phrases
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.poster import Poster
from lore.slackbot.slack_api.responses import respond
from lore.slackbot.types import SlackCallError

from tests.slackbot.reply.test_delivery import WORDS, Stage, answer_of, text_of

URL = "https://hooks.slack.com/commands/T1/1/x"
FINAL = (
    "channel_not_found",
    "not_in_channel",
    "user_not_in_channel",
    "is_archived",
    "restricted_action",
    "cannot_post",
)


@pytest.fixture
def stage(records: Records) -> Stage:
    return Stage(records, via="command", response_url=URL)


def test_a_command_is_answered_through_its_response_url(stage: Stage) -> None:
    stage.delivery.finish(answer_of(WORDS))
    assert [call.name for call in stage.slack.calls] == ["respond"]
    [(url, message)] = stage.slack.responses
    assert url == URL and "word39" in message.text


def test_where_that_is_used_up_by_an_ephemeral_message(stage: Stage) -> None:
    stage.slack.refuse("respond", "used_url", times=None)
    stage.delivery.finish(answer_of(WORDS))
    assert "word39" in stage.slack.ephemerals[0]["text"]


@pytest.mark.parametrize("code", FINAL)
def test_where_that_is_refused_by_a_direct_message_that_says_why(stage: Stage, code: str) -> None:
    stage.slack.add_channel("U1")  # a direct message goes to a person's id
    stage.slack.refuse("respond", "expired_url", times=None)
    stage.slack.refuse("post_ephemeral", code, times=None)
    stage.delivery.finish(answer_of(WORDS))
    [call] = [one for one in stage.slack.calls if one.name == "post"]
    message = call.arguments["message"]
    assert call.arguments["channel"] == "U1"
    assert message.text.startswith(phrases.shown_here(code)) and "word39" in message.text
    assert message.blocks[0]["text"]["text"] == phrases.shown_here(code)


def test_a_failure_for_the_moment_is_no_reason_for_a_direct_message(stage: Stage) -> None:
    stage.slack.refuse("respond", "unreachable", times=None, retryable=True)
    stage.slack.refuse("post_ephemeral", "ratelimited", times=None, retryable=True)
    with pytest.raises(SlackCallError):
        Poster(stage.lease, stage.slack).post_privately(plain("Hi"))  # type: ignore[arg-type]
    assert stage.slack.counts()["post"] == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.slack.com/x",
        "https://hooks.slack.com.evil.example/x",
        "https://10.0.0.1/x",
        "file:///etc/passwd",
        "x",
    ],
)
def test_only_slacks_own_addresses_are_called(url: str) -> None:
    with pytest.raises(SlackCallError) as caught:
        respond(url, {}, base_url="https://slack.com/api/", timeout=1.0)
    assert caught.value.code == "invalid_url"


def test_notes_for_the_asker_are_below_the_answer(records: Records) -> None:
    stage = Stage(records)
    stage.grow(WORDS)
    stage.delivery.finish(answer_of(WORDS), [phrases.RIGHTS_UNKNOWN, phrases.RIGHTS_UNKNOWN])
    assert str(stage.shown["blocks"]).count("I could only search public sources just now") == 1
    assert "word39" in text_of(stage.shown)
