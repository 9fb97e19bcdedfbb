"""Commands, "forget me", and people from other workspaces."""

from __future__ import annotations

import pytest
from lore.slackbot.events.incoming import ForgetMe, Greeting, Ignored, read_command
from lore.slackbot.types import SlackQuestion

from tests.slackbot.events.bodies import BOT, ROOT, TS, asked, body, channel, mention, read


class TestForgetMe:
    @pytest.mark.parametrize(
        "text",
        [
            "forget me",
            "Forget me!",
            " forget  me please. ",
            "Forget me, please",
            "delete my data",
            "Please delete my data!",
        ],
    )
    def test_is_understood_wherever_it_speaks_to_the_bot(self, text: str) -> None:
        assert isinstance(read(mention(f"<@UBOT> {text}")), ForgetMe)
        assert isinstance(read(body(text)), ForgetMe)
        assert isinstance(read(body(text, thread_ts=ROOT)), ForgetMe)
        assert isinstance(read_command(command(text), BOT), ForgetMe)

    @pytest.mark.parametrize(
        "given",
        [channel("forget me", thread_ts=ROOT), body("how do I make it forget me?")],
        ids=["thread", "question"],
    )
    def test_and_nowhere_else(self, given: dict) -> None:
        assert isinstance(read(given), SlackQuestion)


class TestOtherWorkspaces:
    @pytest.mark.parametrize(
        "event",
        [
            {"user_team": "T2"},
            {"source_team": "T2", "user_team": "T1"},
            {"team": "T2"},
            {"user_profile": {"team": "T2"}},
            {"user_team": "E2"},
        ],
    )
    def test_who_comes_from_another_workspace_is_external(self, event: dict) -> None:
        outer = {"is_ext_shared_channel": True, "authorizations": [{"team_id": "T1", "enterprise_id": "E1"}]}
        given = mention("<@UBOT> what now?", **event) | outer
        question = asked(given)
        assert question.external
        assert question.team == "T1"

    @pytest.mark.parametrize(
        "event", [{}, {"user_team": "T1", "source_team": "T1"}, {"user_team": "E1"}, {"team": None}]
    )
    def test_who_is_of_the_own_workspace_or_organisation_is_not(self, event: dict) -> None:
        outer = {"is_ext_shared_channel": True, "authorizations": [{"team_id": "T1", "enterprise_id": "E1"}]}
        assert not asked(mention("<@UBOT> what now?", **event) | outer).external

    def test_the_key_is_of_the_own_workspace_whoever_shares_the_channel(self) -> None:
        given = mention("<@UBOT> what now?") | {"team_id": "T2", "authorizations": [{"team_id": "T2"}]}
        assert asked(given).key == f"T1:C1:{TS}"


def command(text: str, **more: object) -> dict:
    known = {"command": "/lore", "trigger_id": "9.8.abc", "team_id": "T1", "user_id": "U1", "channel_id": "C1"}
    return {**known, "channel_name": "general", "text": text, **more}


class TestCommands:
    def test_is_a_question_that_only_the_asker_sees_answered(self) -> None:
        assert read_command(command("How do I rotate a key?"), BOT) == SlackQuestion(
            "T1:command:9.8.abc", "command", "T1", "C1", "channel", "U1", "", "", "How do I rotate a key?"
        )

    def test_in_a_direct_message_too(self) -> None:
        question = read_command(command("what now?", channel_id="D1", channel_name="directmessage"), BOT)
        assert isinstance(question, SlackQuestion)
        assert question.room == "direct"

    @pytest.mark.parametrize("text", ["", "  ", "help", "Help!", "?"])
    def test_without_a_question_it_says_how_to_ask(self, text: str) -> None:
        assert isinstance(read_command(command(text), BOT), Greeting)

    def test_of_another_workspace_is_external(self) -> None:
        question = read_command(command("what now?", team_id="T2"), BOT)
        assert isinstance(question, SlackQuestion)
        assert question.external

    @pytest.mark.parametrize("lacking", ["trigger_id", "channel_id", "user_id"])
    def test_what_names_nobody_is_no_command(self, lacking: str) -> None:
        assert isinstance(read_command(command("what now?", **{lacking: ""}), BOT), Ignored)
