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
        (
            phrases.rate_limited("person", 20, 200),
            "You've asked 20 questions in ten minutes. You can ask again in 4 minutes.",
        ),
        (
            phrases.rate_limited("person", 1, 0.2),
            "You've asked 1 question in ten minutes. You can ask again in 1 second.",
        ),
        (
            phrases.rate_limited("channel", 100, 60),
            "This channel has asked 100 questions in ten minutes. You can ask again in 60 seconds.",
        ),
        (phrases.waiting(3), "is busy; you're number 3 in line…"),
        (phrases.full(100), "Sorry, I'm too busy: 100 questions are ahead of you. Please ask again later."),
        (phrases.reading(1), "is reading 1 passage…"),
        (phrases.and_more(2), "and 2 more"),
    ],
)
def test_numbers_and_times_are_said_as_a_person_would(said: str, expected: str) -> None:
    assert said == expected


def test_what_was_forgotten_is_counted() -> None:
    stays = " Messages in Slack stay until somebody deletes them."
    assert phrases.forgotten(0, 0) == "I have no data about you." + stays
    assert phrases.forgotten(1, 0) == "Done: I deleted 1 question with answers and 0 opinions." + stays
    assert phrases.forgotten(12, 1) == "Done: I deleted 12 questions with answers and 1 opinion." + stays
