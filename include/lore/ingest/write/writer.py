"""Documents gathered into writes: vectors are reused by content, and the rest is embedded in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from lore.errors import LoreError
from lore.ingest.report import ProgressCallback, no_progress
from lore.ingest.write.interrupts import deferred_interrupt
from lore.protocols import Embedder, Store
from lore.types import Chunk, Document, EmbeddedDocument

if TYPE_CHECKING:
    from lore.types import Matrix, Vector

__all__ = ["EntryWriter"]

WRITE_CHUNKS = 512
WRITE_DOCUMENTS = 256
WRITE_SECONDS = 15.0
"""A document waits no longer for others, so that slow conversions and summaries are kept as they go."""
BATCH_SECONDS = 1.0
"""Time that a batch of texts should take to embed: progress moves as often, and an interrupt waits no longer."""
SMALLEST_BATCH = 32


@dataclass(frozen=True, slots=True)
class _WaitingDocument:
    """A document that waits to be stored; `hashes` are the content hashes of its chunks."""

    document: Document
    fingerprint: str
    chunks: tuple[Chunk, ...]
    hashes: tuple[str, ...]


class EntryWriter:
    """Embeds and stores documents in groups; call `flush` at the end. `written` are the ids of stored documents.

    `write` stores a group (default: `store.replace`); an interrupt waits for its end. Vectors come from the store, else
    from the `relatives`, stores of the same embedder, else from the embedder. `on_progress` receives the number of
    embedded documents and of their chunks. Whatever ends the embedding of a group early, the documents embedded until
    then are stored.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        write: Callable[[Sequence[EmbeddedDocument]], object] | None = None,
        relatives: Sequence[Store] = (),
        on_progress: ProgressCallback = no_progress,
    ) -> None:
        self._stores = (store, *relatives)
        self._write = write or store.replace
        self._embedder = embedder
        self._on_progress = on_progress
        self._waiting: dict[str, _WaitingDocument] = {}
        self._waiting_chunks = 0
        self._waiting_since = 0.0
        self._batch = SMALLEST_BATCH
        self.written: list[str] = []
        self.chunks = 0
        self.embedding_calls = 0
        self.embedded_texts = 0

    def add(self, document: Document, fingerprint: str, chunks: Sequence[Chunk]) -> None:
        """Take a document in; it is stored together with others, at the latest by `flush`."""
        if not self._waiting:
            self._waiting_since = monotonic()
        hashes = tuple(chunk.content_hash for chunk in chunks)
        self._waiting[document.id] = _WaitingDocument(document, fingerprint, tuple(chunks), hashes)
        self._waiting_chunks += len(chunks)
        if (
            self._waiting_chunks >= WRITE_CHUNKS
            or len(self._waiting) >= WRITE_DOCUMENTS
            or monotonic() - self._waiting_since >= WRITE_SECONDS
        ):
            self.flush()

    def flush(self) -> None:
        """Store what is waiting. Raises ModelError or StoreError; what was stored before stays."""
        group = list(self._waiting.values())
        self._waiting, self._waiting_chunks = {}, 0
        if not group:
            return
        vectors: dict[str, Vector] = {}
        try:
            for done in self._embed(group, vectors):
                self._on_progress(len(self.written) + done, self.chunks + _chunks(group[:done]))
        except BaseException:
            with suppress(LoreError):  # the first error says more
                self._store(group[: _complete(group, vectors)], vectors)
            raise
        self._store(group, vectors)

    def _store(self, group: Sequence[_WaitingDocument], vectors: dict[str, Vector]) -> None:
        if not group:
            return
        with deferred_interrupt():
            self._write(
                [
                    EmbeddedDocument(one.document, one.fingerprint, one.chunks, self._matrix(one, vectors))
                    for one in group
                ]
            )
            self.written.extend(one.document.id for one in group)
            self.chunks += _chunks(group)

    def _embed(self, group: Sequence[_WaitingDocument], vectors: dict[str, Vector]) -> Iterator[int]:
        """Fill in a vector for each content hash; yields how many of the documents are complete, from the first on."""
        texts = {
            content_hash: chunk.embedded_text
            for one in group
            for content_hash, chunk in zip(one.hashes, one.chunks, strict=True)
        }
        missing = list(texts)
        for store in self._stores:
            if missing:
                vectors |= store.vectors_for(missing)
                missing = [content_hash for content_hash in missing if content_hash not in vectors]
        yield _complete(group, vectors)
        while missing:
            batch, missing = missing[: self._batch], missing[self._batch :]
            started = monotonic()
            embedded = self._embedder.embed_documents([texts[content_hash] for content_hash in batch])
            self.embedding_calls += 1
            self.embedded_texts += len(batch)
            vectors |= dict(zip(batch, embedded, strict=True))
            rate = len(batch) / max(monotonic() - started, 1e-6)
            self._batch = min(max(round(rate * BATCH_SECONDS), SMALLEST_BATCH), WRITE_CHUNKS)
            yield _complete(group, vectors)

    def _matrix(self, one: _WaitingDocument, vectors: dict[str, Vector]) -> Matrix:
        import numpy as np

        rows = np.zeros((len(one.chunks), self._embedder.dimensions), dtype=np.float32)
        for row, content_hash in zip(rows, one.hashes, strict=True):
            row[:] = vectors[content_hash]
        return rows


def _complete(group: Sequence[_WaitingDocument], vectors: dict[str, Vector]) -> int:
    """Return how many documents, from the first on, have a vector for each chunk."""
    return next((number for number, one in enumerate(group) if not vectors.keys() >= set(one.hashes)), len(group))


def _chunks(group: Sequence[_WaitingDocument]) -> int:
    return sum(len(one.chunks) for one in group)
