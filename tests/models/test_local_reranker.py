"""The reranker without a model: its arithmetic by an independent, plain version, and what it must never do."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from include.lore.models.local_reranker import LocalReranker
from include.lore.models.terms import terms_of
from include.lore.types import Hit
from tests.fakes import FakeEmbedder
from tests.models.hits import make_hit

WORDS = ["key", "rotate", "secret", "vault", "cluster", "scale", "replica", "serve", "actor", "task", "queue", "retry"]


def make_hits(count: int, embedder: FakeEmbedder, pages: int = 20) -> list[Hit]:
    chosen = np.random.default_rng(7)
    texts = [" ".join(chosen.choice(WORDS, size=int(chosen.integers(3, 30)))) for _ in range(count)]
    vectors = embedder.embed_documents(texts)
    return [
        make_hit(f"p{number % pages}", f"{number} {text}", vector=vector)
        for number, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    ]


def plain_scores(query: str, hits: Sequence[Hit], embedder: FakeEmbedder) -> list[float]:
    """The recipe once more, with loops and dictionaries."""

    def tokens(text: str) -> list[int]:
        return [int(term) for term in terms_of(text)]

    def pairs(terms: list[int]) -> list[tuple[int, int]]:
        return list(pairwise(terms))

    def bm25(wanted: set, texts: list[list]) -> list[float]:
        mean = sum(map(len, texts)) / len(texts)
        scores = []
        for text in texts:
            counts, score = Counter(text), 0.0
            for term in wanted:
                holding = sum(term in other for other in texts)
                idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
                norm = counts[term] + 1.2 * (0.25 + 0.75 * len(text) / mean)
                score += idf * counts[term] * 2.2 / norm
            scores.append(score)
        return scores

    def z(values: list[float]) -> list[float]:
        mean = sum(values) / len(values)
        spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
        return [(value - mean) / spread if spread else 0.0 for value in values]

    texts = [tokens(hit.chunk.passage) for hit in hits]
    vector = embedder.embed_query(query)
    cosine = z([float(hit.vector @ vector) for hit in hits])
    keyword = z(bm25(set(tokens(query)), texts))
    paired = z(bm25(set(pairs(tokens(query))), [pairs(text) for text in texts]))
    x = [0.55 * a + 0.40 * b + 0.05 * c for a, b, c in zip(cosine, keyword, paired, strict=True)]
    gain = {}
    for page in {hit.chunk.document_id for hit in hits}:
        own = [score for score, hit in zip(x, hits, strict=True) if hit.chunk.document_id == page]
        gain[page] = 0.3 * math.log(sum(math.exp((score - max(own)) / 0.3) for score in own))
    return [score + gain[hit.chunk.document_id] for score, hit in zip(x, hits, strict=True)]


def test_scores_are_those_of_the_recipe() -> None:
    embedder = FakeEmbedder()
    hits = make_hits(60, embedder)
    query = "rotate key secret vault"
    ranked = LocalReranker(embedder).rerank(query, hits, 60)
    expected = {hit.chunk.id: score for hit, score in zip(hits, plain_scores(query, hits, embedder), strict=True)}
    assert len(ranked) == 60
    assert [hit.score for hit in ranked] == sorted((hit.score for hit in ranked), reverse=True)
    for hit in ranked:
        assert hit.score == pytest.approx(expected[hit.chunk.id], abs=1e-6)


def test_a_page_with_several_good_passages_comes_before_one_with_a_single_one() -> None:
    embedder = FakeEmbedder()
    texts = {"single": ["rotate key now"], "several": ["rotate key now", "rotate key today"], "other": ["cats", "dogs"]}
    hits = [make_hit(page, text, vector=embedder.embed_query(text)) for page, parts in texts.items() for text in parts]
    best = LocalReranker(embedder).rerank("rotate key now", hits, 1)
    assert best[0].chunk.document_id == "fake:several"


def test_how_a_passage_was_found_does_not_matter() -> None:
    embedder = FakeEmbedder()
    text_only = [make_hit(f"p{number}", " ".join(WORDS[number : number + 4])) for number in range(10)]
    with_vectors = [
        make_hit(f"p{number}", hit.chunk.text, vector=embedder.embed_query(hit.chunk.embedded_text), score=number)
        for number, hit in enumerate(text_only)
    ]
    reranker = LocalReranker(embedder)
    mixed = [*with_vectors[:5], *text_only[5:]]
    expected = [(hit.chunk.id, pytest.approx(hit.score)) for hit in reranker.rerank("scale replica", with_vectors, 10)]
    assert [(hit.chunk.id, hit.score) for hit in reranker.rerank("scale replica", mixed, 10)] == expected


def test_only_missing_vectors_are_embedded() -> None:
    embedder = FakeEmbedder()
    hits = [make_hit("a", "one two"), make_hit("b", "three", vector=embedder.embed_query("three"))]
    embedder.embedded.clear()
    LocalReranker(embedder).rerank("one", hits, 2)
    assert embedder.embedded == [hits[0].chunk.embedded_text]


def test_nothing_and_one() -> None:
    reranker = LocalReranker(FakeEmbedder())
    one = make_hit("a", "text", vector=FakeEmbedder().embed_query("text"))
    assert reranker.rerank("x", [], 8) == []
    assert reranker.rerank("x", [one], 0) == []
    (kept,) = reranker.rerank("x", [one], 8)
    assert kept.chunk == one.chunk
    assert kept.score == 0.0


@pytest.mark.parametrize("query", ["", "the of and", "?!", "\ud800"])
def test_a_query_without_words_and_equal_candidates_keep_their_order(query: str) -> None:
    embedder = FakeEmbedder()
    hits = [make_hit(f"p{number}", "same text", vector=embedder.embed_query("same")) for number in range(5)]
    ranked = LocalReranker(embedder).rerank(query, hits, 5)
    assert [hit.chunk for hit in ranked] == [hit.chunk for hit in hits]
    assert all(math.isfinite(hit.score) for hit in ranked)


def test_candidates_without_any_word() -> None:
    embedder = FakeEmbedder()
    hits = [make_hit(f"p{number}", "?" * number, vector=embedder.embed_query("same")) for number in range(3)]
    assert len(LocalReranker(embedder).rerank("key", hits, 8)) == 3


def test_languages_without_spaces_match_by_their_characters() -> None:
    embedder = FakeEmbedder(dimensions=1024)
    texts = ["猫は魚が好きです。", "鍵を回転する方法を説明します。", "天気予報によると雨です。"]
    same = embedder.embed_query("same")
    hits = [make_hit(f"p{number}", text, vector=same) for number, text in enumerate(texts)]
    best = LocalReranker(embedder).rerank("鍵の回転方法", hits, 1)
    assert best[0].chunk.text == texts[1]


def test_three_hundred_candidates_take_no_time_to_speak_of() -> None:
    embedder = FakeEmbedder(dimensions=384)
    hits = make_hits(300, embedder, pages=150)
    reranker = LocalReranker(embedder)
    reranker.rerank("rotate key", hits, 8)
    taken = []
    for _ in range(9):
        started = time.process_time()
        reranker.rerank("rotate key", hits, 8)
        taken.append(time.process_time() - started)
    assert sorted(taken)[4] < 0.1
