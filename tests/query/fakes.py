"""An index in memory, a pipeline over it, and passages to check answers against."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from lore.errors import LoreError
from lore.protocols import ChatModel, Embedder, Index, Reranker
from lore.query.deadlines import Deadlines
from lore.query.pipeline import Pipeline, PipelineModels, PipelineSettings
from lore.types import PUBLIC, Chunk, Counts, Document, Hit


def make_chunk(name: str, text: str, **changes: object) -> Chunk:
    values: dict[str, object] = {
        "id": f"chunk-{name}",
        "document_id": f"docs:{name}",
        "source_id": "docs",
        "url": f"https://docs.example.com/{name}",
        "title": f"Page {name}",
        "headings": (),
        "text": text,
        "position": 0,
        "start": 0,
        "end": len(text),
    }
    return Chunk(**(values | changes))  # type: ignore[arg-type]


def make_hit(name: str, text: str, score: float = 1.0, **changes: object) -> Hit:
    return Hit(make_chunk(name, text, **changes), score)


class MemoryIndex:
    """Searches by cosine, or by words without a vector; records every search and every page read.

    With `failing` every search fails, or only those of the wordings in `failing_wordings`.
    """

    def __init__(
        self,
        chunks: Sequence[Chunk],
        embedder: Embedder,
        failing: LoreError | None = None,
        *,
        failing_wordings: Sequence[str] = (),
        pages: Sequence[Document] = (),
    ) -> None:
        self.chunks = list(chunks)
        self.pages: dict[str, Document | LoreError] = {page.id: page for page in pages}
        self.read: list[str] = []
        self._failing_wordings = failing_wordings
        self.searches: list[tuple[str, int, float, tuple[str, ...], tuple[str, ...]]] = []
        self.threads: set[str] = set()
        self.barrier: threading.Barrier | None = None
        self._failing = failing
        self._vectors = (
            embedder.embed_documents([chunk.passage for chunk in chunks]) if chunks else np.zeros((0, 1), np.float32)
        )

    def snapshot(self) -> MemoryIndex:
        return self

    def version(self) -> int | None:
        return 7

    def search(
        self,
        text: str,
        vector: np.ndarray | None,
        limit: int,
        alpha: float,
        sources: Sequence[str] = (),
        audiences: Sequence[str] = (PUBLIC,),
    ) -> list[Hit]:
        self.searches.append((text, limit, alpha, tuple(sources), tuple(audiences)))
        self.threads.add(threading.current_thread().name)
        if self.barrier:
            self.barrier.wait(timeout=5)
        if self._failing and (not self._failing_wordings or text in self._failing_wordings):
            raise self._failing
        if vector is None:
            words = set(text.lower().split())
            found = [Hit(chunk, float(len(words & set(chunk.passage.lower().split())))) for chunk in self.chunks]
            return sorted((hit for hit in found if hit.score), key=lambda hit: -hit.score)[:limit]
        hits = [
            Hit(chunk, float(row @ vector), vector_score=float(row @ vector), vector=row)
            for chunk, row in zip(self.chunks, self._vectors, strict=True)
            if (not sources or chunk.source_id in sources) and set(chunk.audiences) & set(audiences)
        ]
        return sorted(hits, key=lambda hit: -hit.score)[:limit]

    def document(self, document_id: str) -> Document | None:
        return next(self.documents(ids=[document_id]), None)

    def documents(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> Iterator[Document]:
        for document_id in ids if ids is not None else list(self.pages):
            self.read.append(document_id)
            page = self.pages.get(document_id)
            if isinstance(page, LoreError):
                raise page
            if page is not None and source_id in (None, page.source_id):
                yield page

    def count(self, source_id: str | None = None) -> Counts:
        held = [chunk for chunk in self.chunks if source_id in (None, chunk.source_id)]
        return Counts(len({chunk.document_id for chunk in held}), len(held), len(held))


def pipeline_over(
    index: Index,
    embedder: Embedder,
    reranker: Reranker | None = None,
    chat: ChatModel | None = None,
    *,
    retrieve_limit: int = 100,
    rerank_limit: int = 3,
    deadlines: Deadlines | None = None,
    **parts: Any,
) -> Pipeline:
    """Return a pipeline with equal weights of vector and keyword ranking."""
    settings = PipelineSettings(0.5, retrieve_limit, rerank_limit, deadlines or Deadlines())
    return Pipeline(index, PipelineModels(embedder, reranker, chat), settings, **parts)


class ReversingReranker:
    """Reverses the candidates, or fails."""

    name = "fake:reverse"

    def __init__(self, failing: LoreError | None = None) -> None:
        self.queries: list[str] = []
        self._failing = failing

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        self.queries.append(query)
        if self._failing:
            raise self._failing
        return list(reversed(hits))[:limit]
