"""What the bot asks of Slack, against a small Slack: what is sent, what is repeated, and what an error says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.caller import SlackCaller, make_client
from lore.slackbot.slack_api.errors import UncertainCallError
from lore.slackbot.types import BotIdentity, SlackCallError, SlackMessage

from tests.servers.slack.app import (
    BOT_USER,
    Fault,
    SlackApp,
    channel,
    direct,
    group_direct,
    person,
    ratelimited,
    refuses,
)

HELLO = SlackMessage(({"type": "markdown", "text": "**Hello**"},), "Hello")
PUBLIC, PRIVATE, DIRECT = "C1", "C2", "D1"


@dataclass
class World:
    """A workspace, the bot's hand in it, what it slept, and what it was told of its token."""

    slack: SlackApp
    waits: list[float] = field(default_factory=list)
    deaths: list[SlackCallError] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.api: BotApi = self.api_with()

    def api_with(self, *, token: str = "", timeout: float = 5.0, max_retries: int = 3) -> BotApi:
        client = make_client(token or self.slack.bot_token, self.slack.base_url, timeout)
        caller = SlackCaller(
            client, max_retries=max_retries, sleep=self.waits.append, chance=lambda: 0.0, on_dead=self.deaths.append
        )
        return BotApi(caller)


@pytest.fixture
def world() -> Iterator[World]:
    channels = [
        channel(PUBLIC, members=["U1", "U2", BOT_USER]),
        channel(PRIVATE, private=True, members=["U1", BOT_USER]),
        channel("C3", private=True, members=["U1"]),
        channel("C4", members=["U1"]),
        channel("C5", members=["U1", BOT_USER], archived=True),
        direct(DIRECT, "U1"),
        group_direct("G1", "U1", "U2"),
    ]
    with SlackApp(channels, [person("U1"), person("U2"), person("U3", guest=True)]) as slack:
        yield World(slack)


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


def failed(world: World, code: str) -> SlackCallError:
    """The error that a call to post ends with, which has this code."""
    with pytest.raises(SlackCallError) as caught:
        world.api.post(PUBLIC, HELLO, thread_ts="")
    assert caught.value.code == code
    return caught.value


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


def test_a_429_is_waited_for_as_long_as_slack_says(world: World) -> None:
    world.slack.faults.append(ratelimited("7", "chat.postMessage", times=2))
    world.api.post(PUBLIC, HELLO)
    assert world.waits == [7.0, 7.0]
    assert len(world.slack.posted(PUBLIC)) == 1


def test_a_429_that_wants_too_long_or_too_often_is_an_error_to_come_back_to(world: World) -> None:
    world.slack.faults.append(ratelimited("120", "chat.postMessage"))
    assert failed(world, "ratelimited").retryable
    assert world.waits == []
    world.slack.faults.append(ratelimited("1", "chat.postMessage", times=4))
    assert failed(world, "ratelimited").retryable
    assert world.waits == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "fault",
    [
        Fault("users.info", 503, body=b"<html>", times=2),
        Fault("users.info", 500, body=b"", times=2),
        Fault("users.info", cut=True, times=2),
        Fault("users.info", 200, body=b"not json", times=2),
        Fault("users.info", 200, body=b"[1]", times=2),
        Fault("users.info", 200, body=b"null", times=2),
        Fault("users.info", 200, body=b"[" * 100_000, times=2),
        refuses("internal_error", "users.info", times=2),
    ],
    ids=["503", "500", "cut", "no json", "a list", "null", "endless json", "internal_error"],
)
def test_what_passes_is_tried_again(world: World, fault: Fault) -> None:
    world.slack.faults.append(fault)
    assert world.api.user("U1")["id"] == "U1"
    assert world.waits == [0.375, 0.75]


@pytest.mark.parametrize("asked", ["", "-1", "soon", "1.5", "Mon, 30 Nov 2026 12:00:00 GMT", "\xb2", "1" * 400, "nan"])
def test_a_wait_that_is_no_number_of_seconds_is_chosen_by_ourselves(world: World, asked: str) -> None:
    world.slack.faults.append(ratelimited(asked, "users.info"))
    assert world.api.user("U1")["id"] == "U1"
    assert world.waits == [0.375]


def test_no_wait_at_all_is_no_endless_loop(world: World) -> None:
    world.slack.faults.append(ratelimited("0", "users.info", times=99))
    with pytest.raises(SlackCallError):
        world.api.user("U1")
    assert len(world.slack.called("users.info")) == 4


def test_tries_end(world: World) -> None:
    world.slack.faults.append(Fault("users.info", 502, body=b"", times=99))
    with pytest.raises(SlackCallError) as caught:
        world.api.user("U1")
    assert (caught.value.code, caught.value.retryable) == ("unreachable", True)
    assert len(world.slack.called("users.info")) == 4


def test_nobody_there_is_an_error_that_says_so(world: World) -> None:
    client = make_client("xoxb-secret", "http://127.0.0.1:9/api/", 1.0)
    api = BotApi(SlackCaller(client, max_retries=1, sleep=world.waits.append))
    with pytest.raises(SlackCallError) as caught:
        api.post(PUBLIC, HELLO)
    assert caught.value.code == "unreachable" and "refused" in caught.value.message
    assert len(world.waits) == 1, "nothing was sent, so that it may be tried again"
    assert "xoxb" not in f"{caught.value!r}{caught.value}"


def test_an_answer_that_takes_too_long_is_an_error(world: World) -> None:
    world.slack.faults.append(Fault("users.info", delay=1.5))
    api = world.api_with(timeout=1.0, max_retries=0)
    with pytest.raises(SlackCallError) as caught:
        api.user("U1")
    assert "in time" in caught.value.message


def test_a_bot_that_leaves_waits_for_slack_no_longer(world: World) -> None:
    caller = SlackCaller(make_client(world.slack.bot_token, world.slack.base_url, 5.0), max_retries=3)
    failures: list[str] = []

    def call() -> None:
        try:
            BotApi(caller).user("U1")
        except SlackCallError as error:
            failures.append(error.code)

    world.slack.faults.append(ratelimited("25", "users.info", times=9))
    waiting = threading.Thread(target=call, daemon=True)
    waiting.start()
    world.slack.wait(lambda: world.slack.called("users.info"))
    caller.leave(0)
    waiting.join(10)
    call()
    assert len(failures) == 2 and failures[1] == "unreachable"
    assert len(world.slack.called("users.info")) == 1


# ------------------------------------------------------------------------------------------ nothing is done twice


def test_a_message_whose_answer_was_lost_is_found_in_its_thread_and_not_posted_again(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    world.slack.faults.append(Fault("chat.postMessage", cut=True))
    ts = world.api.post(PUBLIC, HELLO, thread_ts=asked["ts"], metadata={"answer": "a1", "part": "1"})
    assert [one["ts"] for one in world.slack.posted(PUBLIC)] == [ts]


def test_it_is_found_too_where_slack_keeps_its_text_in_another_form(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    mark = {"answer": "a1", "part": "1"}
    ts = world.api.post(PUBLIC, HELLO, thread_ts=asked["ts"], metadata=mark)
    world.slack.workspace.messages[PUBLIC][ts]["text"] = "See <https://docs.example.com>"
    world.slack.faults.append(Fault("chat.postMessage", 500, body=b""))
    assert world.api.post(PUBLIC, HELLO, thread_ts=asked["ts"], metadata=mark) == ts


@pytest.mark.parametrize("body", [b'{"ok": true}', b'{"ok": true, "ts": 5}', b'{"ok": true, "ts": "later"}'])
def test_a_success_that_names_no_message_is_not_believed(world: World, body: bytes) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    world.slack.faults += [Fault(f"chat.{method}", 200, body=body) for method in ("postMessage", "startStream")]
    ts = world.api.post(PUBLIC, HELLO, thread_ts=asked["ts"], metadata={"key": "k"})
    assert [one["ts"] for one in world.slack.posted(PUBLIC)] == [ts]
    with pytest.raises(UncertainCallError):
        world.api.start_stream(PUBLIC, asked["ts"], team="T1", user="U1", markdown="One")


def test_a_bot_that_is_not_told_who_it_is_does_not_begin(world: World) -> None:
    world.slack.faults.append(Fault("auth.test", 200, body=b'{"ok": true, "team_id": "T1", "user_id": ""}'))
    with pytest.raises(SlackCallError):
        world.api_with().identity()


def test_a_message_that_was_lost_itself_is_posted_again(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    world.slack.faults.append(Fault("chat.postMessage", 500, body=b""))
    ts = world.api.post(PUBLIC, HELLO, thread_ts=asked["ts"], metadata={"answer": "a1", "part": "1"})
    assert [one["ts"] for one in world.slack.posted(PUBLIC)] == [ts]


def test_where_it_cannot_be_known_whether_it_came_through_nothing_is_posted_again(world: World) -> None:
    world.slack.faults.append(Fault("chat.postMessage", cut=True))
    assert failed(world, "unreachable").retryable
    assert len(world.slack.posted(PUBLIC)) == 1


def test_a_piece_of_a_stream_is_never_sent_twice(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    ts = world.api.start_stream(PUBLIC, asked["ts"], team="T1", user="U1", markdown="One")
    world.slack.faults.append(Fault("chat.appendStream", cut=True))
    with pytest.raises(SlackCallError):
        world.api.append_stream(PUBLIC, ts, " two")
    assert world.slack.workspace.messages[PUBLIC][ts]["text"] == "One two"


def test_an_end_or_a_removal_that_came_through_at_once_is_no_failure(world: World) -> None:
    asked = world.slack.say("U1", PUBLIC, "How?")
    ts = world.api.start_stream(PUBLIC, asked["ts"], team="T1", user="U1", markdown="One")
    world.slack.faults += [Fault("chat.stopStream", cut=True), Fault("chat.delete", cut=True)]
    world.api.stop_stream(PUBLIC, ts)
    world.api.delete(PUBLIC, ts)
    assert world.slack.posted(PUBLIC) == []


def test_removing_what_is_gone_is_a_refusal_where_it_was_tried_once(world: World) -> None:
    with pytest.raises(SlackCallError) as caught:
        world.api.delete(PUBLIC, "1.000001")
    assert caught.value.code == "message_not_found"


def test_a_modal_is_not_waited_for_longer_than_its_trigger_is_good(world: World) -> None:
    world.slack.methods.triggers["t1"] = "U1"
    title = {"type": "plain_text", "text": "Why?"}
    view = {"type": "modal", "title": title, "blocks": [{"type": "divider"}]}
    world.slack.faults.append(ratelimited("2", "views.open"))
    with pytest.raises(SlackCallError) as caught:
        world.api.open_view("t1", view)
    assert caught.value.code == "ratelimited" and world.waits == []
    world.api.open_view("t1", view)
    assert [one["opened_for"] for one in world.slack.methods.views] == ["U1"]
