"""Hybrid search for every wording of a question, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from include.lore.protocols import Embedder, Index
from include.lore.types import Hit, Question

if TYPE_CHECKING:
    from include.lore.types import Vector

__all__ = ["retrieve"]


def retrieve(
    index: Index, embedder: Embedder, wordings: Sequence[str], question: Question, *, limit: int, alpha: float
) -> list[list[Hit]]:
    """The best `limit` chunks for each wording, in the wordings' order, from what the asker may see.

    Raises ModelError when the embedder fails and StoreError when one of the searches does: half a search would look
    like an answer that is not there.
    """
    vectors = [embedder.embed_query(wording) for wording in wordings]

    def search(wording: str, vector: Vector) -> list[Hit]:
        return index.search(wording, vector, limit, alpha, question.sources, question.audiences)

    if len(wordings) == 1:
        return [search(wordings[0], vectors[0])]
    with ThreadPoolExecutor(max_workers=len(wordings), thread_name_prefix="lore-search") as pool:
        return list(pool.map(search, wordings, vectors))
