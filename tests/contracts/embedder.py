"""The contract of every embedder. Inherit it as `Test…` and provide the fixture `embedder`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from lore.protocols import Embedder

ODD_TEXTS = [
    "",
    " ",
    "\n\t",
    "x",
    "日本語のテキスト",
    "🙂" * 50,
    "lone \ud800 surrogate",
    "nul \x00 byte",
    "a" * 50_000,
]


def assert_unit(vectors: np.ndarray) -> None:
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), 1.0, atol=1e-5)


class EmbedderContract:
    """Shapes, unit length, order, repeatability, and texts that must not break it."""

    exact = 1e-6
    """Tolerance between the vectors of a text in two calls."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    def embed(self, embedder: Embedder, texts: Sequence[str]) -> np.ndarray:
        vectors = embedder.embed_documents(texts)
        assert vectors.shape == (len(texts), embedder.dimensions)
        assert_unit(vectors)
        return vectors

    def test_it_says_what_it_is(self, embedder: Embedder) -> None:
        provider, _, model = embedder.name.partition(":")
        assert provider and model
        assert embedder.dimensions > 0
        assert embedder.max_tokens > 0

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        self.embed(embedder, [])

    def test_rows_come_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        texts = ["word " * length for length in (40, 1, 90, 7, 20, 3, 60, 2, 11, 5, 33, 4, 80, 6)]
        together = self.embed(embedder, texts)
        for row, text in zip(together, texts, strict=True):
            np.testing.assert_allclose(row, self.embed(embedder, [text])[0], atol=self.exact)

    def test_different_texts_get_different_vectors(self, embedder: Embedder) -> None:
        vectors = self.embed(embedder, ["How do I rotate the key?", "The cat sat on the mat."])
        assert vectors[0] @ vectors[1] < 0.999

    def test_a_query_is_one_unit_vector_of_the_same_space(self, embedder: Embedder) -> None:
        query = embedder.embed_query("How do I rotate the key?")
        assert query.shape == (embedder.dimensions,)
        assert_unit(query)

    def test_many_texts(self, embedder: Embedder) -> None:
        vectors = self.embed(embedder, [f"Text number {number}." for number in range(300)])
        assert len(np.unique(vectors.round(6), axis=0)) > 200

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
    def test_no_text_breaks_it(self, embedder: Embedder, text: str) -> None:
        self.embed(embedder, ["before", text, "after"])
        assert_unit(embedder.embed_query(text))
