"""What the bot asks of Slack, against a small Slack: what is sent, what is repeated, and what an error says."""

from __future__ import annotations

import pytest
from lore.slackbot.types import BotIdentity, SlackCallError, SlackMessage

from tests.servers.slack.app import (
    BOT_USER,
    Fault,
    channel,
)
from tests.slackbot.slack_api.world import DIRECT, HELLO, PRIVATE, PUBLIC, World, failed


def test_it_knows_who_it_is(world: World) -> None:
    assert world.api.identity() == BotIdentity("T1", "UBOT", "BBOT", "lore", "https://acme.slack.com")


def test_a_message_is_posted_in_a_thread_with_metadata_and_nothing_unfurled(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    ts = world.api.post(PUBLIC, HELLO, thread_ts=asked["ts"], metadata={"answer": "a1"})
    posted = world.slack.thread(PUBLIC, asked["ts"])[-1]
    assert (posted["ts"], posted["text"]) == (ts, "Hello")
    assert posted["blocks"][0]["text"] == "**Hello**"
    assert posted["metadata"] == {"event_type": "lore_answer", "event_payload": {"answer": "a1"}}
    sent = world.slack.called("chat.postMessage")[0].args
    assert sent["unfurl_links"] is False and sent["unfurl_media"] is False
    assert not {"link_names", "parse", "mrkdwn", "username", "reply_broadcast"} & set(sent)


def test_what_one_person_sees_is_updated_and_deleted_as_slack_has_it(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    world.api.post_ephemeral(PUBLIC, "U1", HELLO, thread_ts=asked["ts"])
    assert world.slack.methods.ephemeral[0]["user"] == "U1"
    ts = world.api.post(PUBLIC, HELLO)
    world.api.update(PUBLIC, ts, SlackMessage((), "Changed"), metadata={"answer": "a2"})
    changed = world.slack.posted(PUBLIC)[0]
    assert (changed["text"], changed["blocks"], changed["metadata"]["event_payload"]) == (
        "Changed",
        [],
        {"answer": "a2"},
    )
    world.api.delete(PUBLIC, ts)
    assert world.slack.posted(PUBLIC) == []


def test_a_stream_grows_and_ends_with_blocks_below(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    ts = world.api.start_stream(PUBLIC, asked["ts"], team="T1", user="U1", markdown="One")
    world.api.append_stream(PUBLIC, ts, " two")
    world.api.stop_stream(PUBLIC, ts, markdown=" three", blocks=[{"type": "divider"}], metadata={"answer": "a3"})
    streamed = world.slack.answers(PUBLIC, asked["ts"])[0]
    assert streamed["text"] == "One two three"
    assert [block["type"] for block in streamed["blocks"]] == ["markdown", "divider"]
    assert streamed["metadata"]["event_payload"] == {"answer": "a3"}
    with pytest.raises(SlackCallError) as caught:
        world.api.append_stream(PUBLIC, ts, "more")
    assert caught.value.code == "message_not_in_streaming_state"


def test_status_and_prompts_of_the_assistant_pane(world: World) -> None:
    pane, thread_ts = world.slack.open_assistant("U1")
    world.api.set_prompts(pane, thread_ts, ["a?", "b?", "c?", "d?", "e?"], title="Ask")
    prompts = world.slack.methods.prompts[pane, thread_ts]
    assert [one["message"] for one in prompts["prompts"]] == ["a?", "b?", "c?", "d?"] and prompts["title"] == "Ask"
    world.api.set_status(pane, thread_ts, "is reading …")
    assert world.slack.methods.status == {(pane, thread_ts): "is reading …"}
    world.api.post(pane, HELLO, thread_ts=thread_ts)
    assert world.slack.methods.status == {}


def test_a_thread_is_read_with_the_metadata_of_our_own(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    world.api.post(PUBLIC, HELLO, thread_ts=asked["ts"], metadata={"answer": "a1"})
    world.slack.say("U2", PUBLIC, "Thanks", thread_ts=asked["ts"])
    found = world.api.replies(PUBLIC, asked["ts"])
    assert [one["text"] for one in found] == ["How?", "Hello", "Thanks"]
    assert found[1]["metadata"]["event_payload"] == {"answer": "a1"}
    later = world.api.replies(PUBLIC, asked["ts"], oldest=found[1]["ts"])
    assert [one["text"] for one in later] == ["How?", "Thanks"]


def test_of_a_long_thread_the_first_and_the_last_are_given(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?", send=False)
    for number in range(450):
        world.slack.say("U2", PUBLIC, f"{number}", thread_ts=asked["ts"], send=False)
    found = world.api.replies(PUBLIC, asked["ts"], limit=3)
    assert [one["text"] for one in found] == ["How?", "448", "449"]
    assert len(world.api.replies(PUBLIC, asked["ts"], limit=1_000)) == 451


def test_the_last_messages_of_a_conversation_come_oldest_first(world: World) -> None:
    sent = [world.slack.say("U1", DIRECT, text) for text in ("one", "two", "three", "four")]
    world.slack.say("U1", DIRECT, "in a thread", thread_ts=sent[0]["ts"])
    assert [one["text"] for one in world.api.history(DIRECT, limit=2)] == ["three", "four"]
    assert [one["text"] for one in world.api.history(DIRECT, latest=sent[2]["ts"], limit=2)] == ["two", "three"]


def test_one_message_is_found_also_in_a_thread_and_none_where_it_was_deleted(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    reply = world.slack.say("U2", PUBLIC, "So.", thread_ts=asked["ts"])
    for wanted in (asked, reply):
        found = world.api.message(PUBLIC, wanted["ts"])
        assert found is not None and found["text"] == wanted["text"]
    assert world.api.message(PUBLIC, "1.000001") is None
    world.slack.remove(PUBLIC, asked["ts"])
    assert world.api.message(PUBLIC, asked["ts"]) is None, "a tombstone is no message"


def test_what_slack_knows_of_channels_and_people(world: World) -> None:
    assert world.api.channel(PRIVATE)["is_private"] is True
    assert world.api.user("U3")["is_restricted"] is True
    assert world.api.private_channels_of("U1") == {PRIVATE}, "those of which the bot is no member cannot be seen"
    assert world.api.private_channels_of("U2") == frozenset()
    assert world.api.is_member(PRIVATE, "U1") and not world.api.is_member(PRIVATE, "U2")


def test_members_are_looked_for_on_all_pages(world: World) -> None:
    world.slack.workspace.channels[PUBLIC]["members"] = [f"UX{n}" for n in range(2_500)] + ["U2", BOT_USER]
    assert world.api.is_member(PUBLIC, "U2")
    assert len(world.slack.called("conversations.members")) == 3


def test_private_channels_are_read_to_the_last_page(world: World) -> None:
    for number in range(450):
        made = channel(f"CP{number}", private=True, members=["U1", BOT_USER])
        world.slack.workspace.channels[made["id"]] = made
    assert len(world.api.private_channels_of("U1")) == 451


def test_a_permalink(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    link = f"https://acme.slack.com/archives/{PUBLIC}/p{asked['ts'].replace('.', '')}"
    assert world.api.permalink(PUBLIC, asked["ts"]) == link


# --------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("place", "code", "word"),
    [
        ("C3", "channel_not_found", "invite it again"),
        ("C4", "not_in_channel", "/invite"),
        ("C5", "is_archived", "archived"),
        ("C99", "channel_not_found", "deleted"),
    ],
)
def test_a_refusal_says_where_what_and_what_to_do(world: World, place: str, code: str, word: str) -> None:
    with pytest.raises(SlackCallError) as caught:
        world.api.post(place, HELLO)
    error = caught.value
    assert (error.code, error.retryable) == (code, False)
    assert place in error.message and "chat.postMessage" in error.message and code in error.message
    assert word in error.remedy
    assert world.waits == [], "repeating does not help"


def test_a_missing_scope_is_named(world: World) -> None:
    world.slack.scopes.discard("users:read")
    with pytest.raises(SlackCallError) as caught:
        world.api.user("U1")
    assert caught.value.code == "missing_scope"
    assert "users:read" in caught.value.message and "users:read" in caught.value.remedy


def test_a_revoked_token_is_told_once_and_never_repeated(world: World) -> None:
    world.slack.revoke(world.slack.bot_token)
    error = failed(world, "token_revoked")
    assert "LORE_SLACK_TOKEN" in error.remedy
    with pytest.raises(SlackCallError):
        world.api.user("U1")
    assert [one.code for one in world.deaths] == ["token_revoked"]


@pytest.mark.parametrize("text", ["x" * 12_001, ""])
def test_a_message_over_slacks_limits_is_refused_and_not_repeated(world: World, text: str) -> None:
    with pytest.raises(SlackCallError) as caught:
        world.api.post(PUBLIC, SlackMessage(({"type": "markdown", "text": text},), "x"))
    assert caught.value.code == "invalid_blocks"
    assert len(world.slack.called("chat.postMessage")) == 1


def test_what_a_stranger_answers_is_not_repeated_in_errors(world: World) -> None:
    world.slack.faults.append(
        Fault("users.info", 200, body=b'{"ok": false, "error": "<script> xoxb-1 </script>"}', times=9)
    )
    with pytest.raises(SlackCallError) as caught:
        world.api.user("U1")
    assert "script" not in str(caught.value) and caught.value.code == "unreachable"


# ---------------------------------------------------------------------------------------------------------- repeats


# ------------------------------------------------------------------------------------------ nothing is done twice
