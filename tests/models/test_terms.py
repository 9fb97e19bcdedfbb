"""Terms: equal words, ignored words, and counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from lore.models.terms import (
    adjacent_pairs,
    bm25,
    count_terms,
    inverse_frequency,
    terms_by_page,
    terms_of,
)


def same(first: str, second: str) -> bool:
    return terms_of(first).tolist() == terms_of(second).tolist()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Rotating keys", "rotated key"),
        ("the key of a vault", "key vault"),
        ("KEY", "key"),
        ("key, vault!", "key\nvault"),
        ("a 1 x", ""),
        ("don't isn't", ""),
    ],
)
def test_the_same_terms(first: str, second: str) -> None:
    assert same(first, second)


@pytest.mark.parametrize(("first", "second"), [("key", "vault"), ("key vault", "vault key"), ("v1", "v2")])
def test_other_terms(first: str, second: str) -> None:
    assert not same(first, second)


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("num_replicas", "num replicas"),
        ("numReplicas", "num replicas"),
        ("HTTPServer", "HTTP Server"),
        ("getHTTPResponse2", "get HTTP Response"),
        ("__init__", "init"),
        ("python3", "python"),
        ("MAX_RETRIES", "max retries"),
    ],
)
def test_an_identifier_is_itself_and_its_parts(identifier: str, parts: str) -> None:
    terms = terms_of(identifier).tolist()
    assert set(terms_of(parts).tolist()) < set(terms)
    assert len(terms) == len(terms_of(parts)) + 1


@pytest.mark.parametrize("word", ["vault", "Vault", "VAULT", "Überraschung", "ключи", "404"])
def test_a_plain_word_is_one_term(word: str) -> None:
    assert len(terms_of(word)) == 1


@pytest.mark.parametrize(("text", "count"), [("東京都", 2), ("東京", 1), ("東", 0), ("ภาษาไทย", 6), ("API東京都", 3)])
def test_scripts_without_spaces_give_pairs_of_characters(text: str, count: int) -> None:
    assert len(terms_of(text)) == count


@pytest.mark.parametrize("text", ["", "\ud800\udfff", "x" * 1_000_000, "\x00", "_" * 100, "🙂🙂", "東" * 10_000])
def test_no_text_breaks_it(text: str) -> None:
    assert terms_of(text).dtype == np.uint64


def scores_of(query: str, *texts: str, page: Sequence[int] | None = None) -> list[float]:
    """BM25 of the texts; by default each is a page of its own."""
    terms = [terms_of(text) for text in texts]
    counts = count_terms(terms_of(query), terms)
    idf = inverse_frequency(terms_by_page(counts, np.array(range(len(texts)) if page is None else page)))
    return bm25(counts, np.array([len(text) for text in terms]), idf).tolist()


def test_rare_and_frequent_terms_and_short_texts_score_higher() -> None:
    texts = ("key common", "key key common", "common", "common vault with some more words")
    scores = scores_of("key vault common", *texts)
    assert scores[1] > scores[0] > scores[2] > 0
    assert scores_of("absent", *texts) == [0.0] * 4
    assert scores_of("", *texts) == [0.0] * 4
    assert scores_of("key", "", "") == [0.0, 0.0]


def test_a_term_is_as_rare_as_the_pages_that_have_it_are_few() -> None:
    texts = ("key vault", "key", "key", "vault", "other")
    on_one_page = scores_of("key", *texts, page=[0, 0, 0, 1, 2])
    on_three_pages = scores_of("key", *texts)
    assert on_one_page[0] > on_three_pages[0] > 0


def test_counts_stand_in_the_order_of_the_question() -> None:
    counts = count_terms(terms_of("vault key vault absent"), [terms_of("key key vault"), terms_of(""), terms_of("key")])
    assert counts.tolist() == [[1, 2, 0], [0, 0, 0], [0, 1, 0]]
    assert terms_by_page(counts, np.array([1, 0, 1])).tolist() == [[False, False, False], [True, True, False]]


def test_pairs_have_an_order() -> None:
    assert adjacent_pairs(terms_of("key vault")).tolist() != adjacent_pairs(terms_of("vault key")).tolist()
    assert len(adjacent_pairs(terms_of("one"))) == 0
    assert len(adjacent_pairs(terms_of(""))) == 0
