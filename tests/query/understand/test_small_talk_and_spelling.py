"""Messages that ask nothing, and questions with typing mistakes, without a language model."""

from __future__ import annotations

import pytest
from lore.query.understand.small_talk import is_small_talk
from lore.query.understand.spelling import correct_spelling

from tests.query.fakes import make_hit

HITS = [
    make_hit("a", "Employees get thirty days of vacation. Vacation is requested in the portal."),
    make_hit("b", "Unused vacation moves to the next year."),
    make_hit("c", "A scheduler starts jobs; the scheduler leads."),
    make_hit("d", "The scheduler has a lease."),
]


@pytest.mark.parametrize(
    "text", ["hello", "Hi there!", "thanks!", "Thank you very much", "good morning team", "Danke!", "ok"]
)
def test_greetings_and_thanks_are_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "hello world example",
        "thanks, but which port?",
        "good practice for keys",
        "password",
        "",
        "42",
        "help with vacation",
    ],
)
def test_questions_are_not(text: str) -> None:
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    ("question", "corrected"),
    [
        ("How many vacaton days do I get?", "How many vacation days do I get?"),
        ("what does the schedular do", "what does the scheduler do"),
        ("How is Vacaton requested?", "How is Vacaton requested?"),  # it may be a name
        ("vacations in the portal", "vacations in the portal"),  # another form of the same word
        ("which job has a leash", "which job has a leash"),  # one page alone has a word like it
        ("how do I cook risotto", "how do I cook risotto"),
    ],
)
def test_words_that_no_passage_has_are_read_as_their_neighbours(question: str, corrected: str) -> None:
    assert correct_spelling(question, HITS) == corrected


def test_without_passages_nothing_is_corrected() -> None:
    assert correct_spelling("vacaton", []) == "vacaton"
