"""The reranker without a model: its arithmetic against an independent plain version, and its invariants."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from lore.models.local_reranker import LocalReranker
from lore.models.terms import terms_of
from lore.types import Hit

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


def plain_smoothing(x: Sequence[float], hits: Sequence[Hit]) -> list[float]:
    smooth = []
    for row, hit in enumerate(hits):
        others = sorted(((float(hit.vector @ o.vector), n) for n, o in enumerate(hits) if n != row), reverse=True)[:10]
        weights = {n: max(0.0, likeness) for likeness, n in others}
        around = sum(weight * x[n] for n, weight in weights.items()) / sum(weights.values())
        smooth.append(0.75 * x[row] + 0.25 * around)
    return smooth


def plain_scores(query: str, hits: Sequence[Hit], embedder: FakeEmbedder) -> list[float]:
    """The same formula with loops and dictionaries."""
    pages = sorted({hit.chunk.document_id for hit in hits})
    on_page = {page: [row for row, hit in enumerate(hits) if hit.chunk.document_id == page] for page in pages}

    def tokens(text: str) -> list[int]:
        return [int(term) for term in terms_of(text)]

    def pairs(terms: list[int]) -> list[tuple[int, int]]:
        return list(pairwise(terms))

    def idf(term: object, texts: list[list]) -> float:
        holding = sum(any(term in texts[row] for row in rows) for rows in on_page.values())
        return math.log(1 + (len(pages) - holding + 0.5) / (holding + 0.5))

    def bm25(wanted: set, texts: list[list]) -> list[float]:
        mean = sum(map(len, texts)) / len(texts)
        scores = []
        for text in texts:
            counts, score = Counter(text), 0.0
            for term in wanted:
                norm = counts[term] + 0.8 * (0.25 + 0.75 * len(text) / mean)
                score += idf(term, texts) * counts[term] * 1.8 / norm
            scores.append(score)
        return scores

    def held(wanted: set, texts: list[list]) -> list[float]:
        share = {
            page: sum(idf(term, texts) for term in wanted if any(term in texts[row] for row in rows))
            for page, rows in on_page.items()
        }
        return [share[hit.chunk.document_id] for hit in hits]

    def z(values: list[float]) -> list[float]:
        mean = sum(values) / len(values)
        spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
        return [(value - mean) / spread if spread > 1e-9 else 0.0 for value in values]

    texts = [tokens(hit.chunk.passage) for hit in hits]
    vector = embedder.embed_query(query)
    centre = sum(sum(hits[row].vector for row in rows) / len(rows) for rows in on_page.values()) / len(pages)
    cosine = z([float(hit.vector @ vector) - 0.3 * float(hit.vector @ centre) for hit in hits])
    keyword = z(bm25(set(tokens(query)), texts))
    paired = z(bm25(set(pairs(tokens(query))), [pairs(text) for text in texts]))
    page = z(held(set(tokens(query)), texts))
    x = [0.6 * a + 0.3 * b + 0.05 * c + 0.2 * d for a, b, c, d in zip(cosine, keyword, paired, page, strict=True)]
    smooth = plain_smoothing(x, hits)
    gain = {}
    for name, rows in on_page.items():
        best = max(smooth[row] for row in rows)
        gain[name] = 0.3 * math.log(sum(math.exp((smooth[row] - best) / 0.3) for row in rows))
    return [score + gain[hit.chunk.document_id] for score, hit in zip(smooth, hits, strict=True)]


def test_scores_are_those_of_the_recipe() -> None:
    embedder = FakeEmbedder()
    directions = np.random.default_rng(3).normal(size=(60, 64)).astype(np.float32)  # no two equally near to a third
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    hits = [replace(hit, vector=vector) for hit, vector in zip(make_hits(60, embedder), directions, strict=True)]
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


def test_of_two_equal_passages_the_one_among_good_ones_comes_first() -> None:
    here, there = np.eye(2, 64, dtype=np.float32)
    between = (here + there) / np.float32(math.sqrt(2))

    class Between(FakeEmbedder):
        def embed_query(self, text: str) -> np.ndarray:
            return between

    hits = [make_hit("alone", "rotate key", vector=there), make_hit("among", "rotate key", vector=here)]
    for number in range(6):
        hits.append(make_hit(f"good{number}", f"rotate key number {number}", vector=here))
        hits.append(make_hit(f"bad{number}", f"birds bees number {number}", vector=there))
    ranked = [hit.chunk.document_id for hit in LocalReranker(Between()).rerank("rotate key", hits, len(hits))]
    assert ranked.index("fake:among") < ranked.index("fake:alone")


def test_the_order_is_the_same_in_every_process() -> None:
    """Terms are hashed with a seed per process, which must not affect the scores."""
    script = (
        "from tests.models.test_local_reranker import *; e = FakeEmbedder();"
        "print([hit.score.hex() for hit in LocalReranker(e).rerank('rotate key secret vault', make_hits(60, e), 60)])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


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
