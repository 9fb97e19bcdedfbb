"""The files of a Slack export: zips, bombs, links, and broken ones."""

from __future__ import annotations

import json
import os
import zipfile

import pytest
from lore.errors import SourceError

from tests.contracts.source import failed
from tests.sources.slack.exports import CHANNELS, USERS, documents, only, say, source_of, ts, write


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
