"""A Slack workspace as documents, read from a local server that speaks the Web API's wire format."""

from __future__ import annotations

import json
import random
import zipfile
from datetime import date
from itertools import islice

import pytest
from lore.declarations import SlackDeclaration, SlackExportDeclaration
from lore.errors import ConfigurationError, SourceError
from lore.settings import load_settings
from lore.sources.slack.export import SlackExportSource
from lore.sources.slack.source import SlackSource
from lore.wiring.sources import make_source

from tests.contracts.source import SourceContract, last_cursor
from tests.servers.slack.web_api import TOKEN, SlackServer

CHANNELS = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "deploys"}]
USERS = [
    {"id": "U1", "name": "ann", "profile": {"real_name": "Ann  Lee"}},
    {"id": "U2", "name": "bob", "real_name": "Bob Ray", "profile": {"real_name": ""}},
    {"id": "UB", "name": "robot", "is_bot": True, "profile": {"real_name": "Robot"}},
]
NOON = 1_700_049_600  # Wednesday 2023-11-15, 12:00 UTC
DAY = 1440
WEEK = 7 * DAY
WEEK_START = 3 * DAY + 20 * 60
"""Sunday, 8:00 UTC."""


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
        timeout=30.0,
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


def test_the_token_comes_from_the_settings(slack):
    declaration = SlackDeclaration(id="slack", base_url=slack.base_url)
    for name in ("LORE_SLACK_TOKEN", "SLACK_BOT_TOKEN"):
        source = make_source(declaration, load_settings({name: TOKEN}))
        assert documents(source) == documents(source_of(slack))
    with pytest.raises(ConfigurationError, match="token"):
        documents(make_source(declaration, load_settings({})))


def test_an_empty_channel_is_no_trouble():
    with SlackServer(CHANNELS, USERS, {}) as slack:
        source = source_of(slack)
        _, cursor = synced(source)
        assert list(source.list_ids()) == []
        slack.messages["C1"] = [say(0, "first")]
        assert set(synced(source, cursor)[0]) == {f"C1:{ts(0)}"}


def test_private_channels_are_found_by_name_or_id_and_kept_apart(slack):
    slack.channels += [
        {"id": "C7", "name": "board", "is_private": True, "is_member": True},
        {"id": "C8", "name": "secret", "is_private": True, "is_member": False},
        {"id": "D1", "name": "", "is_im": True, "is_private": True, "is_member": True},
    ]
    slack.messages["C7"] = [say(0, "in private")]
    assert not any(":C7:" in one for one in documents(source_of(slack)))
    for name in ("board", "#board", "C7"):
        (document,) = documents(source_of(slack, channels=[name], audiences=["public", "staff"])).values()
        assert document.id == f"slack:C7:{ts(0)}"
        assert document.audiences == ("slack:C7",)
    with pytest.raises(SourceError, match="no channel 'secret'"):
        documents(source_of(slack, channels=["secret"]))
    with pytest.raises(SourceError, match="channel_not_found") as caught:
        documents(source_of(slack, channels=["C8"]))
    assert "invited" in caught.value.remedy
    with pytest.raises(SourceError, match="no channel 'D1'"):
        documents(source_of(slack, channels=["D1"]))
    with pytest.raises(SourceError, match="Did you mean 'general'"):
        documents(source_of(slack, channels=["#generall"]))


def test_people_of_connected_workspaces_and_people_nobody_knows(slack):
    slack.strangers = [{"id": "W77", "is_stranger": True, "profile": {"real_name": "Wendy Far"}}]
    slack.channels.append({"id": "C5", "name": "partners", "is_ext_shared": True})
    guest = {"user_profile": {"real_name": "Gus Guest"}}
    slack.messages["C5"] = [
        say(0, "hello <@W77> and <@U404>", "W77"), say(1, "hi", "U55", **guest), say(2, "who am I", "U404")
    ]  # fmt: skip
    source = source_of(slack, channels=["partners"])
    found, cursor = synced(source)
    text = found[f"C5:{ts(0)}"].text
    assert "**Wendy Far** (2023-11-15 12:00 UTC):\n\nhello @Wendy Far and @U404" in text
    assert "**Gus Guest**" in text
    assert "**U404**" in text
    assert slack.calls()["users.info"] == 2
    assert synced(source, cursor) == ({}, cursor)
    assert slack.calls()["users.info"] == 2


def test_no_more_strangers_are_looked_up_than_there_are_limits(slack):
    slack.messages["C1"] = [say(n, f"<@U{n:05}X>") for n in range(230)]
    assert documents(source_of(slack, channels=["general"]))
    assert slack.calls()["users.info"] == 200


def test_a_workspace_whose_people_are_missing_is_read_by_ids():
    with SlackServer(CHANNELS, [], {"C1": [say(0, "hello")]}) as slack:
        (document,) = documents(source_of(slack)).values()
    assert document.text == "**U1** (2023-11-15 12:00 UTC):\n\nhello\n"


def test_a_huge_thread_is_one_document(slack):
    slack.messages["C2"] = thread(0, *((1 + n, f"reply {n}", "U2") for n in range(1000)))
    (document,) = documents(source_of(slack, channels=["C2"])).values()
    assert document.metadata["messages"] == 1001
    assert slack.calls()["conversations.replies"] == 6
    assert "reply 0" in document.text
    assert "reply 999" in document.text


def test_emoji_code_and_links_are_kept(slack):
    slack.messages["C2"] = [
        say(0, "Ship it :tada: with `make`\n```\ndef f():\n    pass\n```\n<https://a.example|docs>")
    ]
    (document,) = documents(source_of(slack, channels=["C2"])).values()
    assert "Ship it :tada: with `make`" in document.text
    assert "```\ndef f():\n    pass\n```" in document.text
    assert "[docs](https://a.example)" in document.text
    assert document.url == f"https://acme.slack.com/archives/C2/p{ts(0).replace('.', '')}"


def test_threads_of_bots_are_listed_as_they_are_read(slack):
    slack.users += [{"id": f"UB{n}", "is_bot": True} for n in range(6)]
    slack.messages["C2"] = [
        *thread(0, (1, "same here", "UB"), user="UB", bot_id="B1"),
        *thread(10, (11, "a person", "U1"), user="UB", bot_id="B1"),
        say(20, "alarm", "UB", bot_id="B1"),
        *thread(30, *((31 + n, f"{n}", f"UB{n}") for n in range(6)), (39, "a person", "U1"), user="UB", bot_id="B1"),
        *thread(60, (61, "only a reply is left", "U1"))[1:],
    ]
    for include_bots, expected in ((False, {10, 30, 60}), (True, {0, 10, 20, 30, 60})):
        source = source_of(slack, channels=["C2"], include_bots=include_bots)
        assert set(documents(source)) == {f"slack:C2:{ts(one)}" for one in expected}
        assert set(source.list_ids()) == set(documents(source))


class Talk:
    """Somebody talks in a channel: posts, answers, edits and deletes, at moments that only move on."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.minute = 0.0
        self.messages: list[dict[str, object]] = []

    def go_on(self, times: int) -> None:
        for _ in range(times):
            self.minute += self.dice.choice([1, 30, 200, 3000])
            self.dice.choice([self._post, self._post, self._answer, self._answer, self._edit, self._delete])()

    def _post(self) -> None:
        bot = self.dice.random() < 0.2
        self.messages.append(say(self.minute, f"said at {self.minute}", "UB" if bot else "U1"))

    def _answer(self) -> None:
        if self.messages:
            to = self.dice.choice(self.messages)
            root = to.get("thread_ts", to["ts"])
            for message in self.messages:
                if message["ts"] == root:
                    message["thread_ts"] = root
            more = {"subtype": "thread_broadcast"} if self.dice.random() < 0.2 else {}
            self.messages.append(say(self.minute, f"answered at {self.minute}", "U2", thread_ts=root, **more))

    def _edit(self) -> None:
        if self.messages:
            message = self.dice.choice(self.messages)
            message |= {"text": f"edited at {self.minute}", "edited": {"user": "U1", "ts": ts(self.minute)}}

    def _delete(self) -> None:
        if self.messages:
            self.messages.remove(self.dice.choice(self.messages))


@pytest.mark.parametrize("seed", range(4))
def test_after_any_talk_and_any_cut_the_index_is_what_a_full_read_gives(seed):
    talk = Talk(seed)
    talk.go_on(60)
    with SlackServer(CHANNELS[:1], USERS) as slack:
        slack.messages["C1"] = talk.messages
        source = source_of(slack, look_back_days=3650, recheck_days=3650, page_size=talk.dice.choice([3, 20, 200]))
        index, cursor = {}, None
        for _ in range(6):
            cut = talk.dice.choice([1, 2, 5, None, None])
            for batch in islice(source.read(cursor), cut):
                index |= {document.id: document for document in batch.documents}
                cursor = batch.cursor
            if cut is None:
                listed = set(source.list_ids())
                index = {key: document for key, document in index.items() if key in listed}
                assert index == documents(source)
            talk.go_on(talk.dice.choice([0, 3, 15]))
