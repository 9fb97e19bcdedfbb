"""Hybrid search for all wordings of a question at once, complete or as far as its parts succeed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lore.errors import LoreError, ModelError, StoreError
from lore.protocols import Embedder, Index
from lore.query.deadlines import TimeLimit
from lore.types import Hit, Question

if TYPE_CHECKING:
    from lore.types import Vector

__all__ = ["Retrieval", "retrieve"]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The hits of each wording, in the wordings' order (none for a failed one), and notes on failures."""

    results: tuple[tuple[Hit, ...], ...]
    notes: tuple[str, ...] = ()


def retrieve(
    index: Index,
    embedder: Embedder,
    wordings: Sequence[str],
    question: Question,
    *,
    limit: int,
    alpha: float,
    time: TimeLimit,
) -> Retrieval:
    """Return the best `limit` chunks that the asker may see for each wording; half of `time` is for embedding.

    A wording that can't be embedded is searched by keyword only; a wording whose search fails is left out. Raises
    StoreError if every search fails, and any error that a person must correct.
    """
    half = time.share(0.5)
    vectors, notes = _vectors(embedder, wordings, half)

    def search(wording: str, vector: Vector | None) -> Sequence[Hit]:
        weight = alpha if vector is not None else 0.0
        return index.search(wording, vector, limit, weight, question.sources, question.audiences)

    searches = [partial(search, *each) for each in zip(wordings, vectors, strict=True)]
    found = half.call_all(searches, "The search", StoreError)
    failures = _failures(found, StoreError)
    if failures:
        if len(failures) == len(found):
            raise failures[0]
        notes.append(f"{len(failures)} of {len(found)} wordings couldn't be searched for: {failures[0]}")
    return Retrieval(tuple(() if isinstance(hits, LoreError) else tuple(hits) for hits in found), tuple(notes))


def _vectors(embedder: Embedder, wordings: Sequence[str], time: TimeLimit) -> tuple[list[Vector | None], list[str]]:
    embedded = time.call_all([partial(embedder.embed_query, wording) for wording in wordings], "Embedding the question")
    failures = _failures(embedded, ModelError)
    notes = []
    if failures:
        share = "It was" if len(failures) == len(wordings) else f"{len(failures)} of {len(wordings)} wordings were"
        notes.append(f"{share} searched for by keyword only, because the embedder failed: {failures[0]}")
    return [None if isinstance(vector, LoreError) else vector for vector in embedded], notes


def _failures(results: Sequence[object], expected: type[LoreError]) -> list[LoreError]:
    """Return the errors among results. Raises one that isn't of the expected type: it is a person's to correct."""
    failures = [result for result in results if isinstance(result, LoreError)]
    for failure in failures:
        if not isinstance(failure, expected):
            raise failure
    return failures
