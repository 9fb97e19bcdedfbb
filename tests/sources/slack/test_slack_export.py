"""A Slack export as documents: threads and conversations, people and bots."""

from __future__ import annotations

import pytest
from lore.errors import SourceError

from tests.contracts.source import SourceContract, failed
from tests.sources.slack.exports import NOON, documents, only, say, source_of, ts, write


@pytest.fixture
def export(tmp_path):
    root = say(0, "How do we deploy?", thread_ts=ts(0), reply_count=2)
    days = {
        "general/2023-11-15.json": [
            say(-300, "<@U1> has joined the channel", subtype="channel_join"),
            root,
            say(1, "Lunch?", "U2"),
            say(2, "Run `make deploy`", "U2", thread_ts=ts(0)),
            say(3, "Yes", "U1"),
        ],
        "general/2023-11-16.json": [
            say(1450, "And <#C2> tells when it is done", "U1", thread_ts=ts(0), subtype="thread_broadcast"),
            say(1500, "New day", "U2"),
        ],
        "deploys/2023-11-15.json": [
            say(10, "", None, subtype="bot_message", bot_id="B1", username="CI", attachments=[{"text": "Build 1 ok"}]),
            say(11, "Build 2 failed", "UB", bot_id="B1", thread_ts=ts(11)),
            say(12, "I look", "U1", thread_ts=ts(11)),
        ],
    }
    return write(tmp_path / "export", days)


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, export):
        return source_of(export, workspace_url="https://acme.slack.com")


class TestContractOfTheSharedExport(SourceContract):
    @pytest.fixture
    def source(self, shared_data):
        path = shared_data / "sources" / "slack" / "export.zip"
        return source_of(path, workspace_url="https://mesos-magellan.slack.com", include_bots=True)


def test_a_thread_is_one_document_with_its_replies_in_order_over_days(export):
    thread = documents(source_of(export, workspace_url="https://acme.slack.com"))[f"slack:C1:{ts(0)}"]
    assert thread.title == "#general: How do we deploy?"
    assert thread.url == f"https://acme.slack.com/archives/C1/p{NOON}000100"
    assert thread.text == (
        "**Ann Lee** (2023-11-15 12:00 UTC):\n\nHow do we deploy?\n\n"
        "**Bob Ray** (2023-11-15 12:02 UTC):\n\nRun `make deploy`\n\n"
        "**Ann Lee** (2023-11-16 12:10 UTC):\n\nAnd #deploys tells when it is done\n"
    )
    assert thread.metadata == {"channel": "general", "messages": 3, "people": ["Ann Lee", "Bob Ray"]}
    assert f"{thread.updated_at:%Y-%m-%d %H:%M}" == "2023-11-16 12:10"


def test_messages_outside_threads_are_parted_by_silence(export):
    found = documents(source_of(export, channels=["#general"]))
    assert set(found) == {f"slack:C1:{ts(minutes)}" for minutes in (0, 1, 1500)}
    assert "Lunch?" in found[f"slack:C1:{ts(1)}"].text
    assert "Yes" in found[f"slack:C1:{ts(1)}"].text
    assert all("joined" not in document.text for document in found.values())


def test_a_busy_channel_does_not_become_one_document(tmp_path):
    write(tmp_path, {"general/2023-11-15.json": [say(n, f"word {n}") for n in range(120)]})
    assert [document.metadata["messages"] for document in documents(source_of(tmp_path)).values()] == [50, 50, 20]


def test_the_turn_of_the_week_parts_what_is_said(tmp_path):
    turn = 3 * 1440 + 20 * 60  # Sunday, 8:00 UTC
    days = {"general/2023-11-19.json": [say(turn + n, f"word {n}") for n in (-2, -1, 0, 1)]}
    assert list(documents(source_of(write(tmp_path, days)))) == [f"slack:C1:{ts(turn + n)}" for n in (-2, 0)]


def test_an_edit_is_the_time_of_the_last_change_and_a_snippet_shows_its_first_lines(tmp_path):
    snippet = {"id": "F1", "name": "a.sh", "mode": "snippet", "preview": "make\n# ...", "preview_is_truncated": True}
    message = say(0, "so", files=[snippet | {"filetype": "shell"}], edited={"user": "U1", "ts": ts(90)})
    document = only(source_of(write(tmp_path, {"general/2023-11-15.json": [message]})))
    assert document.text.endswith("so\n\nFile: a.sh\n\n```shell\nmake\n# ...\n…\n```\n")
    assert f"{document.updated_at:%H:%M}" == "13:30"


def test_bots_are_left_out_unless_people_answer_or_they_are_wanted(export):
    quiet = documents(source_of(export, channels=["C2"]))
    assert list(quiet) == [f"slack:C2:{ts(11)}"]
    assert "Build 2 failed" in quiet[f"slack:C2:{ts(11)}"].text
    loud = documents(source_of(export, channels=["C2"], include_bots=True))
    assert set(loud) == {f"slack:C2:{ts(10)}", f"slack:C2:{ts(11)}"}
    assert "**CI**" in loud[f"slack:C2:{ts(10)}"].text
    assert "Build 1 ok" in loud[f"slack:C2:{ts(10)}"].text


NOISE = (
    "channel_join channel_leave channel_topic channel_purpose channel_name channel_archive bot_add pinned_item "
    "tombstone reminder_add huddle_thread something_new"
)


@pytest.mark.parametrize("noise", NOISE.split())
def test_what_nobody_says_is_left_out(tmp_path, noise):
    days = {"general/2023-11-15.json": [say(0, "noise", subtype=noise), say(1, "said"), say(2, "", None)]}
    assert only(source_of(write(tmp_path, days))).text.count("noise") == 0


def test_attachments_files_and_guests(tmp_path):
    secret = "https://files.slack.com/files-pri/T1-F1/plan.pdf?t=xoxe-123"
    file = {
        "name": "plan.pdf",
        "title": "The <plan>|v2",
        "url_private": secret,
        "permalink": f"https://a.slack.com/f?t={secret}",
    }
    preview = {
        "title": "Docs & more",
        "title_link": "https://docs.example.com/a",
        "text": "First\nSecond",
        "fields": None,
    }
    fields = {"pretext": "Alert", "fields": [{"title": "Host", "value": "db1"}, "odd"]}
    guest = {"user_profile": {"real_name": "Gus Guest"}}
    messages = [
        say(
            0,
            "look",
            "U1",
            files=[file, {"mode": "tombstone"}],
            attachments=[preview, fields, {"fallback": "fell back"}],
        ),
        say(1, "hello from outside", "W9", **guest),
        say(2, "raw name", "U7", username="<@U7|old>"),
    ]
    text = only(source_of(write(tmp_path, {"general/2023-11-15.json": messages}))).text
    assert "> [Docs & more](https://docs.example.com/a)\n> First\n> Second" in text
    assert "> Alert\n> **Host**: db1" in text
    assert "> fell back" in text
    assert r"File: [The &lt;plan>|v2](https://a.slack.com/f)" in text
    assert "**Gus Guest**" in text
    assert "**@old**" in text
    assert "xoxe" not in text
    assert "files-pri" not in text


def test_private_channels_only_by_name_and_direct_messages_never(tmp_path):
    write(
        tmp_path,
        {f"{name}/2023-11-15.json": [say(0, f"in {name}")] for name in ("general", "board", "D1")},
        groups=[{"id": "G1", "name": "board"}],
        dms=[{"id": "D1", "members": ["U1", "U2"]}],
    )
    assert list(documents(source_of(tmp_path))) == [f"slack:C1:{ts(0)}"]
    (private,) = documents(source_of(tmp_path, channels=["board"], audiences=["public", "staff"])).values()
    assert private.id == f"slack:G1:{ts(0)}"
    assert private.audiences == ("slack:G1",)
    with pytest.raises(SourceError, match="no channel 'D1'"):
        documents(source_of(tmp_path, channels=["D1"]))
    with pytest.raises(SourceError, match="Did you mean 'general'"):
        documents(source_of(tmp_path, channels=["#generall"]))


@pytest.mark.parametrize("content", ['[{"type": ', '{"a": 1}', "", "[" * 100_000, "\x00"])
def test_a_broken_day_fails_by_name_and_nothing_seems_deleted(export, content):
    (export / "general" / "2023-11-16.json").write_text(content)
    source = source_of(export)
    batches = list(source.read(None))
    assert failed(batches) == ["slack:C1:2023-11-16.json"]
    assert batches[0].failures[0].reason.startswith("general/2023-11-16.json: it")
    assert len(batches[0].documents) == 2
    with pytest.raises(SourceError, match=r"general/2023-11-16\.json"):
        list(source.list_ids())


def test_odd_messages_do_no_harm(tmp_path):
    odd = [
        None, 7, "text", {}, {"type": "message"}, say(0, "ok"), say(0, "the same again"), {"type": "message", "ts": 5},
        {"type": "message", "ts": "../../x", "text": "x"}, {"type": "message", "ts": "99999999999.0", "text": "far"},
        say(1, None), say(2, ["x"], attachments=[None, 3], files="x", blocks=[{"type": "section", "text": None}]),
        say(3, "reply without its root", thread_ts=ts(-9000)), say(4, "bad thread", thread_ts={"a": 1}, user=[1]),
        say(5, "", blocks=[{"type": "section", "text": {"type": "mrkdwn", "text": "from *blocks*"}}]),
    ]  # fmt: skip
    write(tmp_path, {"general/2023-11-15.json": odd}, users=[{"id": 1}, {"id": "U1", "profile": "x"}, None])
    found = documents(source_of(tmp_path))
    assert set(found) == {f"slack:C1:{ts(0)}", f"slack:C1:{ts(-9000)}"}
    assert "from **blocks**" in found[f"slack:C1:{ts(0)}"].text
