"""Calls: repeated where that helps, ended in time, and never carried out twice."""

from __future__ import annotations

import threading

import pytest
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.caller import SlackCaller
from lore.slackbot.slack_api.errors import UncertainCallError
from lore.slackbot.types import SlackCallError

from tests.servers.slack.app import (
    Fault,
    ratelimited,
    refuses,
)
from tests.slackbot.slack_api.world import HELLO, PUBLIC, World, failed


def test_a_429_is_waited_for_as_long_as_slack_says(world: World) -> None:
    world.slack.faults.append(ratelimited("7", "chat.postMessage", times=2))
    world.api.post(PUBLIC, HELLO)
    assert world.waits == [7.0, 7.0]
    assert len(world.slack.posted(PUBLIC)) == 1


def test_a_429_is_no_failure_however_often_until_people_wait_too_long(world: World) -> None:
    world.slack.faults.append(ratelimited("20", "chat.postMessage", times=12))
    world.api.post(PUBLIC, HELLO)
    assert world.waits == [20.0] * 12
    world.waits.clear()
    world.slack.faults.append(ratelimited("301", "chat.postMessage"))
    assert failed(world, "ratelimited").retryable
    assert world.waits == []
    world.slack.faults.append(ratelimited("90", "chat.postMessage", times=4))
    assert failed(world, "ratelimited").retryable
    assert world.waits == [90.0] * 3


def test_a_caller_that_never_repeats_a_call_waits_for_none(world: World) -> None:
    world.slack.faults.append(ratelimited("1", "users.info"))
    with pytest.raises(SlackCallError):
        world.api_with(max_retries=0).user("U1")


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
    assert sum(world.waits) <= 300 and len(world.slack.called("users.info")) < 60


@pytest.mark.parametrize("end", ["/api", "/api/"])
def test_the_address_of_slacks_api_needs_no_slash_at_its_end(world: World, end: str) -> None:
    address = world.slack.base_url.removesuffix("/api/") + end
    caller = SlackCaller(world.slack.bot_token, address, 5.0, max_retries=0)
    assert BotApi(caller).user("U1")["id"] == "U1"


def test_tries_end(world: World) -> None:
    world.slack.faults.append(Fault("users.info", 502, body=b"", times=99))
    with pytest.raises(SlackCallError) as caught:
        world.api.user("U1")
    assert (caught.value.code, caught.value.retryable) == ("unreachable", True)
    assert len(world.slack.called("users.info")) == 4


def test_nobody_there_is_an_error_that_says_so(world: World) -> None:
    caller = SlackCaller("xoxb-secret", "http://127.0.0.1:9/api/", 1.0, max_retries=1, sleep=world.waits.append)
    api = BotApi(caller)
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
    caller = SlackCaller(world.slack.bot_token, world.slack.base_url, 5.0, max_retries=3)
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
