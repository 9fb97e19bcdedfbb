"""A reranker with another behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lore.errors import ModelError
from lore.protocols import OnUsage, Reranker
from lore.types import Hit, Reranking

__all__ = ["RerankerChain"]


class _Paid(Protocol):
    """A reranker that costs something, and says what."""

    @property
    def name(self) -> str: ...

    def rerank(self, query: str, hits: Sequence[Hit], limit: int, *, on_usage: OnUsage | None = None) -> list[Hit]: ...


class RerankerChain:
    """Orders passages by `first`, and by `then` where that fails, is too slow, or may not be paid for."""

    def __init__(self, first: _Paid, then: Reranker) -> None:
        self.name = first.name
        self.parts: tuple[Reranker, ...] = (first, then)
        self._first = first
        self._then = then

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        return list(self.rank(query, hits, limit).hits)

    def rank(
        self, query: str, hits: Sequence[Hit], limit: int, *, refusal: str = "", on_usage: OnUsage | None = None
    ) -> Reranking:
        """The best passages, and by whom; why not by the first is in the notes. Raises what the second one raises."""
        note = refusal
        if not refusal:
            try:
                return Reranking(tuple(self._first.rerank(query, hits, limit, on_usage=on_usage)), self._first.name)
            except ModelError as error:
                note = f"The passages were ordered by {self._then.name}, because {error}"
        return Reranking(tuple(self._then.rerank(query, hits, limit)), self._then.name, (note,))
