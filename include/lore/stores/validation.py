"""Input that a store rejects before it reads or writes anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lore.errors import StoreError
from lore.types import EmbeddedDocument

if TYPE_CHECKING:
    from lore.types import Matrix, Vector


QUERY_CHARACTERS = 10_000
"""Longer questions are cut here before a keyword search."""


def check_query(vector: Vector | None, alpha: float, dimensions: int) -> None:
    """Raise StoreError for a query vector that is missing, misshapen or not finite."""
    if vector is None and alpha > 0:
        raise StoreError("A search with alpha above 0 needs a vector.")
    if vector is not None and vector.shape != (dimensions,):
        raise StoreError(f"The query's vector has shape {vector.shape}; the index takes ({dimensions},).")
    if vector is not None and not _finite(vector):
        raise StoreError("The query's vector has an infinite or NaN component.")


def check_entries(entries: Sequence[EmbeddedDocument], dimensions: int) -> None:
    """Raise StoreError for the first invalid entry, so that a store writes all entries of a call or none."""
    documents: set[str] = set()
    chunks: set[str] = set()
    for entry in entries:
        name, vectors = entry.document.id, entry.vectors
        if name in documents:
            raise StoreError(f"Document {name!r} occurs twice in one write.")
        documents.add(name)
        if len(vectors) != len(entry.chunks) or (entry.chunks and vectors.shape[1:] != (dimensions,)):
            raise StoreError(
                f"Document {name!r} has {len(entry.chunks)} chunks and vectors of shape {vectors.shape}; "
                f"the index takes ({len(entry.chunks)}, {dimensions})."
            )
        if not _finite(vectors):
            raise StoreError(f"A vector of document {name!r} has an infinite or NaN component.")
        for chunk in entry.chunks:
            if chunk.id in chunks:
                raise StoreError(f"Chunk id {chunk.id!r} occurs twice in one write, the second time in {name!r}.")
            if chunk.document_id != name:
                raise StoreError(
                    f"Chunk {chunk.id!r} of document {name!r} names {chunk.document_id!r} as its document."
                )
            chunks.add(chunk.id)


def _finite(numbers: Vector | Matrix) -> bool:
    import numpy as np

    return bool(np.isfinite(numbers).all())
