"""Follow-ups without a language model, completed by words of earlier questions."""

from __future__ import annotations

import pytest
from lore.query.understand.follow_up import MAX_BORROWED, standalone_question
from lore.types import Message, Question

FIRST = Message("user", "How do I rotate the API key?")
REPLY = Message("assistant", "Run lore key rotate [1]. The bananas are ripe.")


def completed(text: str, *before: Message) -> str:
    return standalone_question(Question(text, before or (FIRST, REPLY)))


@pytest.mark.parametrize(
    "text",
    [
        "why?",
        "Why not?",
        "And in version 3?",
        "and on Windows?",
        "What about the old one?",
        "How long does it work?",
        "Elaborate on it, please.",
        "Can I undo that?",
        "How do I undo this from a script?",
        "Is there another way?",
        "Does the same hold for them?",
        "in Kubernetes?",
        "More, please",
        "Show me an example of one",
        "On Windows, how long does it work?",
        "How do I undo it and when does it take effect?",
    ],
)
def test_what_leans_on_the_first_question_borrows_its_words(text: str) -> None:
    assert completed(text) == f"{text} rotate API key"


@pytest.mark.parametrize(
    "text",
    [
        "What is a deployment?",
        "Is there a way to limit the rate of calls?",
        "How do I install the command line on Windows?",
        "Where do I find the logs of a worker that failed?",
        "Why do runs start late behind PgBouncer and what should be set?",
        "What do I do about a worker pool of which none of the workers start when they have no memory left to do it?",
        "Which worker pools drain slowly before it is shut down?",
        "How do I install Tidewheel and which Python does it need?",
        "Which port does the server use, and who owns it?",
    ],
)
def test_what_stands_alone_is_left_as_it_is(text: str) -> None:
    assert completed(text) == text


def test_no_word_is_borrowed_twice_and_none_from_the_answer() -> None:
    assert completed("And how are keys revoked in it?") == "And how are keys revoked in it? rotate API"
    assert "bananas" not in completed("why?")


def test_small_talk_is_no_subject() -> None:
    assert completed("Can I undo that?", FIRST, REPLY, Message("user", "thanks!"), REPLY) == completed(
        "Can I undo that?"
    )


def test_a_chain_of_follow_ups_goes_back_to_where_it_began() -> None:
    chain = (Message("user", "How do I install workers?"), FIRST, REPLY, Message("user", "And in version 3?"), REPLY)
    assert completed("why?", *chain) == "why? version rotate API key"


def test_what_is_borrowed_has_a_longest_length() -> None:
    long = Message("user", " ".join(f"word{number}" for number in range(5_000)))
    assert len(completed("why?", long).split()) == 1 + MAX_BORROWED


@pytest.mark.parametrize("history", [(), (REPLY,), (Message("user", ""),), (Message("user", "why?"),)])
def test_with_nothing_to_borrow_from_it_is_left_as_it_is(history: tuple[Message, ...]) -> None:
    assert standalone_question(Question("why?", history)) == "why?"


OTHERS = (Message("other", "The tidewheel deploy ends with E42."), Message("other", "Lunch at noon, anybody?"))


def test_what_others_wrote_says_what_it_is_about_where_the_user_asked_nothing_before() -> None:
    assert completed("How do I fix this?", *OTHERS) == "How do I fix this? tidewheel deploy ends E42"


def test_the_users_own_words_go_before_those_of_others() -> None:
    assert completed("And on Windows?", OTHERS[0], FIRST, OTHERS[1]) == "And on Windows? rotate API key"
