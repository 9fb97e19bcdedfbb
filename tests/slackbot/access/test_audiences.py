"""Who may see what, by where a question is asked and by whom, and for how long that is believed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from lore.slackbot.access.audiences import Audiences
from lore.slackbot.render import phrases
from lore.slackbot.types import EntryPoint, Room, SlackQuestion
from lore.types import PUBLIC

from tests.slackbot.fake_slack import BOT, FakeSlack

ALONE = (PUBLIC,)


def question(channel: str, user: str = "U1", via: EntryPoint = "mention", room: Room | None = None) -> SlackQuestion:
    room = room or ("direct" if channel.startswith("D") else "channel")
    return SlackQuestion(f"T1:{channel}:1.000001", via, "T1", channel, room, user, "1.000001", "1.000001", "How?")


class Setting:
    """A workspace with a clock: U1 and U2 are in the private channel CA, U2 is in CB too, U3 in neither."""

    def __init__(self) -> None:
        self.now = 0.0
        self.notes: list[str] = []
        self.slack = FakeSlack()
        for name, members in {"C1": "123", "CA": "12", "CB": "2"}.items():
            people = [f"U{number}" for number in members]
            self.slack.add_channel(name, members=people, is_private=name != "C1")
        self.slack.add_channel("CX", members=("U1", "UX"), is_private=True, is_ext_shared=True)
        self.slack.add_channel("CM", members=("U1", "U2"), is_private=True, is_mpim=True)
        self.slack.add_channel("D1", members=("U1",))
        self.audiences = Audiences(self.slack, BOT, clock=lambda: self.now)

    def of(self, question: SlackQuestion) -> tuple[str, ...]:
        return self.audiences.of(question, self.notes.append)


@pytest.fixture
def setting() -> Setting:
    return Setting()


class TestPlaces:
    @pytest.mark.parametrize("channel", ["C1", "CA", "CB", "CX"])
    @pytest.mark.parametrize("via", ["mention", "thread"])
    def test_a_channel_sees_its_own(self, setting: Setting, channel: str, via: EntryPoint) -> None:
        assert setting.of(question(channel, via=via)) == (PUBLIC, f"slack:{channel}")

    @pytest.mark.parametrize(
        ("user", "more"),
        [("U1", ("slack:CA", "slack:CX")), ("U2", ("slack:CA", "slack:CB")), ("U3", ())],
    )
    @pytest.mark.parametrize("via", ["direct", "assistant", "command"])
    def test_alone_with_the_bot_a_person_sees_the_private_channels_they_are_in(
        self, setting: Setting, user: str, more: tuple[str, ...], via: EntryPoint
    ) -> None:
        assert setting.of(question("D1", user, via)) == (PUBLIC, *more)

    def test_a_group_direct_message_sees_what_is_public(self, setting: Setting) -> None:
        assert setting.of(question("CM", room="group")) == ALONE

    def test_also_where_the_event_did_not_say_that_it_is_one(self, setting: Setting) -> None:
        assert setting.of(question("CM", room="channel")) == ALONE

    def test_a_channel_that_is_called_a_direct_message_is_none(self, setting: Setting) -> None:
        assert setting.of(question("C1", "U2", room="direct")) == ALONE

    def test_a_direct_message_that_is_called_a_channel_has_no_own(self, setting: Setting) -> None:
        assert setting.of(question("D1", room="channel")) == ALONE

    def test_a_command_from_a_private_channel_is_believed_of_its_members_alone(self, setting: Setting) -> None:
        assert setting.of(question("CA", "U1", "command")) == (PUBLIC, "slack:CA")
        assert setting.of(question("CA", "U3", "command")) == ALONE

    def test_a_channel_that_the_bot_cannot_see_has_nothing(self, setting: Setting) -> None:
        setting.slack.add_channel("CZ", members=("U1",), is_private=True, is_member=False)
        assert setting.of(question("CZ", "U1", "command")) == ALONE
        assert setting.of(question("C404", "U1", "command")) == ALONE
        assert setting.notes == [phrases.ABSENT] * 2
        setting.slack.channels["CZ"]["is_member"] = True
        setting.audiences.notice({"type": "member_joined_channel", "user": BOT.user, "channel": "CZ"})
        assert setting.of(question("CZ", "U1", "command")) == (PUBLIC, "slack:CZ")


class TestPeople:
    @pytest.mark.parametrize(
        "facts",
        [
            {"is_restricted": True},
            {"is_restricted": True, "is_ultra_restricted": True},
            {"is_stranger": True},
            {"team_id": "T2"},
            {"team_id": ""},
            {"deleted": True},
            {"is_bot": True},
        ],
        ids=["guest", "guest of one channel", "stranger", "another team", "no team", "deleted", "bot"],
    )
    @pytest.mark.parametrize("channel", ["CA", "C1", "D1", "CX"])
    def test_who_is_no_full_member_sees_what_is_public(self, setting: Setting, facts: dict, channel: str) -> None:
        setting.slack.add_user("U2", **facts)
        setting.slack.members["CX"].add("U2")
        assert setting.of(question(channel, "U2")) == ALONE

    @pytest.mark.parametrize("channel", ["CX", "CA", "D1"])
    def test_nor_does_who_came_from_another_workspace(self, setting: Setting, channel: str) -> None:
        assert setting.of(replace(question(channel, "U1"), external=True)) == ALONE

    def test_a_person_of_another_workspace_of_the_organisation(self, setting: Setting) -> None:
        setting.slack.add_user("U2", team_id="T9", enterprise_user={"teams": ["T9", "T1"]})
        assert setting.of(question("CA", "U2")) == (PUBLIC, "slack:CA")
        setting.slack.add_user("U3", team_id="T9", enterprise_user={"teams": ["T9"]})
        assert setting.of(question("CA", "U3")) == ALONE


class TestWhatIsBelievedForAWhile:
    def test_slack_is_asked_once_in_five_minutes(self, setting: Setting) -> None:
        for second in range(0, 300, 10):
            setting.now = second
            setting.of(question("D1"))
            setting.of(question("CA"))
            setting.of(question("CA", "U1", "command"))
        assert setting.slack.counts() == {"user": 1, "private_channels_of": 1, "channel": 1, "is_member": 1}

    def test_who_leaves_a_channel_unnoticed_sees_it_for_five_minutes_at_most(self, setting: Setting) -> None:
        setting.of(question("D1"))
        setting.slack.members["CA"].discard("U1")
        setting.now = 300
        assert setting.of(question("D1")) == (PUBLIC, "slack:CX")

    @pytest.mark.parametrize("kind", ["member_left_channel", "member_joined_channel"])
    def test_who_comes_or_goes_is_noticed_at_once(self, setting: Setting, kind: str) -> None:
        before = (setting.of(question("D1")), setting.of(question("CA", via="command")))
        setting.slack.members["CA"].discard("U1")
        assert (setting.of(question("D1")), setting.of(question("CA", via="command"))) == before
        setting.audiences.notice({"type": kind, "user": "U1", "channel": "CA", "channel_type": "G", "team": "T1"})
        assert setting.of(question("D1")) == (PUBLIC, "slack:CX")
        assert setting.of(question("CA", via="command")) == ALONE

    def test_who_becomes_a_guest_is_noticed(self, setting: Setting) -> None:
        setting.of(question("D1"))
        setting.slack.add_user("U1", is_restricted=True)
        setting.audiences.notice({"type": "user_change", "user": {"id": "U1", "is_restricted": True}})
        assert setting.of(question("D1")) == ALONE

    def test_a_conversation_that_changes_its_kind_is_noticed(self, setting: Setting) -> None:
        setting.of(question("C1"))
        setting.slack.channels["C1"]["is_private"] = True
        setting.audiences.notice({"type": "channel_rename", "channel": {"id": "C1", "name": "secret"}})
        assert setting.of(question("C1", "U3", "command")) == (PUBLIC, "slack:C1")
        setting.slack.members["C1"].discard("U1")
        assert setting.of(question("C1", "U1", "command")) == ALONE

    @pytest.mark.parametrize("event", [{}, {"type": "message"}, {"type": "member_left_channel"}, {"type": None}])
    def test_other_events_change_nothing(self, setting: Setting, event: dict) -> None:
        setting.of(question("D1"))
        setting.audiences.notice(event)
        setting.of(question("D1"))
        assert setting.slack.counts()["private_channels_of"] == 1

    @pytest.mark.parametrize("code", ["missing_scope", "ratelimited", "unreachable", "invalid_auth"])
    @pytest.mark.parametrize(
        ("verb", "channel", "via"),
        [
            ("user", "D1", "direct"),
            ("user", "CA", "mention"),
            ("private_channels_of", "D1", "direct"),
            ("channel", "CA", "mention"),
            ("is_member", "CA", "command"),
        ],
    )
    def test_where_slack_cannot_be_asked_it_is_public_and_said(
        self, setting: Setting, verb: str, channel: str, via: EntryPoint, code: str
    ) -> None:
        setting.slack.refuse(verb, code, times=None)
        assert setting.of(question(channel, via=via)) == ALONE
        assert setting.notes == [phrases.RIGHTS_UNKNOWN]

    def test_no_right_outlives_ten_minutes_without_slack(self, setting: Setting) -> None:
        setting.of(question("D1"))
        setting.slack.refuse("private_channels_of", "unreachable", times=None)
        setting.now = 599
        assert "slack:CA" in setting.of(question("D1"))
        assert setting.notes == []
        setting.now = 600
        assert setting.of(question("D1")) == ALONE
        assert setting.notes

    def test_nobody_waits_for_a_note(self, setting: Setting) -> None:
        setting.slack.refuse("user", "unreachable")
        assert setting.audiences.of(question("CA")) == ALONE

    def test_many_questions_of_one_person_ask_slack_once(self, setting: Setting) -> None:
        held, reached = threading.Event(), threading.Event()

        def before(name: str, _: object) -> None:
            if name == "private_channels_of":
                reached.set()
                assert held.wait(10)

        setting.slack.before = before
        with ThreadPoolExecutor(8) as pool:
            first = pool.submit(setting.of, question("D1"))
            assert reached.wait(10)
            others = [pool.submit(setting.of, question("D1")) for _ in range(7)]
            held.set()
            assert {future.result(10) for future in [first, *others]} == {(PUBLIC, "slack:CA", "slack:CX")}
        assert setting.slack.counts()["private_channels_of"] == 1
