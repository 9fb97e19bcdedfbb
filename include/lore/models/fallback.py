"""A reranker with a fallback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lore.errors import ModelError
from lore.protocols import OnUsage, Reranker
from lore.types import Hit, Reranking

__all__ = ["RerankerChain"]


class _MeteredReranker(Protocol):
    """A reranker that costs money and reports its usage."""

    @property
    def name(self) -> str: ...

    def rerank(self, query: str, hits: Sequence[Hit], limit: int, *, on_usage: OnUsage | None = None) -> list[Hit]: ...


class RerankerChain:
    """Reranks by `first`, or by `then` if that fails, is too slow, or is over budget."""

    def __init__(self, first: _MeteredReranker, then: Reranker) -> None:
        self.name = first.name
        self.parts: tuple[Reranker, ...] = (first, then)
        self._first = first
        self._then = then

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        return list(self.rank(query, hits, limit).hits)

    def rank(
        self, query: str, hits: Sequence[Hit], limit: int, *, refusal: str = "", on_usage: OnUsage | None = None
    ) -> Reranking:
        """The best passages and the reranker's name; a note says why it was not the first. Raises what `then` does."""
        note = refusal
        if not refusal:
            try:
                return Reranking(tuple(self._first.rerank(query, hits, limit, on_usage=on_usage)), self._first.name)
            except ModelError as error:
                note = f"The passages were ordered by {self._then.name}, because {error}"
        return Reranking(tuple(self._then.rerank(query, hits, limit)), self._then.name, (note,))
