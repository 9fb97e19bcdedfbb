"""A Slack workspace as documents, read from a local server: what is read again."""

from __future__ import annotations

import json
import zipfile
from datetime import date

import pytest
from lore.declarations import SlackExportDeclaration
from lore.sources.slack.export import SlackExportSource

from tests.contracts.source import SourceContract, last_cursor
from tests.servers.slack.web_api import SlackServer
from tests.sources.slack.workspaces import (
    CHANNELS,
    DAY,
    USERS,
    WEEK,
    documents,
    messages_of_weeks,
    say,
    source_of,
    synced,
    thread,
    ts,
)

WEEK_START = 3 * DAY + 20 * 60
"""Sunday, 8:00 UTC."""


@pytest.fixture
def slack():
    messages = {"C1": messages_of_weeks(), "C2": [say(10, "Deploy of <#C1> by <@U2>"), *thread(20, (21, "ok", "U2"))]}
    with SlackServer(CHANNELS, USERS, messages) as slack:
        yield slack


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, slack):
        return source_of(slack, page_size=7)

    @pytest.fixture
    def change(self, slack):
        def change():
            slack.messages["C1"].append(say(60, "A new answer", "U2", thread_ts=ts(-WEEK)))
            return f"slack:C1:{ts(-WEEK)}"

        return change


class TestContractOfTheSharedExport(SourceContract):
    @pytest.fixture
    def source(self, shared_data):
        with served(shared_data / "sources" / "slack" / "export.zip") as slack:
            yield source_of(slack, include_bots=True, page_size=100)


def served(path) -> SlackServer:
    """A workspace that says what the export holds."""
    with zipfile.ZipFile(path) as archive:
        channels, users = (json.loads(archive.read(name)) for name in ("channels.json", "users.json"))
        messages = {
            channel["id"]: [
                message
                for name in archive.namelist()
                if name.startswith(f"{channel['name']}/") and name.endswith(".json")
                for message in json.loads(archive.read(name))
            ]
            for channel in channels
        }
    return SlackServer(channels, users, messages, url="https://mesos-magellan.slack.com/")


@pytest.mark.parametrize("include_bots", [True, False])
def test_an_export_and_the_web_api_give_the_same(shared_data, include_bots):
    path = shared_data / "sources" / "slack" / "export.zip"
    export = SlackExportDeclaration(
        id="slack", path=path, workspace_url="https://mesos-magellan.slack.com", include_bots=include_bots
    )
    with served(path) as slack:
        assert documents(source_of(slack, include_bots=include_bots)) == documents(SlackExportSource(export))


def test_an_export_and_the_web_api_give_the_same_threads(slack, tmp_path):
    snippet = {"id": "F1", "name": "a.py", "mode": "snippet", "mimetype": "text/plain", "filetype": "python",
               "size": 9, "permalink": "https://acme.slack.com/files/U1/F1/a.py", "preview": "print(1)\n",
               "preview_is_truncated": False, "lines": 1, "lines_more": 0}  # fmt: skip
    slack.messages["C1"] += [
        *thread(700, (701, "seen by all", "U2"), text="with a `file`", files=[snippet]),
        say(702, "also in the channel", thread_ts=ts(700), subtype="thread_broadcast"),
        *thread(-2 * WEEK + 50, (-2 * WEEK + 51, "reply to what was deleted", "U2"))[1:],
        *thread(800, (801, "a person answers", "U1"), user="UB"),
        *thread(900, (901, "another bot", "UB"), user="UB", bot_id="B1"),
        say(1000, "edited", edited={"user": "U1", "ts": ts(5000)}),
        *(say(3000 + n, f"busy {n}") for n in range(120)),
        *(say(WEEK_START + n, f"over the turn of the week {n}") for n in range(-2, 2)),
    ]
    for name, value in {"channels": CHANNELS, "users": USERS}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    for channel in CHANNELS:
        (tmp_path / channel["name"]).mkdir()
        (tmp_path / channel["name"] / "2023-11-15.json").write_text(json.dumps(slack.messages[channel["id"]]))
    export = SlackExportSource(
        SlackExportDeclaration(id="slack", path=tmp_path, workspace_url="https://acme.slack.com")
    )
    found = documents(source_of(slack, page_size=9))
    assert found == documents(export)
    assert "```python\nprint(1)\n```" in found[f"slack:C1:{ts(700)}"].text
    assert f"slack:C1:{ts(800)}" in found
    assert f"slack:C1:{ts(900)}" not in found
    assert {f"slack:C1:{ts(WEEK_START - 2)}", f"slack:C1:{ts(WEEK_START)}"} <= set(found)
    assert set(source_of(slack).list_ids()) == set(found)


def test_an_unchanged_workspace_gives_nothing_and_opens_no_thread(slack):
    source = source_of(slack, recheck_days=0, page_size=999)
    cursor = last_cursor(list(source.read(None)))
    assert slack.calls()["conversations.replies"] == 7
    start = len(slack.requests)
    assert list(source.read(cursor)) == []
    assert slack.calls(start) == {
        "auth.test": 1, "conversations.list": 1, "users.list": 1, "conversations.history": 2, "conversations.replies": 1
    }  # fmt: skip
    start = len(slack.requests)
    assert len(list(source.list_ids())) == 6 * 3 + 2
    assert slack.calls(start) == {"auth.test": 1, "conversations.list": 1, "conversations.history": 2}


def test_only_threads_with_a_reply_in_the_last_days_are_opened_again(slack):
    source = source_of(slack, channels=["general"], recheck_days=8, page_size=999)
    cursor = last_cursor(list(source.read(None)))
    start = len(slack.requests)
    assert list(source.read(cursor)) == []
    assert slack.calls(start)["conversations.replies"] == 2
    reply = next(one for one in slack.messages["C1"] if one["text"] == "Answer 1")
    reply |= {"text": "Better answer", "edited": {"user": "U2", "ts": ts(3000)}}
    found, cursor = synced(source, cursor)
    assert list(found) == [f"C1:{ts(-WEEK)}"]
    assert "Better answer" in found[f"C1:{ts(-WEEK)}"].text
    assert synced(source, cursor) == ({}, cursor)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: c.append(say(600, "Late")), {ts(600)}),
        (lambda c: c.append(say(401, "More")), {ts(400)}),
        (lambda c: c.append(say(-2 * WEEK + 600, "A reply", "U2", thread_ts=ts(-2 * WEEK))), {ts(-2 * WEEK)}),
        (lambda c: c.append(say(700, "First reply", "U2", thread_ts=ts(-WEEK + 30))), {ts(-WEEK + 30), ts(-WEEK + 31)}),
        (lambda c: c[0].update(text="Edited", edited={"user": "U1", "ts": ts(9)}), {ts(0)}),
        (lambda c: c.remove(find(c, "Hi", -WEEK + 31)), {ts(-WEEK + 30)}),
        (lambda c: c.remove(find(c, "Morning 3", -3 * WEEK + 30)), {ts(-3 * WEEK + 31)}),
        (lambda c: c.remove(find(c, "Answer 2", -2 * WEEK + 5)), {ts(-2 * WEEK)}),
        (lambda c: c.remove(find(c, "Question 2", -2 * WEEK)), {ts(-2 * WEEK)}),
        (lambda c: c[0].update(reactions=[{"name": "tada", "count": 1}]), set()),
        (lambda c: c.append(say(800, "joined", subtype="channel_join")), set()),
    ],
)
def test_what_changed_in_the_look_back_window_is_read_and_nothing_else(slack, change, expected):
    source = source_of(slack, channels=["general"], page_size=5)
    _, cursor = synced(source)
    change(slack.messages["C1"])
    found, after = synced(source, cursor)
    assert set(found) == {f"C1:{one}" for one in expected}
    whole = documents(source)
    assert {document.id: document for document in found.values()}.items() <= whole.items()
    assert set(source.list_ids()) == set(whole)
    assert synced(source, after) == ({}, after)


def find(messages, text, minutes):
    return next(one for one in messages if one["text"] == text and one["ts"] == ts(minutes))


def test_what_is_older_than_the_window_is_left_as_it_was_but_seen_to_be_deleted(slack):
    source = source_of(slack, channels=["general"], look_back_days=14)
    _, cursor = synced(source)
    old = find(slack.messages["C1"], "Question 5", -5 * WEEK)
    old["text"] = "Edited long after"
    slack.messages["C1"] = [one for one in slack.messages["C1"] if one.get("thread_ts") != ts(-4 * WEEK)]
    assert synced(source, cursor) == ({}, cursor)
    assert f"slack:C1:{ts(-4 * WEEK)}" not in set(source.list_ids())
    assert f"slack:C1:{ts(-5 * WEEK)}" in set(source.list_ids())


def test_the_cursor_grows_with_the_window_only(slack):
    _, short = synced(source_of(slack, look_back_days=1))
    _, long = synced(source_of(slack, look_back_days=3650))
    assert len(short) < len(long)
    wider = source_of(slack, look_back_days=3650)
    found, cursor = synced(wider, short)  # what it knows nothing of it reads once more
    assert 0 < len(found) < 20
    assert synced(wider, cursor) == ({}, cursor)


def test_a_read_that_is_cut_goes_on_and_opens_no_thread_twice(slack):
    source = source_of(slack, channels=["general"], page_size=999, recheck_days=0)
    cursor, opened = None, 0
    for _ in range(6):
        for batch in source.read(cursor):
            cursor = batch.cursor
            break
    opened = slack.calls()["conversations.replies"]
    found, _ = synced(source, cursor)
    assert opened < 25
    assert len(found) < 18
    assert json.loads(cursor)["channels"]["C1"]["todo"]


def test_a_change_that_a_cut_read_gave_and_that_is_taken_back_is_given_again(slack):
    source = source_of(slack, channels=["general"])
    whole, cursor = synced(source)
    newest, oldest = (
        find(slack.messages["C1"], "Evening 0", 400),
        find(slack.messages["C1"], "Morning 5", -5 * WEEK + 30),
    )
    for message in (newest, oldest):
        message["text"] = message["text"].upper()
    first = next(source.read(cursor))
    assert [document.id for document in first.documents] == [f"slack:C1:{ts(400)}"]
    newest["text"] = "Evening 0"
    found, _ = synced(source, first.cursor)
    assert found.pop(f"C1:{ts(400)}") == whole[f"C1:{ts(400)}"]
    assert "MORNING 5" in found[f"C1:{ts(-5 * WEEK + 30)}"].text


def test_a_renamed_channel_and_one_that_became_private_are_read_anew(slack):
    source = source_of(slack, channels=["C2"])
    found, cursor = synced(source)
    assert {document.audiences for document in found.values()} == {("public",)}
    slack.channels[1] |= {"name": "releases"}
    found, cursor = synced(source, cursor)
    assert {document.title[:9] for document in found.values()} == {"#releases"}
    slack.channels[1] |= {"is_private": True}
    found, cursor = synced(source, cursor)
    assert {document.audiences for document in found.values()} == {("slack:C2",)}
    assert len(found) == 2


@pytest.mark.parametrize("options", [{"since": date(2023, 11, 1)}, {"include_bots": True}, {"audiences": ["staff"]}])
def test_another_choice_reads_all_of_it(slack, options):
    _, cursor = synced(source_of(slack))
    assert documents(source_of(slack, **options), cursor) == documents(source_of(slack, **options))


def test_a_channel_that_is_added_is_read_and_no_other(slack):
    _, cursor = synced(source_of(slack, channels=["deploys"]))
    found, cursor = synced(source_of(slack, channels=["deploys", "general"]), cursor)
    assert {name.partition(":")[0] for name in found} == {"C1"}
    assert synced(source_of(slack, channels=["deploys"]), cursor)[0] == {}
    slack.channels[0]["is_member"] = False
    assert set(documents(source_of(slack))) == {f"slack:C2:{ts(10)}", f"slack:C2:{ts(20)}"}


def test_since_is_where_the_channel_begins(slack):
    source = source_of(slack, channels=["general"], since=date(2023, 11, 1), page_size=4)
    found = documents(source)
    assert set(found) == {f"slack:C1:{ts(-week * WEEK + minute)}" for week in (0, 1, 2) for minute in (0, 30, 400)}
    assert set(source.list_ids()) == set(found)
    assert all(float(request.query.get("latest", 0)) == 0 for request in slack.requests)


def test_a_channel_without_news_gives_no_batch(slack):
    source = source_of(slack)
    _, cursor = synced(source)
    slack.messages["C1"].append(say(2000, "news"))
    batches = list(source.read(cursor))
    assert [len(batch.documents) for batch in batches] == [1, 0]  # what is new, and that the window was read to its end
