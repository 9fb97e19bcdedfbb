"""A Slack export as documents: threads and conversations."""

from __future__ import annotations

import json
import os
import zipfile

import pytest
from lore.declarations import SlackExportDeclaration
from lore.errors import SourceError
from lore.sources.slack.export import SlackExportSource

from tests.contracts.source import SourceContract, failed

CHANNELS = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "deploys"}]
USERS = [
    {"id": "U1", "name": "ann", "profile": {"real_name": "Ann  Lee"}},
    {"id": "U2", "name": "bob", "real_name": "Bob Ray", "profile": {"real_name": ""}},
    {"id": "UB", "name": "robot", "is_bot": True, "profile": {"real_name": "Robot"}},
]
NOON = 1_700_049_600  # 2023-11-15 12:00 UTC


def say(minutes: float, text: str, user: str | None = "U1", **more: object) -> dict[str, object]:
    ts = f"{NOON + int(minutes * 60)}.000100"
    return {"type": "message", "ts": ts, "text": text} | ({"user": user} if user else {}) | more


def ts(minutes: float) -> str:
    return f"{NOON + int(minutes * 60)}.000100"


def write(folder, days: dict[str, object], users=USERS, channels=CHANNELS, **lists):
    files = {"users.json": users, "channels.json": channels, **{f"{name}.json": value for name, value in lists.items()}}
    for name, value in (files | days).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


def source_of(path, **options) -> SlackExportSource:
    return SlackExportSource(SlackExportDeclaration(id="slack", path=path, **options))


def documents(source):
    return {document.id: document for batch in source.read(None) for document in batch.documents}


def only(source):
    (document,) = documents(source).values()
    return document


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


def zipped(path, files: dict[str, str]):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_a_zip_is_read_in_place_wherever_its_root_is(tmp_path):
    days = json.dumps([say(0, "inside")])
    names = {
        "Acme export/channels.json": json.dumps(CHANNELS),
        "Acme export/users.json": json.dumps(USERS),
        "Acme export/general/2023-11-15.json": days,
        "Acme export/general/canvas.json": "{",
        "__MACOSX/._channels.json": "junk",
        "Acme export/../general/2023-11-16.json": days,
        "../../general/2023-11-17.json": days,
        "/general/2023-11-18.json": days,
    }
    source = source_of(zipped(tmp_path / "e.zip", names))
    assert only(source).text.endswith("inside\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.zip"]


def test_a_zip_bomb_fails_as_one_day(tmp_path):
    bomb = "[" + " " * (65 * 1024 * 1024) + "]"
    files = {"channels.json": json.dumps(CHANNELS), "general/2023-11-15.json": bomb}
    files["general/2023-11-16.json"] = json.dumps([say(0, "fine")])
    batches = list(source_of(zipped(tmp_path / "e.zip", files)).read(None))
    assert failed(batches) == ["slack:C1:2023-11-15.json"]
    assert "larger than" in batches[0].failures[0].reason
    assert len(batches[0].documents) == 1


def test_many_small_bombs_are_not_unpacked(tmp_path):
    files = {f"general/2023-11-{day:02}.json": "[" + "{}, " * 10_000_000 + "{}]" for day in (15, 16)}
    batches = list(source_of(zipped(tmp_path / "e.zip", {"channels.json": json.dumps(CHANNELS)} | files)).read(None))
    assert failed(batches) == ["slack:C1:2023-11-15.json", "slack:C1:2023-11-16.json"]
    assert "200 times" in batches[0].failures[0].reason


def test_names_are_no_longer_than_names(tmp_path):
    users = [{"id": "U1", "profile": {"real_name": "N" * 100_000}}]
    channels = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "c" * 100_000}]
    write(tmp_path, {"general/2023-11-15.json": [say(0, "to <#C2>"), say(400, "Hi", None, username="M" * 100_000)]},
          users=users, channels=channels)  # fmt: skip
    assert all(len(document.text) < 600 for document in documents(source_of(tmp_path)).values())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_listed_is_an_error_and_nothing_seems_deleted(export):
    (export / "deploys").chmod(0)
    with pytest.raises(SourceError, match="can't be listed"):
        list(source_of(export).list_ids())


def test_a_corrupt_member_fails_as_one_day(tmp_path):
    path = zipped(tmp_path / "e.zip", {"channels.json": json.dumps(CHANNELS), "general/2023-11-15.json": "[" * 5000})
    data = bytearray(path.read_bytes())
    at = data.find(b"general/2023-11-15.json") + len("general/2023-11-15.json") + 3
    data[at] ^= 0xFF
    path.write_bytes(data)
    assert failed(list(source_of(path).read(None))) == ["slack:C1:2023-11-15.json"]


def test_links_out_of_the_folder_are_not_followed(tmp_path, export):
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps([say(0, "secret")]))
    (export / "general" / "2023-11-17.json").symlink_to(outside)
    batches = list(source_of(export).read(None))
    assert failed(batches) == ["slack:C1:2023-11-17.json"]
    assert all("secret" not in document.text for batch in batches for document in batch.documents)


@pytest.mark.parametrize(
    ("name", "content"),
    [("none.zip", None), ("e.zip", b"not a zip"), ("e.zip", b""), ("folder", "folder"), ("z.zip", "zip")],
)
def test_what_is_no_export_is_an_error_with_a_remedy(tmp_path, name, content):
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content == "zip":
        zipped(path, {"a.txt": "x"})
    elif content is not None:
        path.write_bytes(content)
    for call in (lambda: list(source_of(path).read(None)), lambda: list(source_of(path).list_ids())):
        with pytest.raises(SourceError, match=name) as caught:
            call()
        assert "Slack" in caught.value.remedy


def test_a_broken_user_list_stops_the_read(export):
    (export / "users.json").write_text("[")
    with pytest.raises(SourceError, match=r"users\.json"):
        list(source_of(export).read(None))


def test_the_shared_export(shared_data):
    found = documents(source_of(shared_data / "sources" / "slack" / "export.zip"))
    text = "\n".join(document.text for document in found.values())
    assert len(found) == 17
    assert 'Nope. Just "install" the executor.' in text
    assert "Colorful progress bars and trees for your terminal" in text
    assert "> [hfaran/progressive](https://github.com/hfaran/progressive/blob/master/setup.py)" in text
    assert "in <module>" in text
    assert "@Harry Potter" in text
    assert not any(
        mark in text for mark in ("<@U", "has joined", "added an integration", "&lt;", "xoxe-", "1 new commit")
    )


@pytest.mark.parametrize("name", ["slack_examples_2015-06-09.json", "slack_general_2015-10-08.json"])
def test_nasty_day_files(shared_data, tmp_path, name):
    entry = next(e for e in _manifest(shared_data) if e["file"] == name)
    day = json.loads((shared_data / "nasty" / name).read_text())
    # Their workspace's users.json is not among the data: everybody gets the name that a mention must show.
    people = sorted({str(message.get("user")) for message in day})
    users = [{"id": user, "profile": {"real_name": entry["must_contain"][-1]}} for user in people]
    channels = [{"id": "C9", "name": "vis"}]
    write(tmp_path, {f"vis/{name.rpartition('_')[2]}": day}, users=users, channels=channels)
    text = "\n".join(document.text for document in documents(source_of(tmp_path)).values())
    assert [wanted for wanted in entry["must_contain"] if wanted not in text] == []
    assert [banned for banned in entry["must_not_contain"] if banned in text] == []
    assert "xoxe-" not in text


def _manifest(shared_data):
    manifest = json.loads((shared_data / "nasty" / "manifest.json").read_text())
    return manifest if isinstance(manifest, list) else manifest["files"]
