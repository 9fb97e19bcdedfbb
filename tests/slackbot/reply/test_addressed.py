"""A thread among people after one answer: the bot speaks only when it is spoken to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from lore.declarations import SlackRules
from lore.slackbot.events.incoming import read_event
from lore.slackbot.reply.conversation import is_addressed
from lore.slackbot.types import SlackQuestion

from tests.slackbot.events.bodies import Answered
from tests.slackbot.fake_slack import BOT
from tests.slackbot.reply.test_conversation import Talk

AMONG_PEOPLE = (
    ("U2", "Hm, that's not what we do."), ("U3", "What do we do then?"), ("U2", "We restart the worker first."),
    ("U1", "Even on Mondays?"), ("U3", "Mondays are fine. Tuesdays aren't!"), ("U2", "Who changed that?"),
    ("U1", "I did"), ("U1", "was that wrong?"), ("U2", "no, all good"), ("U3", "thanks <@U1>"), ("U2", "ok"),
    ("U1", "How do I see the queue"), ("U3", "`lore status`"), ("U1", "and its age?"), ("U2", "same place"),
    ("U3", "is it deployed already?"), ("U2", "Can you look, Tim?"), ("U1", "on it"), ("U1", "it is"), ("U2", "great"),
    ("U3", "Why did the build fail?"), ("U2", "flaky test"), ("U1", "again?"), ("U3", "third time this week"),
    ("U2", "should we skip it?"), ("U1", "rather fix it"), ("U3", "who has time?"), ("U2", "me, tomorrow"),
    ("U1", "thank you!"), ("U3", ":heart:"), ("U2", "Where is the ticket?"), ("U1", "there is none yet"),
    ("U3", "please open one"), ("U2", "done"), ("U1", "what's its number?"), ("U2", "4711"), ("U3", "lol"),
    ("U1", "Is that a joke?"), ("U2", "no :smile:"), ("U3", "Let's go on tomorrow."),
)  # fmt: skip


def takes(talk: Talk, text: str, user: str = "U1") -> bool:
    """Write a message, and return True if the bot answers it."""
    said = talk.say(text, user)
    posted = Answered(("T1", talk.channel, talk.thread))
    found = read_event(talk.slack.event(talk.channel, said), BOT, posted, SlackRules())
    return isinstance(found, SlackQuestion) and (found.via != "thread" or is_addressed(found, talk.slack, BOT))


def answered() -> Talk:
    talk = Talk()
    answer(talk, "<@UBOT> how do I rotate a key?")
    return talk


def answer(talk: Talk, text: str, user: str = "U1") -> None:
    assert takes(talk, text, user)
    ts = list(talk.slack.messages[talk.channel])[-1]
    talk.reply(key=f"T1:C1:{ts}", answer="A1", part="1/1")


def spoken_to(talk: Talk, messages: Sequence[tuple[str, str]]) -> list[str]:
    return [text for user, text in messages if takes(talk, text, user)]


@pytest.mark.parametrize("text", ["And on Windows?", "how about version 3", "I meant version 3", "I get E42 then"])
def test_the_asker_goes_on_right_below_the_answer(text: str) -> None:
    assert takes(answered(), text)


@pytest.mark.parametrize("text", ["thanks", "ok, will try", "great :tada:", "Thanks, that solved it", "got it"])
def test_thanks_and_agreement_get_nothing(text: str) -> None:
    assert not takes(answered(), text)


def test_while_two_speak_a_question_is_the_bots_and_a_statement_is_not() -> None:
    talk = answered()
    assert not takes(talk, "ok, trying that")
    assert not takes(talk, "it prints E42")
    assert takes(talk, "what is E42?")


def test_somebody_else_below_the_answer_speaks_to_the_asker() -> None:
    assert not takes(answered(), "And on Windows?", "U2")


def test_a_bot_that_raised_the_alarm_is_nobody() -> None:
    talk = Talk()
    talk.say("Disk full", "UALERT", bot_id="BALERT")
    answer(talk, "<@UBOT> what now?")
    assert not takes(talk, "ok, deleting files")
    assert takes(talk, "is that enough?")


def test_once_others_spoke_only_a_question_right_below_the_answer_is_the_bots() -> None:
    talk = answered()
    assert not takes(talk, "I'd ask Tim", "U2")
    answer(talk, "<@UBOT> who is Tim?")
    assert takes(talk, "and his team?")
    answer(talk, "<@UBOT> who is Ann?", "U2")
    assert not takes(talk, "and her team?", "U1")
    answer(talk, "<@UBOT> who is Max?", "U2")
    assert not takes(talk, "Tim told me already", "U2")


def test_below_an_answer_that_still_grows_too() -> None:
    talk = Talk()
    assert takes(talk, "<@UBOT> how do I rotate a key?")
    talk.slack.start_stream("C1", talk.thread, team="T1", user="U1", markdown="Run ")
    assert takes(talk, "And on Windows?")


def test_a_thread_of_forty_messages_between_people() -> None:
    talk = answered()
    assert len(AMONG_PEOPLE) == 40
    assert spoken_to(talk, AMONG_PEOPLE) == []
    answer(talk, "<@UBOT> and how do I rotate it back?", "U2")
    assert spoken_to(talk, [("U1", "why would you?"), ("U2", "for fun"), ("U3", "thanks")]) == []


def test_forty_real_messages_between_people(shared_data: Path) -> None:
    file = shared_data / "sources" / "github" / "pygithub_comments.json"
    if not file.exists():
        pytest.skip(f"{file} is absent")
    comments = [
        one for one in json.loads(file.read_text()) if "created by" not in one["body"] and len(one["body"]) > 30
    ]
    users = {name: f"U{number}" for number, name in enumerate(sorted({one["user"]["login"] for one in comments}), 1)}
    said = [(users[one["user"]["login"]], one["body"]) for one in comments][:40]
    assert len(said) == 40 and len(users) > 3
    talk = Talk()
    answer(talk, "<@UBOT> how do I rotate a key?", said[1][0])  # who asked takes part in what follows
    assert spoken_to(talk, said) == []
    assert takes(talk, "<@UBOT> what did they decide?", said[0][0])
