"""Slack when it fails, shifts, limits and lies: nothing is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lore.errors import SourceError

from tests.contracts.source import ids, last_cursor
from tests.servers.github import Fault
from tests.servers.slack.web_api import ratelimited, refuses
from tests.sources.slack.workspaces import CALLS, NOON, WEEK, documents, say, source_of, synced, thread, ts

METHODS = ("auth.test", "conversations.list", "users.list", "conversations.history", "conversations.replies")


def read_in_parts(source, times=20):
    """What a source gives over several runs, each of which may be cut off by an error that passes."""
    cursor, found = None, {}
    for _ in range(times):
        try:
            for batch in source.read(cursor):
                found |= {document.id: document for document in batch.documents}
                cursor = batch.cursor
        except SourceError as error:
            assert error.retryable
        else:
            return found
    raise AssertionError("it does not come to an end")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500),
        Fault(status=503, headers={"Retry-After": "2"}),
        Fault(cut=True),
        Fault(length=100_000),
        Fault(body=b'{"ok": true, "messages": ['),
        Fault(body=b""),
        Fault(status=502, body=b"<html>bad gateway</html>"),
        refuses("internal_error"),
        refuses("service_unavailable"),
    ],
)
def test_what_fails_for_the_moment_is_tried_again(slack, expected, method, fault):
    waits = []
    slack.faults = [replace(fault, match=method)]
    assert documents(source_of(slack, waits=waits)) == expected
    assert len(waits) == 1


@pytest.mark.parametrize(("fault", "wait"), [(ratelimited("37"), 37), (refuses("ratelimited"), 60)])
def test_slack_says_how_long_to_wait(slack, expected, fault, wait):
    waits = []
    slack.faults = [fault]
    assert documents(source_of(slack, waits=waits)) == expected
    assert waits == [wait]


def test_an_app_outside_the_marketplace_is_read_fifteen_messages_a_minute(slack, expected):
    slack.max_limit = 15
    waits = []
    slack.faults = [ratelimited("60", "conversations.history", times=1, after=n) for n in (1, 2)]
    slack.messages["C1"] += [say(-4 * WEEK - n, f"old {n}") for n in range(100)]
    found = documents(source_of(slack, waits=waits, page_size=15))
    assert found.items() >= expected.items()
    assert waits == [60, 60]
    assert sum("old " in document.text for document in found.values()) >= 2


def test_a_long_wait_ends_the_run_and_the_next_goes_on(slack, expected):
    slack.faults = [ratelimited("3600", "conversations.replies", after=n) for n in (1, 2)]
    with pytest.raises(SourceError, match=r"conversations\.replies .*wait until") as caught:
        list(source_of(slack, channels=["general"]).read(None))
    assert caught.value.retryable
    assert "continues from there" in caught.value.remedy
    assert read_in_parts(source_of(slack)) == expected


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "fault", [Fault(status=500, times=99), Fault(cut=True, times=99), ratelimited("900", times=99)]
)
def test_an_outage_is_an_error_that_passes_and_no_empty_list(slack, call, fault):
    slack.faults = [replace(fault, match="conversations.history", after=1)]
    with pytest.raises(SourceError) as caught:
        call(source_of(slack, page_size=4))
    assert caught.value.retryable


@pytest.mark.parametrize("page_size", [1, 2, 5])
def test_pages_that_shift_while_they_are_read_lose_and_repeat_nothing(slack, page_size):
    def more(count: int) -> None:
        slack.messages["C1"].append(say(1000 + count, f"new {count}"))
        gone = [one for one in slack.messages["C1"] if one["text"] == "joined"]
        if gone:
            slack.messages["C1"].remove(gone[-1])

    slack.before = more
    source = source_of(slack, channels=["general"], page_size=page_size, recheck_days=0)
    batches = list(source.read(None))
    found = ids(batches)
    assert len(found) == len(set(found))
    slack.before = None
    for week in range(3):
        assert {f"slack:C1:{ts(-week * WEEK + minute)}" for minute in (0, 30, 400)} <= set(found)
    late = documents(source, last_cursor(batches))
    whole = {document.id: document for batch in batches for document in batch.documents} | late
    assert documents(source).items() <= whole.items()


def test_what_is_deleted_between_list_and_read_is_left_out(slack):
    def delete(_: int) -> None:
        if slack.requests[-1].path.endswith("conversations.replies"):
            asked = slack.requests[-1].query["ts"]
            slack.messages["C1"] = [one for one in slack.messages["C1"] if one.get("thread_ts") != asked]

    slack.before = delete
    source = source_of(slack, channels=["general"])
    found = documents(source)
    assert set(found) == {f"slack:C1:{ts(-week * WEEK + minute)}" for week in range(3) for minute in (30, 400)}
    slack.before = None
    assert set(source.list_ids()) == set(found)


@pytest.mark.parametrize(
    "asked", ["history?limit=2&channel=C1&cursor", f"replies?limit=2&channel=C2&ts={ts(20)}&cursor"]
)
def test_a_cursor_that_went_stale_is_gone_on_from_by_time(slack, asked):
    slack.messages["C2"] = thread(20, *((21 + n, f"reply {n}", "U2") for n in range(9)))
    expected = documents(source_of(slack))
    slack.faults = [refuses("invalid_cursor", asked, after=after) for after in (0, 1)]
    assert documents(source_of(slack, page_size=2)) == expected
    assert slack.faults[0].times == 0
    slack.faults = [refuses("invalid_cursor", "history?limit=2&channel=C1&cursor", after=1)]
    assert set(source_of(slack, page_size=2).list_ids()) == set(expected)


def test_a_list_whose_cursor_went_stale_is_begun_anew(slack, expected):
    slack.users += [{"id": f"U{n}", "name": f"user {n}"} for n in range(10, 300)]
    slack.faults = [refuses("invalid_cursor", "users.list?limit=200&cursor", times=2)]
    assert documents(source_of(slack)) == expected
    slack.faults = [refuses("invalid_cursor", "users.list?limit=200&cursor", times=99)]
    with pytest.raises(SourceError, match="invalid_cursor"):
        documents(source_of(slack))


@pytest.mark.parametrize("call", CALLS)
def test_a_cursor_that_is_never_taken_is_an_error(slack, call):
    slack.faults = [refuses("invalid_cursor", "cursor=", times=999)]
    with pytest.raises(SourceError, match="invalid_cursor"):
        call(source_of(slack, page_size=2))


def lying(slack, change):
    """Every page of history is changed by `change(answer)` before it is sent."""
    honest = slack.answer

    def answer(method, query):
        found = dict(honest(method, query))
        if method == "conversations.history":
            change(found, query)
        return found

    slack.answer = answer


def test_has_more_without_a_cursor_is_gone_on_from_by_time(slack, expected):
    lying(slack, lambda answer, _: answer.pop("response_metadata", None))
    source = source_of(slack, page_size=3)
    assert documents(source) == expected
    assert set(source.list_ids()) == set(expected)


def test_a_cursor_without_has_more_is_followed(slack, expected):
    lying(slack, lambda answer, _: answer.update(has_more=False))
    assert documents(source_of(slack, page_size=3)) == expected


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "change",
    [
        lambda answer, _: answer.update(has_more=True, response_metadata={"next_cursor": ""}),
        lambda answer, _: answer.update(has_more=True, response_metadata=None),
        lambda answer, _: answer.update(has_more=True, response_metadata={"next_cursor": "bmV4dF90czox"}),
        lambda answer, query: answer.update(
            messages=[], response_metadata={"next_cursor": query.get("cursor", "") + "QUFB"}
        ),
    ],
)
def test_a_list_that_does_not_come_to_its_end_is_an_error(slack, call, change):
    lying(slack, change)
    honest = slack.answer
    slack.answer = lambda method, query: (
        honest(method, {**query, "cursor": ""}) if "AAA" in str(query) else honest(method, query)
    )
    with pytest.raises(SourceError, match=r"don't end|invalid_cursor"):
        call(source_of(slack, channels=["general"]))
    assert len(slack.requests) < 80


def test_what_a_free_plan_hides_is_no_end_of_the_world(slack, expected):
    lying(slack, lambda answer, _: answer.update(has_more=True, is_limited=True, response_metadata={}))
    assert documents(source_of(slack)) == expected


@pytest.mark.parametrize("call", CALLS)
def test_a_list_that_is_out_of_order_is_an_error(slack, call):
    lying(slack, lambda answer, _: answer.update(messages=answer["messages"][::-1]))
    honest = slack.answer

    def ascending(method, query):
        rows = dict(honest(method, {**query, "limit": "999", "cursor": ""}))
        if method == "conversations.history":
            first = int(query.get("cursor") or 0)
            more = {"next_cursor": str(first + 4)} if first + 4 < len(rows["messages"]) else {}
            rows |= {"messages": rows["messages"][first : first + 4], "response_metadata": more}
        return rows

    slack.answer = ascending
    with pytest.raises(SourceError, match="out of order") as caught:
        call(source_of(slack, channels=["general"], page_size=4))
    assert caught.value.retryable


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "body", [b"[]", b"null", b"7", b"{}", b'{"ok": "yes"}', b'{"ok": true}', b'{"ok": true, "messages": {}}']
)
def test_what_is_no_answer_of_slack_is_an_error(slack, call, body):
    slack.faults = [Fault("conversations.history", body=body, times=9)]
    with pytest.raises(SourceError, match="didn't answer like Slack") as caught:
        call(source_of(slack))
    assert "base_url" in caught.value.remedy


def test_odd_values_do_no_harm(slack):
    odd = [
        {}, {"ts": 5}, {"ts": "x"}, {"ts": "99999999999.0"}, say(1, None),
        say(2, "fine", blocks="x", files=[None, {"id": 3}]),
        say(3, "root", thread_ts=ts(3), reply_count="many", reply_users="U1", latest_reply=None),
        say(900, "bad thread", thread_ts={"a": 1}, user=[1]), say(4, "x", edited="yes", user_profile=3),
    ]  # fmt: skip
    slack.messages["C1"] = [say(3, "root")]
    lying(slack, lambda answer, _: answer.update(messages=odd))
    slack.users += [{"id": 7}, {"id": "U9", "profile": "x"}]
    source = source_of(slack, channels=["general"])
    assert set(documents(source)) == {f"slack:C1:{ts(minute)}" for minute in (2, 3, 900)}
    assert set(source.list_ids()) == set(documents(source))


@pytest.mark.parametrize("now", [lambda: 0.0, lambda: NOON - 90_000.0, lambda: 4e9])
def test_no_clock_but_slacks_own_matters(slack, expected, now):
    source = source_of(slack, now=now)
    found, cursor = synced(source)
    assert {f"slack:{key}": value for key, value in found.items()} == expected
    slack.messages["C1"].append(say(2000, "after that"))
    assert set(synced(source, cursor)[0]) == {f"C1:{ts(2000)}"}
