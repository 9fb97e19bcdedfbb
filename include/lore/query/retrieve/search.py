"""Hybrid search for every wording of a question, side by side, with what can be had where a part of it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lore.errors import LoreError, ModelError, StoreError
from lore.protocols import Embedder, Index
from lore.query.deadlines import each_within
from lore.types import Hit, Question

if TYPE_CHECKING:
    from lore.types import Vector

__all__ = ["Retrieval", "retrieve"]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The hits of each wording, in the wordings' order (none for one that failed), and notes on what was left out."""

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
    seconds: float,
) -> Retrieval:
    """The best `limit` chunks for each wording, from what the asker may see; half of `seconds` are for embedding.

    A wording that cannot be embedded is searched by keyword only, and one whose search fails is left out. Raises
    StoreError when no search comes to its end, and at once any error that a person must mend.
    """
    vectors, notes = _vectors(embedder, wordings, seconds / 2)

    def search(wording: str, vector: Vector | None) -> Sequence[Hit]:
        weight = alpha if vector is not None else 0.0
        return index.search(wording, vector, limit, weight, question.sources, question.audiences)

    searches = [partial(search, *each) for each in zip(wordings, vectors, strict=True)]
    late = StoreError(f"The search took longer than {seconds / 2:g} s.", remedy="Raise LORE_SEARCH_SECONDS.")
    found = each_within(seconds / 2, searches, late)
    failures = [result for result in found if isinstance(result, LoreError)]
    _raise_for_people(failures, StoreError)
    if failures:
        if len(failures) == len(found):
            raise failures[0]
        notes.append(f"{len(failures)} of {len(found)} wordings could not be searched for: {failures[0]}")
    return Retrieval(tuple(() if isinstance(hits, LoreError) else tuple(hits) for hits in found), tuple(notes))


def _vectors(embedder: Embedder, wordings: Sequence[str], seconds: float) -> tuple[list[Vector | None], list[str]]:
    late = ModelError(f"Embedding the question took longer than {seconds:g} s.", remedy="Raise LORE_SEARCH_SECONDS.")
    embedded = each_within(seconds, [partial(embedder.embed_query, wording) for wording in wordings], late)
    failures = [result for result in embedded if isinstance(result, LoreError)]
    _raise_for_people(failures, ModelError)
    notes = []
    if failures:
        share = "It" if len(failures) == len(wordings) else f"{len(failures)} of {len(wordings)} wordings"
        was = "was" if share == "It" else "were"
        notes.append(f"{share} {was} searched for by keyword only, because the embedder failed: {failures[0]}")
    return [None if isinstance(vector, LoreError) else vector for vector in embedded], notes


def _raise_for_people(failures: Sequence[LoreError], expected: type[LoreError]) -> None:
    """Raise the first error that is none of the service but of the settings: going on would hide it."""
    for failure in failures:
        if not isinstance(failure, expected):
            raise failure
