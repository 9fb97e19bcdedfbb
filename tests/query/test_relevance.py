"""When what was found counts as nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from include.lore.query.relevance import irrelevant
from tests.query.fakes import make_hit

QUESTION = "How do I rotate the API key?"


@pytest.mark.parametrize(
    ("text", "cosine", "expected"),
    [
        ("Bananas ripen faster beside apples.", 0.20, True),
        ("Bananas ripen faster beside apples.", 0.55, False),  # kin in meaning
        ("Rotating API keys is easy.", 0.05, False),  # every word, in other forms
        ("A key ring.", 0.20, True),  # one word of three is a coincidence
        ("A key ring.", 0.35, False),  # unless the meaning is near
        ("Bananas.", None, True),
        ("A key ring.", None, False),
    ],
)
def test_a_passage_counts_by_meaning_or_by_words(text: str, cosine: float | None, expected: bool) -> None:
    assert irrelevant(QUESTION, [replace(make_hit("a", text, title="", headings=()), vector_score=cosine)]) is expected


def test_one_passage_is_enough_and_none_is_none() -> None:
    far = replace(make_hit("a", "Bananas."), vector_score=0.1)
    near = replace(make_hit("b", "Settings."), vector_score=0.6)
    assert irrelevant(QUESTION, [far, far])
    assert not irrelevant(QUESTION, [far, near])
    assert irrelevant(QUESTION, [])
