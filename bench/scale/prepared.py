"""A splitter and an embedder of what is ready, so that a bench leaves embedding apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from lore.types import Chunk, Document, EmbeddedDocument

from bench.scale.corpus import ScaleCorpus

if TYPE_CHECKING:
    from lore.types import Matrix, Vector


class PreparedDocument:
    """A splitter and an embedder that give what the corpus has ready: the bench leaves embedding apart."""

    name = "bench:scale"
    max_tokens = 256

    def __init__(self, corpus: ScaleCorpus) -> None:
        self.dimensions = corpus.dimensions
        self.entries: dict[str, EmbeddedDocument] = {}
        self.queries: dict[str, Vector] = {}
        self._vectors: dict[str, Vector] = {}

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document that is in `entries`."""
        entry = self.entries[document.id]
        self._vectors.update(zip((chunk.embedded_text for chunk in entry.chunks), entry.vectors, strict=True))
        return list(entry.chunks)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """The vectors of passages that were split before."""
        return np.stack([self._vectors[text] for text in texts])

    def embed_query(self, text: str) -> Vector:
        """The vector of a wording that is in `queries`."""
        return self.queries[text]
