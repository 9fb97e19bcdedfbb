"""Relevance of passages, and names that none mentions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lore.query.retrieve.relevance import is_irrelevant, unmentioned_names
from lore.types import Hit

from tests.query.fakes import make_hit

QUESTION = "How do I rotate the API key?"


def hit(text: str, cosine: float | None = 0.6) -> Hit:
    return replace(make_hit("a", text, title="", headings=()), vector_score=cosine)


@pytest.mark.parametrize(
    ("text", "cosine", "expected"),
    [
        ("An API. Bananas ripen faster beside apples.", 0.20, True),
        ("An API. Bananas ripen faster beside apples.", 0.55, False),  # kin in meaning
        ("Rotating API keys is easy.", 0.05, False),  # every word, in other forms
        ("The API of a lock.", 0.35, True),  # one word of three is a coincidence
        ("The API of a lock.", 0.55, False),  # unless the meaning is near
        ("Bananas.", None, True),
        ("An API key.", None, False),
    ],
)
def test_a_passage_counts_by_meaning_or_by_words(text: str, cosine: float | None, expected: bool) -> None:
    assert is_irrelevant(QUESTION, [hit(text, cosine)]) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [("`g` is there for each request.", False), ("A cat (e.g. a lion).", True)]
)
def test_a_name_of_one_letter_is_a_word_of_the_question(text: str, expected: bool) -> None:
    assert is_irrelevant("What is g used for?", [hit(text, 0.3)]) is expected


def test_one_passage_is_enough_and_none_is_none() -> None:
    far, near = hit("The API of bananas.", 0.1), hit("Settings.", 0.6)
    assert is_irrelevant(QUESTION, [far, far])
    assert is_irrelevant(QUESTION, [far, far], last_word=False)
    assert not is_irrelevant(QUESTION, [far, near])
    assert is_irrelevant(QUESTION, [])


def test_a_name_that_nothing_mentions_is_not_answered_however_near_the_passages_are() -> None:
    near = hit("How to enable an endpoint of the dashboard.", 0.9)
    question = "How do I enable the GraphQL endpoint of the dashboard?"
    assert is_irrelevant(question, [near])
    assert not is_irrelevant(question, [near], [near, hit("GraphQL is served by another port.", 0.1)])
    assert not is_irrelevant(question, [near], last_word=False)
    assert not is_irrelevant("How do I enable the endpoint of the dashboard?", [near])


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Does it run with SAML or with LDAP?", ("SAML", "LDAP")),
        ("How do I use it on a V100?", ("V100",)),
        ("Can I call it from Julia?", ("Julia",)),
        ("Is it supported on AMD?", ("AMD",)),  # three letters inside another word are no mention
        ("Julia calls it, but how?", ()),  # the first word of a sentence has its capital from there
        ("It fails. Restarting helps, why?", ()),
        ("It fails - Unable to start, why?", ()),
        ("How Do I Rotate The Secret?", ()),  # a title
        ("Is deepspeed supported?", ()),
        ("Is DeepSpeed supported, or Kuber-Ray?", ()),
        ("What are replicas on KubeRay?", ()),
        ("Who won in 1998?", ()),
        ("", ()),
    ],
)
def test_which_names_are_not_mentioned(question: str, expected: tuple[str, ...]) -> None:
    assert (
        unmentioned_names(question, [hit("Deep-Speed and kuberray on amdgpu."), hit("Kube Ray has a replica.")])
        == expected
    )


@pytest.mark.parametrize(
    "question",
    [
        "Wie rotiere ich den Schlüssel?",
        "Was ist in der Konfiguration so wichtig am Schlüssel?",  # with English words, and capitals that mean nothing
        "鍵を回転する方法は？",
        "Vault SAML rotation",
    ],
)
def test_words_are_not_read_of_other_languages_and_of_keywords(question: str) -> None:
    assert unmentioned_names(question, [hit("Rotate the key.")]) == ()
    assert not is_irrelevant(question, [hit("Rotate the key.", 0.45)])
    assert is_irrelevant(question, [hit("Bananas.", 0.35)])


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Wie lange werden die Sicherungen aufbewahrt?", "Jede Sicherung wird hier lange aufbewahrt."),
        ("バックアップの保管期間は？", "バックアップの保管期間は三十五日間です。"),
    ],
)
def test_words_of_other_languages_count_by_their_stems_and_pairs(question: str, text: str) -> None:
    assert not is_irrelevant(question, [hit(text, 0.0)])
    assert is_irrelevant(question, [hit("Bananas.", 0.0)])
