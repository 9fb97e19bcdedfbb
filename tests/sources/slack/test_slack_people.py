"""Channels, people and odd messages of a Slack workspace."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from lore.declarations import SlackDeclaration
from lore.errors import ConfigurationError, SourceError
from lore.settings import load_settings
from lore.wiring.sources import make_source

from tests.servers.slack.web_api import TOKEN, SlackServer
from tests.sources.slack.workspaces import (
    CHANNELS,
    USERS,
    documents,
    messages_of_weeks,
    say,
    source_of,
    synced,
    thread,
    ts,
)


@pytest.fixture
def slack():
    messages = {"C1": messages_of_weeks(), "C2": [say(10, "Deploy of <#C1> by <@U2>"), *thread(20, (21, "ok", "U2"))]}
    with SlackServer(CHANNELS, USERS, messages) as slack:
        yield slack


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
