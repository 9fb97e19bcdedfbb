"""What the bot says of itself."""

from __future__ import annotations

import pytest
from lore.slackbot.render import notice, phrases

from tests.slackbot.render.block_rules import message_problems
from tests.slackbot.render.reading import markdown_of


@pytest.mark.parametrize("name", [name for name in phrases.__all__ if name.isupper()])
def test_a_phrase_is_short_and_is_shown_as_it_is_written(name: str) -> None:
    phrase = getattr(phrases, name)
    message = notice(phrase)

    assert len(phrase) <= 200
    assert markdown_of(message) == phrase
    assert message_problems(message.blocks, message.text) == []


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (phrases.user_limit(20, 200), "You asked 20 questions in ten minutes; the next one may come in 4 minutes."),
        (phrases.user_limit(1, 0.2), "You asked 1 question in ten minutes; the next one may come in 1 second."),
        (
            phrases.channel_limit(100, 60),
            "This channel asked 100 questions in ten minutes; the next one may come in 60 seconds.",
        ),
        (phrases.waiting(3), "is busy, your place is 3…"),
        (phrases.full(100), "I am busy: 100 questions are waiting, and I take no more for now. Please ask later."),
        (phrases.reading(1), "is reading 1 passage…"),
        (phrases.and_more(2), "and 2 more"),
    ],
)
def test_numbers_and_times_are_said_as_a_person_would(said: str, expected: str) -> None:
    assert said == expected


def test_what_was_forgotten_is_counted() -> None:
    stays = " Messages here in Slack stay until somebody deletes them."
    assert phrases.forgotten(0, 0) == "I hold no record of you." + stays
    assert phrases.forgotten(1, 0) == "Done: I removed 1 question with the answers, and 0 opinions." + stays
    assert phrases.forgotten(12, 1) == "Done: I removed 12 questions with the answers, and 1 opinion." + stays
