"""A Slack workspace as documents, read from a local server that speaks the Web API's wire format."""

from __future__ import annotations

import json
import zipfile

import pytest

from include.lore.declarations import SlackDeclaration, SlackExportDeclaration
from include.lore.sources.slack import SlackSource
from include.lore.sources.slack_export import SlackExportSource
from tests.contracts.source import SourceContract, last_cursor
from tests.servers.slack import TOKEN, SlackServer

CHANNELS = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "deploys"}]
USERS = [
    {"id": "U1", "name": "ann", "profile": {"real_name": "Ann  Lee"}},
    {"id": "U2", "name": "bob", "real_name": "Bob Ray", "profile": {"real_name": ""}},
    {"id": "UB", "name": "robot", "is_bot": True, "profile": {"real_name": "Robot"}},
]
NOON = 1_700_049_600  # Wednesday 2023-11-15, 12:00 UTC
DAY = 1440
WEEK = 7 * DAY


def ts(minutes: float) -> str:
    return f"{NOON + int(minutes * 60)}.000100"


def say(minutes: float, text: str, user: str | None = "U1", **more: object) -> dict[str, object]:
    return {"type": "message", "ts": ts(minutes), "text": text} | ({"user": user} if user else {}) | more


def thread(root: float, *replies: tuple[float, str, str], text: str = "Root", user: str = "U1", **more: object):
    first = say(root, text, user, thread_ts=ts(root), **more)
    return [first, *(say(minutes, words, who, thread_ts=ts(root)) for minutes, words, who in replies)]


def source_of(slack, token=TOKEN, waits=None, max_retries=1, now=None, **options) -> SlackSource:
    return SlackSource(
        SlackDeclaration(id="slack", base_url=slack.base_url, **options),
        token=token,
        timeout=5.0,
        max_retries=max_retries,
        sleep=(waits if waits is not None else []).append,
        **({"now": now} if now else {}),
    )


def documents(source, since=None):
    return {document.id: document for batch in source.read(since) for document in batch.documents}


def synced(source, since=None):
    """The documents by the time that they are named after, and the cursor, as a sync keeps it."""
    batches = list(source.read(since))
    found = {document.id.removeprefix("slack:"): document for batch in batches for document in batch.documents}
    return found, last_cursor(batches, since)


def messages_of_weeks(weeks: int = 6) -> list[dict[str, object]]:
    """A channel with threads and conversations in each of several weeks, the latest of them in the middle of 2023."""
    found = []
    for week in range(weeks):
        start = -week * WEEK
        found += thread(start, (start + 5, f"Answer {week}", "U2"), text=f"Question {week}")
        found += [say(start + 30, f"Morning {week}"), say(start + 31, "Hi", "U2"), say(start + 400, f"Evening {week}")]
        found += [say(start + 500, "joined", subtype="channel_join")]
    return found


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
            yield source_of(slack, include_bots=True, page_size=15, look_back_days=30)


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
    assert set(source_of(slack).list_ids()) == set(found)
