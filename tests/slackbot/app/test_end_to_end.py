"""The whole bot, with the real Bolt and Socket Mode clients, in a small Slack: every way in, and what goes wrong."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lore.slackbot.checks.manifest import AppManifest
from lore.slackbot.types import SlackCallError

from tests.servers.slack.app import BOT_USER, SlackApp, channel, person
from tests.servers.slack.app_socket import Envelope
from tests.slackbot.bots import EchoPipeline, payload_of, running, wait_until_placed, waits_for_answers

PUBLIC = "C1"


@pytest.fixture
def slack() -> Iterator[SlackApp]:
    places = [channel(PUBLIC, "help", members=["U1", "U2", BOT_USER]), channel("C2", private=True, members=["U1"])]
    manifest = AppManifest.load()
    with SlackApp(places, [person("U1"), person("U2")], scopes=manifest.scopes, events=manifest.events) as served:
        yield served


def words_of(message: dict[str, Any]) -> str:
    """The text of a message's Markdown."""
    return "\n".join(block["text"] for block in message["blocks"] if block["type"] == "markdown")


def test_a_mention_is_answered_in_its_thread_with_sources_and_buttons(slack: SlackApp, tmp_path: Path) -> None:
    with running(slack, tmp_path) as bot:
        asked = slack.say("U1", PUBLIC, f"<@{BOT_USER}> How do I deploy?")
        [answer] = waits_for_answers(slack, PUBLIC, asked["ts"])
        assert slack.settle()
    assert "You asked: How do I deploy?" in words_of(answer)
    assert "https://docs.example.com/deploy" in str(answer["blocks"])
    assert answer["blocks"][-1]["type"] == "context_actions"
    assert bot.pipeline.asked() == ["How do I deploy?"], "a mention is two events, and one question"
    assert bot.pipeline.questions[0].audiences == ("public", f"slack:{PUBLIC}")
    assert slack.methods.status == {}


def test_a_direct_message_a_follow_up_and_a_thread_are_understood(slack: SlackApp, tmp_path: Path) -> None:
    direct = slack.workspace.direct_with("U1")["id"]
    with running(slack, tmp_path) as bot:
        asked = slack.say("U1", direct, "What is a queue?")
        waits_for_answers(slack, direct, asked["ts"])
        mentioned = slack.say("U1", PUBLIC, f"<@{BOT_USER}> How do I deploy?")
        waits_for_answers(slack, PUBLIC, mentioned["ts"])
        wait_until_placed(tmp_path, mentioned["ts"])
        slack.say("U1", PUBLIC, "And on Windows?", thread_ts=mentioned["ts"])
        waits_for_answers(slack, PUBLIC, mentioned["ts"], 2)
        slack.say("U2", PUBLIC, "What is for lunch?")
        assert slack.settle()
    assert bot.pipeline.asked() == ["And on Windows?", "How do I deploy?", "What is a queue?"]
    [follow_up] = [one for one in bot.pipeline.questions if one.text == "And on Windows?"]
    assert [one.role for one in follow_up.history][-1] == "assistant"
    assert "How do I deploy?" in follow_up.history[0].content


def test_a_channels_questions_are_searched_in_its_own_sources(slack: SlackApp, tmp_path: Path) -> None:
    file = tmp_path / "slack.yaml"
    file.write_text(f"channels:\n  {PUBLIC}:\n    sources: [handbook]\n    answers: auto\n")
    direct = slack.workspace.direct_with("U1")["id"]
    with running(slack, tmp_path, slack_channels=file) as bot:
        for place in (PUBLIC, direct):
            asked = slack.say("U1", place, "How do I deploy?")
            waits_for_answers(slack, place, asked["ts"])
    assert [question.sources for question in bot.pipeline.questions] == [("handbook",), ()]


def test_a_question_that_is_edited_is_answered_anew_in_its_thread(slack: SlackApp, tmp_path: Path) -> None:
    with running(slack, tmp_path) as bot:
        asked = slack.say("U1", PUBLIC, f"<@{BOT_USER}> How do I deploy 2?")
        waits_for_answers(slack, PUBLIC, asked["ts"])
        slack.edit(PUBLIC, asked["ts"], f"<@{BOT_USER}> How do I deploy 3?")
        [_, anew] = waits_for_answers(slack, PUBLIC, asked["ts"], 2)
        slack.edit(PUBLIC, asked["ts"], f"<@{BOT_USER}> How do I deploy 3")
        said = slack.say("U1", PUBLIC, "How do I sign in?")
        slack.edit(PUBLIC, said["ts"], f"<@{BOT_USER}> How do I sign in?")
        waits_for_answers(slack, PUBLIC, said["ts"])
        assert slack.settle()
    assert "You asked: How do I deploy 3?" in words_of(anew)
    assert bot.pipeline.asked() == ["How do I deploy 2?", "How do I deploy 3?", "How do I sign in?"]


def test_the_assistant_pane_suggests_questions_and_answers(slack: SlackApp, tmp_path: Path) -> None:
    (tmp_path / "assistant.yaml").write_text(
        "name: Lore\ncontext: I know the handbook.\nsuggested_questions:\n  - How do I deploy?\n"
    )
    with running(slack, tmp_path):
        pane, thread_ts = slack.open_assistant("U1", looking_at=PUBLIC)
        shown = slack.wait(lambda: slack.methods.prompts.get((pane, thread_ts)))
        asked = slack.say("U1", pane, shown["prompts"][0]["message"], thread_ts=thread_ts)
        [answer] = waits_for_answers(slack, pane, thread_ts)
    assert asked["text"] == "How do I deploy?" and "You asked: How do I deploy?" in words_of(answer)


def test_a_command_is_answered_to_the_asker_alone(slack: SlackApp, tmp_path: Path) -> None:
    with running(slack, tmp_path):
        slack.command("U2", PUBLIC, "How do I deploy?")
        slack.wait(lambda: any("You asked" in str(one["blocks"]) for one in slack.responses))
    assert {(one["user"], one["channel"], one["response_type"]) for one in slack.responses} == {
        ("U2", PUBLIC, "ephemeral")
    }
    assert slack.posted(PUBLIC) == [] and slack.methods.ephemeral == []


def test_a_command_is_answered_where_the_bot_is_no_member(slack: SlackApp, tmp_path: Path) -> None:
    with running(slack, tmp_path):
        slack.command("U1", "C2", "How do I deploy?")
        slack.wait(lambda: any("You asked" in str(one["blocks"]) for one in slack.responses))
    assert "not a member of this channel" in str(slack.responses[-1]["blocks"])
    assert slack.responses[-1]["channel"] == "C2" and slack.methods.ephemeral == []


def test_a_request_to_be_forgotten_in_a_channel_is_answered_to_the_person_alone(
    slack: SlackApp, tmp_path: Path
) -> None:
    with running(slack, tmp_path):
        slack.say("U1", PUBLIC, f"<@{BOT_USER}> delete my data")
        slack.wait(lambda: slack.methods.ephemeral)
    assert "no data about you" in str(slack.methods.ephemeral[0]["blocks"]) and slack.posted(PUBLIC) == []


def test_http_mode_answers_too_and_takes_only_what_is_signed_lately(slack: SlackApp, tmp_path: Path) -> None:
    with running(slack, tmp_path, http=True) as bot:
        asked = slack.say("U1", PUBLIC, f"<@{BOT_USER}> How do I deploy?")
        [answer] = waits_for_answers(slack, PUBLIC, asked["ts"])
        assert slack.settle() and slack.http is not None
        assert set(slack.http.statuses) == {200}
        slack.press("U2", PUBLIC, answer["ts"], "lore_feedback", answer_value(answer, "helpful"))
        slack.command("U2", PUBLIC, "And now?")
        assert slack.settle()

        forged = slack.say("U1", PUBLIC, f"<@{BOT_USER}> Is this forged?", send=False)
        body = slack.bodies_of(PUBLIC, forged)[0]
        envelope = Envelope("forged", "events_api", body)
        wrong = {"X-Slack-Signature": "v0=" + "0" * 64}
        assert slack.http.post(envelope, headers=wrong)[0] == 401
        assert slack.http.post(envelope, at=time.time() - 360)[0] == 401
        assert slack.http.post(envelope)[0] == 200
        waits_for_answers(slack, PUBLIC, forged["ts"])
    assert bot.pipeline.asked().count("Is this forged?") == 1


def answer_value(answer: dict[str, Any], verdict: str) -> str:
    """The value of a feedback button."""
    return f"{verdict}:{payload_of(answer)['answer']}"


def test_what_is_delivered_again_is_answered_once(slack: SlackApp, tmp_path: Path) -> None:
    asked = slack.say("U1", PUBLIC, f"<@{BOT_USER}> How do I deploy?", send=False)
    bodies = slack.bodies_of(PUBLIC, asked)
    with running(slack, tmp_path) as bot:
        for body in [*bodies[::-1], *bodies, *bodies]:
            slack.deliver(body)
        waits_for_answers(slack, PUBLIC, asked["ts"])
        for body in bodies:
            slack.deliver(body)
        assert slack.settle()
    with running(slack, tmp_path) as after_restart:
        for body in bodies:
            slack.deliver(body)
        assert slack.settle()
    assert len(slack.answers(PUBLIC, asked["ts"])) == 1
    assert bot.pipeline.asked() == ["How do I deploy?"] and after_restart.pipeline.asked() == []


@pytest.mark.slow
def test_a_thousand_deliveries_out_of_order_of_a_hundred_questions_are_a_hundred_answers(
    slack: SlackApp, tmp_path: Path
) -> None:
    said = [slack.say("U1", PUBLIC, f"<@{BOT_USER}> Question {number}?", send=False) for number in range(100)]
    bodies = [body for message in said for body in slack.bodies_of(PUBLIC, message) * 5]
    random.Random(7).shuffle(bodies)
    with running(slack, tmp_path, slack_user_limit=0, slack_channel_limit=0) as bot:
        for body in bodies:
            slack.deliver(body)
        assert slack.settle(60)
        for message in said:
            waits_for_answers(slack, PUBLIC, message["ts"])
    assert len(bot.pipeline.questions) == 100
    assert {len(slack.answers(PUBLIC, message["ts"])) for message in said} == {1}


def test_two_bots_share_the_work(slack: SlackApp, tmp_path: Path) -> None:
    with running(slack, tmp_path) as one, running(slack, tmp_path) as other:
        assert slack.sockets.wait(lambda: len(slack.sockets.connections) == 2)
        said = [slack.say("U1", PUBLIC, f"<@{BOT_USER}> Question {number}?") for number in range(20)]
        for message in said:
            waits_for_answers(slack, PUBLIC, message["ts"])
        assert slack.settle()
    assert {len(slack.answers(PUBLIC, message["ts"])) for message in said} == {1}
    assert len(one.pipeline.questions) + len(other.pipeline.questions) == 20


def test_what_a_bot_that_stops_did_not_begin_the_next_one_answers(slack: SlackApp, tmp_path: Path) -> None:
    with running(slack, tmp_path, slack_workers=1) as first:
        first.pipeline.gate.clear()
        said = [slack.say("U1", PUBLIC, f"<@{BOT_USER}> Question {number}?") for number in range(10)]
        assert slack.settle(), "it acknowledges, however busy it is"
        first.pipeline.gate.set()
    with running(slack, tmp_path):
        for message in said:
            waits_for_answers(slack, PUBLIC, message["ts"])
    assert {len(slack.answers(PUBLIC, message["ts"])) for message in said} == {1}


@pytest.mark.parametrize("how", ["asked to refresh", "warned", "cut"])
def test_nothing_is_lost_when_the_connection_is_renewed(slack: SlackApp, tmp_path: Path, how: str) -> None:
    with running(slack, tmp_path) as bot:
        asked = []
        for number in range(12):
            asked.append(slack.say("U1", PUBLIC, f"<@{BOT_USER}> Question {number}?"))
            if number in (3, 7):
                if how == "cut":
                    for connection in list(slack.sockets.connections):
                        connection.cut()
                else:
                    slack.sockets.disconnect(
                        "warning" if how == "warned" else "refresh_requested", close=how != "warned"
                    )
        for one in asked:
            waits_for_answers(slack, PUBLIC, one["ts"])
        assert slack.settle()
        assert slack.sockets.wait_connected(2)
    assert len(bot.pipeline.questions) == 12
    assert all(len(slack.answers(PUBLIC, one["ts"])) == 1 for one in asked)


def test_while_the_records_cannot_be_written_slack_keeps_the_question_and_it_is_answered_once(tmp_path: Path) -> None:
    places = [channel(PUBLIC, members=["U1", BOT_USER])]
    with SlackApp(places, [person("U1")], ack_seconds=0.3) as slack, running(slack, tmp_path) as bot:
        other = sqlite3.connect(tmp_path / "records.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        asked = slack.say("U1", PUBLIC, f"<@{BOT_USER}> How do I deploy?")
        sent = slack.sockets.envelopes.values()
        assert slack.sockets.wait(lambda: all(envelope.attempt >= 1 for envelope in sent)), "it is delivered again"
        assert not any(envelope.acked for envelope in sent)
        other.rollback()
        other.close()
        waits_for_answers(slack, PUBLIC, asked["ts"])
        assert slack.settle()
    assert bot.pipeline.asked() == ["How do I deploy?"] and len(slack.answers(PUBLIC, asked["ts"])) == 1


@pytest.mark.parametrize("both", [True, False], ids=["both", "the bot's"])
def test_a_revoked_token_ends_the_bot_with_one_clear_error(
    slack: SlackApp, tmp_path: Path, caplog: pytest.LogCaptureFixture, both: bool
) -> None:
    with running(slack, tmp_path) as bot:
        slack.revoke("" if both else slack.bot_token)
        if not both:  # then nothing ends before the bot says something
            slack.say("U1", PUBLIC, f"<@{BOT_USER}> How do I deploy?")
        assert bot.ended()
    assert isinstance(bot.error, SlackCallError) and bot.error.code == "token_revoked"
    assert "LORE_SLACK" in bot.error.remedy
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
    assert slack.bot_token not in caplog.text and slack.app_token not in caplog.text


def test_feedback_and_forgetting_go_all_the_way(slack: SlackApp, tmp_path: Path) -> None:
    direct = slack.workspace.direct_with("U1")["id"]
    with running(slack, tmp_path, slack_feedback_channel=PUBLIC):
        asked = slack.say("U1", direct, "How do I deploy?")
        [answer] = waits_for_answers(slack, direct, asked["ts"])
        wait_until_placed(tmp_path, asked["ts"])
        slack.press("U1", direct, answer["ts"], "lore_feedback", answer_value(answer, "unhelpful"))
        view = slack.wait(lambda: slack.methods.views)[0]
        slack.submit(view, {"reason": {"reason": {"type": "plain_text_input", "value": "It is out of date."}}})
        slack.wait(lambda: any("out of date" in str(one["blocks"]) for one in slack.posted(PUBLIC)), 20)
        forgotten = slack.say("U1", direct, "forget me")
        said = slack.wait(lambda: slack.answers(direct, forgotten["ts"]), 20)
        assert "1 question" in str(said[0]["blocks"])
        # the words of a forgotten person are deleted where the maintainers read them
        assert slack.wait(lambda: not slack.posted(PUBLIC), 20)
        greeted = slack.say("U2", PUBLIC, f"<@{BOT_USER}>")
        assert slack.wait(lambda: slack.answers(PUBLIC, greeted["ts"]))


def test_a_channel_that_the_bot_is_invited_to_is_greeted_once(slack: SlackApp, tmp_path: Path) -> None:
    with running(slack, tmp_path) as bot:
        slack.join("U2", PUBLIC)
        slack.join(BOT_USER, "C2")
        slack.wait(lambda: slack.posted("C2"))
        assert slack.settle()
    [greeting] = slack.posted("C2")
    assert "Mention me with a question" in words_of(greeting) and "thread_ts" not in greeting
    assert slack.posted(PUBLIC) == [] and bot.pipeline.asked() == []


def test_who_only_says_the_bots_name_is_told_how_to_ask_and_not_without_end(slack: SlackApp, tmp_path: Path) -> None:
    with running(slack, tmp_path, slack_user_limit=2) as bot:
        said = [slack.say("U1", PUBLIC, f"<@{BOT_USER}>")["ts"] for _ in range(5)]
        slack.wait(lambda: sum(len(slack.answers(PUBLIC, ts)) for ts in said) == 2)
        assert slack.settle()
    assert sum(len(slack.answers(PUBLIC, ts)) for ts in said) == 2
    assert bot.pipeline.asked() == []


def test_nothing_that_people_write_or_secret_is_logged(
    slack: SlackApp, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "lore")
    with running(slack, tmp_path, EchoPipeline()):
        asked = slack.say("U1", PUBLIC, f"<@{BOT_USER}> Where is the xyzzy?")
        waits_for_answers(slack, PUBLIC, asked["ts"])
        slack.sockets.disconnect()
        assert slack.sockets.wait_connected(2) and slack.settle()
    assert "xyzzy" not in caplog.text
    for secret in (slack.bot_token, slack.app_token, slack.signing_secret, "ticket="):
        assert secret not in caplog.text
