"""The retrievers by vector indexes of others: the ways `faiss` and `chroma`, for comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lore.databases.retrieve.texts import table_text
from lore.databases.retrieve.vectors import VectorFiles
from lore.databases.schema.model import DatabaseSchema
from lore.errors import DatabaseError, require

__all__ = ["ChromaRetriever", "FaissRetriever"]

EXTRA = "sql-compare"
BATCH = 1_000


class FaissRetriever:
    """Tables by cosine, from a flat index of FAISS."""

    name = "faiss"

    def __init__(self, vectors: VectorFiles) -> None:
        self._vectors = vectors
        self._index: Any = None
        self._fingerprint = ""

    def rank(self, question: str, schema: DatabaseSchema, limit: int) -> list[str]:
        """Return the best tables. Raises ModelError, and MissingPackageError without faiss."""
        require("faiss", EXTRA, "Schema retrieval by faiss")
        import faiss

        if self._fingerprint != schema.fingerprint:
            vectors = self._vectors.embed([table_text(table) for table in schema.tables.values()])
            self._index = faiss.IndexFlatIP(vectors.shape[1])
            self._index.add(vectors)
            self._fingerprint = schema.fingerprint
        _, found = self._index.search(self._vectors.embedder.embed_query(question)[None, :], limit)
        names = list(schema.tables)
        return [names[place] for place in found[0] if place >= 0]


class ChromaRetriever:
    """Tables by cosine, from a persistent collection of Chroma, which is made anew when the schema changes."""

    name = "chroma"

    def __init__(self, vectors: VectorFiles, folder: Path) -> None:
        self._vectors = vectors
        self._folder = folder
        self._collection: Any = None
        self._fingerprint = ""

    def rank(self, question: str, schema: DatabaseSchema, limit: int) -> list[str]:
        """Return the best tables. Raises ModelError, DatabaseError, and MissingPackageError without chromadb."""
        require("chromadb", EXTRA, "Schema retrieval by chroma")
        try:
            if self._fingerprint != schema.fingerprint:
                self._collection = self._open(schema)
                self._fingerprint = schema.fingerprint
            query = self._vectors.embedder.embed_query(question).tolist()
            found = self._collection.query(query_embeddings=[query], n_results=min(limit, len(schema.tables)))
        except (OSError, ValueError, RuntimeError) as error:
            raise DatabaseError(f"Chroma failed: {type(error).__name__}.") from None
        return [name for name in found["ids"][0] if name in schema.tables]

    def _open(self, schema: DatabaseSchema) -> Any:
        import chromadb
        from chromadb.config import Settings

        settings = Settings(anonymized_telemetry=False)
        client: Any = chromadb.PersistentClient(path=str(self._folder), settings=settings)
        texts = [table_text(table) for table in schema.tables.values()]
        name = f"tables-{self._vectors.key(texts)[:40]}"
        options = {"metadata": {"hnsw:space": "cosine"}, "embedding_function": None}
        collection = client.get_or_create_collection(name, **options)
        if collection.count() != len(texts):
            vectors, names = self._vectors.embed(texts).tolist(), list(schema.tables)
            for start in range(0, len(names), BATCH):
                collection.upsert(ids=names[start : start + BATCH], embeddings=vectors[start : start + BATCH])
        return collection
