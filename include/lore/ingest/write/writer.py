"""Gathering documents into writes: vectors are reused by content, and the embedder gets texts in large handfuls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lore.protocols import Embedder, Store
from lore.types import Chunk, Document, EmbeddedDocument

if TYPE_CHECKING:
    from lore.types import Matrix, Vector

__all__ = ["EntryWriter"]

WRITE_CHUNKS = 512
WRITE_DOCUMENTS = 256


class EntryWriter:
    """Embeds and stores documents in groups; `flush` ends it. What was written is in `written`.

    `write` stores a group (default: `store.replace`). Vectors are taken from the store, else from the `relatives`,
    which hold those of the same embedder, and only then made.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        write: Callable[[Sequence[EmbeddedDocument]], object] | None = None,
        relatives: Sequence[Store] = (),
    ) -> None:
        self._stores = (store, *relatives)
        self._write = write or store.replace
        self._embedder = embedder
        self._waiting: dict[str, tuple[Document, str, Sequence[Chunk]]] = {}
        self._waiting_chunks = 0
        self.written: list[str] = []
        self.chunks = 0
        self.embedding_calls = 0
        self.embedded_texts = 0

    def add(self, document: Document, fingerprint: str, chunks: Sequence[Chunk]) -> None:
        """Take a document in; it is stored with others, at the latest by `flush`."""
        self._waiting[document.id] = (document, fingerprint, chunks)
        self._waiting_chunks += len(chunks)
        if self._waiting_chunks >= WRITE_CHUNKS or len(self._waiting) >= WRITE_DOCUMENTS:
            self.flush()

    def flush(self) -> None:
        """Store what is waiting. Raises ModelError or StoreError; what was stored before stays."""
        if not self._waiting:
            return
        waiting = list(self._waiting.values())
        vectors = self._vectors([chunk for _, _, chunks in waiting for chunk in chunks])
        self._write(
            [
                EmbeddedDocument(document, fingerprint, tuple(chunks), self._matrix(chunks, vectors))
                for document, fingerprint, chunks in waiting
            ]
        )
        self.written.extend(document.id for document, _, _ in waiting)
        self.chunks += sum(len(chunks) for _, _, chunks in waiting)
        self._waiting, self._waiting_chunks = {}, 0

    def _vectors(self, chunks: Sequence[Chunk]) -> dict[str, Vector]:
        """A vector for each content hash: from a store where the same text was embedded before."""
        texts = {chunk.content_hash: chunk.embedded_text for chunk in chunks}
        vectors: dict[str, Vector] = {}
        missing = list(texts)
        for store in self._stores:
            if missing:
                vectors |= store.vectors_for(missing)
                missing = [content_hash for content_hash in missing if content_hash not in vectors]
        if missing:
            embedded = self._embedder.embed_documents([texts[content_hash] for content_hash in missing])
            self.embedding_calls += 1
            self.embedded_texts += len(missing)
            vectors |= dict(zip(missing, embedded, strict=True))
        return vectors

    def _matrix(self, chunks: Sequence[Chunk], vectors: dict[str, Vector]) -> Matrix:
        import numpy as np

        rows = np.zeros((len(chunks), self._embedder.dimensions), dtype=np.float32)
        for row, chunk in zip(rows, chunks, strict=True):
            row[:] = vectors[chunk.content_hash]
        return rows
