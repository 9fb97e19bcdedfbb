"""One candidate list out of the hits of several wordings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from include.lore.types import Hit

__all__ = ["dedup"]


def dedup(results: Iterable[Sequence[Hit]]) -> list[Hit]:
    """Every passage once, best first.

    A chunk that several wordings found keeps its best hit. The same text in two documents, white space aside, counts
    once: two copies of a page would otherwise take two of the few places that an answer is written from.
    """
    seen_ids: set[str] = set()
    seen_texts: set[str] = set()
    kept: list[Hit] = []
    for hit in sorted((hit for hits in results for hit in hits), key=lambda hit: (-hit.score, hit.chunk.id)):
        if hit.chunk.id in seen_ids:
            continue
        seen_ids.add(hit.chunk.id)
        text = " ".join(hit.chunk.text.split())
        if text not in seen_texts:
            seen_texts.add(text)
            kept.append(hit)
    return kept
