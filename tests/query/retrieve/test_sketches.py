"""Candidates for copies: all copies must be among them."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from lore.query.retrieve import sketches
from lore.query.retrieve.sketches import earlier_copy_candidates

SHARE = 0.02


def may_be(one: bytes, other: bytes) -> bool:
    """Apply the rule by counting."""
    left, right = Counter(one.split()), Counter(other.split())
    differing = ((left - right) + (right - left)).total()
    return differing <= SHARE * (left.total() + right.total()) and digits(left) == digits(right)


def digits(words: Counter[bytes]) -> set[bytes]:
    return {word for word in words if any(byte in b"0123456789" for byte in word)}


def made(chance: random.Random, originals: int, copies: int, length: int) -> list[bytes]:
    """Return texts of up to `length` words, and copies with one to three words inserted, removed or replaced."""
    texts = [b" ".join(word(chance) for _ in range(chance.randrange(length))) for _ in range(originals)]
    for _ in range(copies):
        words = chance.choice(texts[:originals]).split() or [b"empty"]
        for _ in range(chance.randrange(4)):
            words[chance.randrange(len(words))] = chance.choice((b"", word(chance), b"two " + word(chance)))
        texts.append(chance.choice((b" ", b"  ")).join(words) + chance.choice((b"", b" ")))
    chance.shuffle(texts)
    return texts


def word(chance: random.Random) -> bytes:
    if chance.random() < 0.1:
        return str(chance.randrange(30)).encode()
    return bytes(chance.choice(b"abcdefgh\xc3\xff_") for _ in range(chance.choice((1, 3, 8, 70))))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("batch", "count", "pairs"),
    [(1 << 17, 1 << 8, 1 << 16), (500, 1 << 8, 20), (1 << 17, 3, 7), (1, 1, 1)],
    ids=["whole", "by size", "by number", "single"],
)
def test_no_copy_is_missed_and_hardly_another_text_is_taken(
    seed: int, batch: int, count: int, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sketches, "BATCH_BYTES", batch)
    monkeypatch.setattr(sketches, "BATCH_TEXTS", count)
    monkeypatch.setattr(sketches, "PAIRS", pairs)
    texts = made(random.Random(seed), originals=30, copies=40, length=160)
    found = earlier_copy_candidates(texts, SHARE)
    expected = [
        [earlier for earlier in range(place) if may_be(texts[earlier], text)] for place, text in enumerate(texts)
    ]
    assert [sorted(set(known) & set(places)) for known, places in zip(found, expected, strict=True)] == expected
    assert sum(map(len, expected)) > 20
    assert sum(map(len, found)) - sum(map(len, expected)) <= 5


def test_places_are_in_order() -> None:
    assert earlier_copy_candidates([b"one text"] * 4, SHARE) == [[], [0], [0, 1], [0, 1, 2]]
    base = b" ".join(b"w" + b"x" * length for length in range(200))
    longer = [base + b" more" * count for count in (2, 0, 3, 1)]
    assert earlier_copy_candidates(longer, SHARE) == [[], [0], [0, 1], [0, 1, 2]]


@pytest.mark.parametrize(("share", "fewer", "more"), [(0.02, 49, 51), (0.2, 2, 3), (0.3, 7, 13), (0.5, 10, 30)])
def test_texts_may_differ_in_exactly_the_share(share: float, fewer: int, more: int) -> None:
    words = [b"w" + b"x" * length for length in range(more + 1)]
    texts = [b" ".join(words[:count]) for count in (more, fewer, more + 1)]
    assert earlier_copy_candidates(texts, share) == [[], [0], [0]]


def test_without_a_share_only_the_same_words_are_alike() -> None:
    assert earlier_copy_candidates([b"one text", b"one", b"text  one", b"", b"one text more"], 0) == [
        [],
        [],
        [0],
        [],
        [],
    ]


def test_texts_without_words_are_alike() -> None:
    assert earlier_copy_candidates([b"", b"  ", b"word", b""], SHARE) == [[], [0], [], [0, 1]]
    assert earlier_copy_candidates([b""], SHARE) == [[]]
    assert earlier_copy_candidates([], SHARE) == []


def test_the_same_words_with_a_digit_are_the_same_however_often() -> None:
    many = b" ".join(b"word%c" % letter for letter in b"abcdefghijklmnopqrstuvwxyz" * 4)
    for digit in b"0123456789":
        one = many + b" v%c" % digit
        assert earlier_copy_candidates([one, one + b" v%c" % digit, many + b" vx", many], SHARE) == [[], [0], [], [2]]


def test_words_that_are_said_to_tell_are_the_same_too() -> None:
    many = b" ".join(b"word%c" % letter for letter in b"abcdefghijklmnopqrstuvwxyz" * 4)
    mark = sketches.SIGNIFICANT.encode()
    marked = [many + b" " + mark + b"one", many + b" " + mark + b"two", many + b" one"]
    assert earlier_copy_candidates(marked, SHARE) == [[], [], []]
    negated = [many, many + b" not", many + b" no", many + " 不".encode(), many + b" not", many + b" now"]
    assert earlier_copy_candidates(negated, SHARE, ("not", "no", "不")) == [[], [], [], [], [1], [0]]


def test_a_long_text_among_short_ones() -> None:
    long = b" ".join(b"%x" % number for number in range(200_000))
    assert earlier_copy_candidates([b"short one", long, b"short one", long], SHARE) == [[], [], [0], [1]]
