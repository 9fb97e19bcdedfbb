"""What comes in: which messages are questions, whose, where they are answered, and what is left alone."""

from __future__ import annotations

import re

import pytest
from lore.errors import RecordsError
from lore.slackbot.events.incoming import Greeting, Ignored, read_command
from lore.slackbot.types import SlackQuestion
from lore.sources.slack.values import is_ts

from tests.slackbot.events.bodies import BOT, NOW, ROOT, TS, Answered, asked, body, channel, mention, nested, read

ODD = {
    "null": None,
    "number": 5,
    "true": True,
    "infinite": float("inf"),
    "list": [{"user": "U1"}],
    "object": {"id": "U1"},
    "nested": nested(900),
    "zero": "C1\0",
    "surrogate": "C\ud800",
    "turned around": "\u202eC1",
    "another sign": "T1:C1",
    "path": "../C1",
    "line": "C1\n",
    "long": "C" * 50_000,
}
FIELDS = (
    "type", "subtype", "channel", "channel_type", "user", "text", "ts", "thread_ts", "team", "user_team", "source_team",
    "user_profile", "bot_id", "app_id", "bot_profile", "workflow_id", "hidden", "edited", "assistant_thread", "blocks",
)  # fmt: skip


class TestWhereItListens:
    def test_every_plain_direct_message_is_a_question(self) -> None:
        assert asked(body()) == SlackQuestion(
            f"T1:D1:{TS}", "direct", "T1", "D1", "direct", "U1", TS, TS, "How do I rotate a key?"
        )

    def test_in_the_assistant_pane_it_answers_in_the_thread(self) -> None:
        question = asked(body(thread_ts=ROOT, assistant_thread={"action_token": "x"}))
        assert (question.via, question.thread_ts, question.room) == ("assistant", ROOT, "direct")

    def test_a_mention_in_a_channel_is_answered_in_a_thread_of_its_own(self) -> None:
        question = asked(mention("<@UBOT> How do I rotate a key?"))
        assert (question.via, question.room, question.thread_ts, question.text) == (
            "mention",
            "channel",
            TS,
            "How do I rotate a key?",
        )

    def test_a_mention_in_a_thread_is_answered_in_that_thread(self) -> None:
        assert asked(mention("<@UBOT> and then?", thread_ts=ROOT)).thread_ts == ROOT

    @pytest.mark.parametrize("kind", ["channel", "group"])
    def test_a_mention_and_its_message_are_one(self, kind: str) -> None:
        text = "so <@UBOT> what now?"
        assert asked(mention(text)) == asked(channel(text, channel_type=kind))

    def test_of_a_group_direct_message_only_the_message_says_so(self) -> None:
        text = "<@UBOT> what now?"
        one, other = asked(mention(text, channel="C7")), asked(channel(text, channel="C7", channel_type="mpim"))
        assert one.key == other.key
        assert (one.room, other.room) == ("channel", "group")

    def test_a_thread_in_which_it_answered_needs_no_mention(self) -> None:
        question = asked(channel("and in version 3?", thread_ts=ROOT))
        assert (question.via, question.thread_ts, question.key) == ("thread", ROOT, f"T1:C1:{TS}")

    @pytest.mark.parametrize(
        "event",
        [
            {"thread_ts": "1764500000.000999"},
            {"thread_ts": ROOT, "channel": "C2"},
            {"thread_ts": TS},
            {},
        ],
        ids=["another thread", "another channel", "its own thread", "no thread"],
    )
    def test_other_messages_of_a_channel_are_left_alone(self, event: dict) -> None:
        assert isinstance(read(channel("and in version 3?", **event)), Ignored)

    @pytest.mark.parametrize(
        "text",
        [
            "<@U2> what do you think?",
            " <@U2|ann> see above",
            "<!subteam^S1> look",
            "<!here> look",
            ":tada:",
            "",
            "ok <@U2>, is it you?",
            "so cc <!subteam^S1>?",
        ],
    )
    def test_in_such_a_thread_people_may_talk_to_each_other(self, text: str) -> None:
        assert isinstance(read(channel(text, thread_ts=ROOT)), Ignored)

    def test_who_begins_with_somebody_else_and_mentions_the_bot_asks_it(self) -> None:
        assert asked(channel("<@U2> let us ask <@UBOT>: what now?", thread_ts=ROOT)).via == "mention"

    def test_a_group_direct_message_needs_a_mention_always(self) -> None:
        assert isinstance(read(channel("and then?", channel_type="mpim", thread_ts=ROOT)), Ignored)
        assert asked(channel("<@UBOT> and then?", channel_type="mpim")).room == "group"

    def test_records_that_cannot_be_read_are_an_error_so_that_it_is_delivered_again(self) -> None:
        with pytest.raises(RecordsError):
            read(channel("and then?", thread_ts=ROOT), Answered(failing=True))

    @pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast"])
    def test_a_file_or_a_broadcast_comes_with_a_question(self, subtype: str) -> None:
        assert asked(channel("<@UBOT> what is this?", subtype=subtype)).text == "what is this?"


class TestWhatItLeavesAlone:
    @pytest.mark.parametrize(
        "event",
        [
            {"user": "UBOT"},
            {"bot_id": "BBOT", "user": ""},
            {"app_id": "ALORE"},
            {"bot_id": "B2"},
            {"bot_id": "B2", "subtype": "bot_message", "user": ""},
            {"bot_profile": {"id": "B2", "app_id": "A2"}},
            {"bot_profile": {"app_id": "ALORE"}},
            {"app_id": "A2"},
            {"workflow_id": "Wf1"},
            {"user": "USLACKBOT"},
            {"user": ""},
            {"user": None},
            {"hidden": True},
            {"edited": {"user": "U1", "ts": TS}},
            {"type": "reaction_added"},
            {"ts": "yesterday"},
            {"channel": ""},
        ],
        ids=[
            "its user", "its bot", "its app", "a bot", "a bot's message", "a bot's profile", "its profile", "an app",
            "a workflow", "Slackbot", "nobody", "null", "hidden", "edited", "another event", "no time", "no channel",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("via", ["direct", "mention", "thread"])
    def test_everything_that_no_person_asks(self, via: str, event: dict) -> None:
        text = "<@UBOT> How do I rotate a key?"
        makers = {
            "direct": lambda: body(text, **event),
            "mention": lambda: channel(text, **event),
            "thread": lambda: channel("and then?", **{"thread_ts": ROOT, **event}),
        }
        found = read(makers[via]())
        assert isinstance(found, Ignored)
        assert "rotate" not in found.reason

    @pytest.mark.parametrize(
        "subtype",
        [
            "message_changed", "message_deleted", "message_replied", "channel_join", "channel_leave", "channel_topic",
            "channel_purpose", "channel_name", "channel_archive", "group_join", "me_message", "bot_add", "reminder_add",
            "pinned_item", "tombstone", "assistant_app_thread", "ekm_access_denied", "something_new", "bot_message",
        ],
    )  # fmt: skip
    def test_all_other_subtypes(self, subtype: str) -> None:
        assert isinstance(read(body(subtype=subtype)), Ignored)
        assert isinstance(read(channel("<@UBOT> hi there", subtype=subtype)), Ignored)

    def test_an_edit_with_its_message_inside(self) -> None:
        changed = body(subtype="message_changed", message={"user": "U1", "text": "<@UBOT> what?", "ts": TS}, user=None)
        assert isinstance(read(changed), Ignored)

    @pytest.mark.parametrize("given", [{}, {"event": None}, {"event": []}, {"event": {}}, {"type": "url_verification"}])
    def test_what_is_no_event(self, given: dict) -> None:
        assert isinstance(read(given), Ignored)

    @pytest.mark.parametrize("value", ODD.values(), ids=ODD)
    @pytest.mark.parametrize("name", [*FIELDS, "event", "authorizations", "api_app_id", "context_enterprise_id"])
    def test_of_what_is_sent_nothing_is_taken_for_granted(self, name: str, value: object) -> None:
        text = "<@UBOT> How do I rotate a key?"
        for given in (body(text), channel(text), mention(text), channel("and then?", thread_ts=ROOT)):
            event = {**given["event"], name: value} if name in FIELDS else given["event"]
            found = read({**given, "event": event} if name in FIELDS else {**given, name: value})
            if isinstance(found, SlackQuestion):
                assert re.fullmatch(r"T1:[CD]1:[0-9.]+", found.key) and re.fullmatch("U[0-9]", found.user)
                assert is_ts(found.thread_ts) and len(found.text) <= 20_000

    @pytest.mark.parametrize("value", ODD.values(), ids=ODD)
    @pytest.mark.parametrize("name", ["command", "trigger_id", "team_id", "user_id", "channel_id", "text"])
    def test_nor_of_a_command(self, name: str, value: object) -> None:
        known = {"command": "/lore", "trigger_id": "9.8.abc", "team_id": "T1", "user_id": "U1", "channel_id": "C1"}
        found = read_command({**known, "text": "How?", name: value}, BOT)
        if isinstance(found, SlackQuestion):
            assert (found.key, found.user, found.channel) == ("T1:command:9.8.abc", "U1", "C1")

    def test_an_outage_of_an_hour_loses_no_question_and_a_longer_one_is_over(self) -> None:
        assert isinstance(read(body(), now=NOW + 3500), SlackQuestion)
        assert isinstance(read(body(), now=NOW + 3700), Ignored)

    def test_a_clock_that_is_behind_does_no_harm(self) -> None:
        assert isinstance(read(body(), now=NOW - 600), SlackQuestion)


class TestText:
    @pytest.mark.parametrize(
        ("said", "text"),
        [
            ("<@UBOT> what now?", "what now?"),
            ("<@UBOT>: what now?", "what now?"),
            ("<@UBOT|lore>, what now?", "what now?"),
            ("what now <@UBOT>?", "what now?"),
            ("hey <@UBOT>, what now?", "hey what now?"),
            ("hey\n<@UBOT> what now?", "hey\nwhat now?"),
            ("<@UBOT> <@UBOT> what now?", "what now?"),
            ("<@UBOT> does <@U2> know <@U3|ann>?", "does @U2 know @ann?"),
            ("<@UBOT> what was said in <#C9|private-a>?", "what was said in #private-a?"),
            ("<@UBOT> see <https://docs.example.com/a|the page>", "see [the page](https://docs.example.com/a)"),
            ("<@UBOT> is a &lt; b &amp;&amp; c?", "is a < b && c?"),
            ("<@UBOT> why does `a &lt; b` fail?", "why does `a < b` fail?"),
            ("<@UBOT> since <!date^1764500000^{date}|30 November>?", "since 30 November?"),
            ("<@UBOT> *how* do I ~stop~ start?", "**how** do I ~~stop~~ start?"),
            ("<@UBOT> ask <!channel>", "ask @channel"),
            ("<@UBOT> wh\u200bat\ud800 \u202enow\U000e0041\0?", "what now?"),
        ],
    )
    def test_is_plain_markdown_without_the_bots_mention(self, said: str, text: str) -> None:
        assert asked(mention(said)).text == text

    def test_the_bots_name_in_code_is_no_mention(self) -> None:
        assert isinstance(read(channel("try `&lt;@UBOT&gt; hi`")), Ignored)

    @pytest.mark.parametrize(
        "text", ["<@UBOT>", " <@UBOT> ", "<@UBOT> ?", "<@UBOT> :wave:", "<@UBOT> help", "<@UBOT>!"]
    )
    def test_a_mention_alone_wants_to_know_how_to_ask(self, text: str) -> None:
        found = read(mention(text))
        assert isinstance(found, Greeting)
        assert (found.question.text, found.question.channel, found.question.thread_ts) == ("", "C1", TS)

    def test_a_file_alone_in_a_direct_message_is_no_question(self) -> None:
        assert isinstance(read(body("", subtype="file_share", files=[{"id": "F1"}])), Greeting)

    @pytest.mark.parametrize(
        "piece", ["<@", "```", "`", "*", "~", "<https://a|", "&gt;&gt;&gt; ", "<@UBOT> ", ":a", " \t"]
    )
    def test_a_long_message_is_read_as_far_as_a_question_goes(self, piece: str) -> None:
        found = read(body("word " + piece * 20_000))
        assert isinstance(found, SlackQuestion)
        assert len(found.text) <= 30_000
