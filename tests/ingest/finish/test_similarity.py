"""Signatures of texts: how near the estimate is, what counts as equal, and what is found by it."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from lore.ingest.finish.similarity import EMPTY, WORD, SimilarityIndex, is_signature, signature

from tests.conftest import ROOT

VOCABULARY = [f"word{number}" for number in range(2_000)]


def text(seed: int, words: int = 400) -> str:
    return " ".join(random.Random(seed).choices(VOCABULARY, k=words))


def edited(original: str, changes: int, seed: int = 1) -> str:
    words = original.split()
    for place in random.Random(seed).sample(range(len(words)), changes):
        words[place] = f"changed{place}"
    return " ".join(words)


def resemblance(one: str, other: str) -> float:
    """The exact value that is estimated: equal runs of five words."""
    sets = []
    for each in (one, other):
        words = WORD.findall(each.casefold())
        sets.append(set(zip(*(words[start:] for start in range(5)), strict=False)))
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def found(one: str, other: str, threshold: float = 0.5) -> float | None:
    similar = SimilarityIndex(threshold)
    similar.add(7, signature("", one))
    match = similar.find(signature("", other))
    assert match is None or match.number == 7
    return match and match.resemblance


@pytest.mark.parametrize("changes", [0, 2, 5, 10, 20])
def test_the_estimate_is_near_the_share_of_equal_runs(changes: int) -> None:
    for seed in range(5):
        original = text(seed)
        other = edited(original, changes, seed)
        assert found(original, other) == pytest.approx(resemblance(original, other), abs=0.12)


def test_equal_words_are_equal_whatever_stands_between_them() -> None:
    original = text(1)
    assert found(original, original.upper().replace(" ", ",\n\n**")) == 1.0


def test_nothing_is_like_a_text_of_other_words() -> None:
    similar = SimilarityIndex(0.5)
    for number in range(200):
        similar.add(number, signature("", text(number)))
    assert [similar.find(signature("", text(number))) for number in range(200, 300)] == [None] * 100


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.9, 0.95, 1.0])
def test_hardly_a_pair_above_the_threshold_is_missed(threshold: float) -> None:
    missed = 0
    for seed in range(60):
        original = text(seed, 300)
        other = edited(original, 2 + seed % 5, seed)
        share = resemblance(original, other)
        if share >= min(1.0, threshold + 0.06):
            missed += found(original, other, threshold) is None
    assert missed == 0


@pytest.mark.parametrize("change", ["not", "", "8080"])
def test_with_the_threshold_1_one_word_of_a_book_makes_another_text(change: str) -> None:
    """By the share alone they would be equal: hardly one of the bytes is another."""
    original = text(4, 10_000)
    other = original.split()
    other[5_000] = change
    assert found(original, " ".join(other), 0.99) is not None
    assert found(original, " ".join(other), 1.0) is None
    assert found(original, original.title(), 1.0) == 1.0


def test_among_many_texts_with_much_in_common_the_most_alike_is_found() -> None:
    """So many that it is faster to compare all than to choose: pages of one template."""
    template = text(5)
    similar = SimilarityIndex(0.5)
    for number in range(300):
        similar.add(1_000 + number, signature("", f"{template} {text(10 + number, 100)}"))
    for number in (0, 150, 299):
        match = similar.find(signature("", f"{template} {text(10 + number, 100)} and more"))
        assert match is not None and match.number == 1_000 + number


def test_the_most_alike_is_found_and_the_first_of_equals() -> None:
    original = text(3)
    similar = SimilarityIndex(0.5)
    for number, changes in enumerate((12, 2, 2)):
        similar.add(number, signature("", edited(original, changes)))
    match = similar.find(signature("", original))
    assert match is not None and match.number == 1


SHORT = "Coming soon: the guide to the third release of the lamp."


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (("A", SHORT), ("A", SHORT.upper()), True),
        (("A", SHORT), ("B", SHORT), False),
        (("A", SHORT), ("A", SHORT.replace("third", "fourth")), False),
        (("A", SHORT), ("A", SHORT + " More."), False),
        (("A", ""), ("A", ""), False),
        (("A", "…!"), ("A", "…!"), False),
        (("A b", "c"), ("A", "b c"), False),
    ],
)
def test_short_texts_are_alike_when_title_and_words_are_equal(
    one: tuple[str, str], other: tuple[str, str], equal: bool
) -> None:
    similar = SimilarityIndex(0.5)
    similar.add(0, signature(*one))
    assert (similar.find(signature(*other)) is not None) == equal


def test_a_short_text_is_not_like_a_long_one_that_begins_with_it() -> None:
    original = text(1, 70)
    assert found(original, " ".join(original.split()[:60])) is None


def test_characters_of_languages_without_spaces_count_as_words() -> None:
    characters = [chr(0x4E00 + number) for number in random.Random(1).choices(range(2_000), k=300)]
    original = "".join(characters)
    characters[100] = "語"
    assert signature("", original) != EMPTY
    assert (found(original, "".join(characters)) or 0) > 0.9


def test_any_text_has_a_signature() -> None:
    for each in ("", " ", "\ud800", "a\0b", "é" * 10_000, "x " * 10_000, "_" * 100):
        assert is_signature(signature(each, each))


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "",
        "x",
        "2~",
        "2~ä",
        "2~AAAA",
        "1~" + "A" * 344,
        "2~" + "A" * 344,
        "3~" + "A" * 364,
        "2~" + "!" * 364,
        ["2-"],
    ],
)
def test_what_is_no_signature_is_seen(value: object) -> None:
    assert not is_signature(value)


def test_a_signature_is_the_same_in_every_process() -> None:
    code = (
        "from lore.ingest.finish.similarity import signature; from tests.ingest.finish.test_similarity import text;"
        "print(signature('', text(1)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == signature("", text(1))
    assert len(done.stdout.strip()) == 366


def test_a_page_of_two_megabytes_is_signed_in_little_memory() -> None:
    import tracemalloc

    page = text(1, 300_000)
    tracemalloc.start()
    signature("", page)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000_000
