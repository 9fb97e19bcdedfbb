"""Reranking by Cohere, or by any server with its v2 API."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lore.errors import ConfigurationError, ModelError, require
from lore.models.breaker import CircuitBreaker
from lore.models.calls import ModelCalls
from lore.models.failures import model_error
from lore.models.limiter import Limiter
from lore.protocols import OnUsage, Prices
from lore.types import Hit, Usage

if TYPE_CHECKING:
    from cohere import AsyncClientV2

__all__ = ["CohereReranker"]

DEFAULT_BASE_URL = "https://api.cohere.com"
KEY = "COHERE_API_KEY (or LORE_COHERE_API_KEY)"
KEYLESS = "none"
MAX_TOKENS_PER_DOCUMENT = 1024
MAX_CHARACTERS = 8 * MAX_TOKENS_PER_DOCUMENT
"""Passages are cut here before sending; the service cuts them to the tokens."""
MAX_DOCUMENTS = 1000
TIMEOUT_SETTING = "LORE_RERANKER_TIMEOUT_SECONDS"
HIGHEST_COUNT = 1e9
DOCUMENTS_A_SEARCH = 100
"""The documents in one search of Cohere's price list."""


class CohereReranker:
    """Orders passages by Cohere's relevance score, 0 to 1, in one call for up to 1,000 hits; omits later ones.

    A call ends within `timeout` seconds, including at most `max_retries` repeats that honour Retry-After. Raises
    ConfigurationError without a key for Cohere itself, MissingPackageError without its package, and ModelError for any
    failed call or invalid ranking.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None,
        base_url: str | None,
        timeout: float,
        max_retries: int,
        prices: Prices | None = None,
        limiter: Limiter | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        require("cohere", "cohere", f"The reranker cohere:{model}")
        if not api_key and not base_url:
            raise ConfigurationError(
                f"The reranker cohere:{model} needs a key.",
                remedy=f'Set {KEY}, or LORE_RERANKER to "local".',
            )
        self.name = f"cohere:{model}"
        self._model = model
        self._api_key = api_key
        self._base_url = base_url or DEFAULT_BASE_URL
        self._timeout = timeout
        self._prices = prices
        self._calls = ModelCalls(
            self.name, timeout, max_retries, self._failure, limiter or Limiter(8), breaker, TIMEOUT_SETTING
        )
        self._lock = threading.Lock()

    def rerank(self, query: str, hits: Sequence[Hit], limit: int, *, on_usage: OnUsage | None = None) -> list[Hit]:
        if not hits or limit <= 0:  # the service rejects a call without documents
            return []
        candidates, client = list(hits[:MAX_DOCUMENTS]), self._client()

        async def call() -> dict[int, float]:
            response = await client.rerank(
                model=self._model,
                query=_sendable(query),
                documents=[_sendable(hit.chunk.passage) for hit in candidates],
                top_n=min(limit, len(candidates)),
                max_tokens_per_doc=MAX_TOKENS_PER_DOCUMENT,
            )
            if on_usage:
                on_usage(self._usage(response, len(candidates)))
            return self._scores(response.results, len(candidates), min(limit, len(candidates)))

        scores = self._calls.run(call)
        best = sorted(scores, key=lambda index: -scores[index])[:limit]
        return [replace(candidates[index], score=scores[index]) for index in best]

    def _usage(self, response: Any, count: int) -> Usage:
        """The cost of the call: by the tokens or searches that the service reports, or by its rule for searches."""
        billed = getattr(response.meta, "billed_units", None)
        tokens, units = (_counted(getattr(billed, name, None)) for name in ("input_tokens", "search_units"))
        searches = math.ceil(count / DOCUMENTS_A_SEARCH) if units is None else units
        cost = self._prices.search_cost(self.name, searches) if self._prices else None
        if cost is None and self._prices and tokens is not None:
            cost = self._prices.cost(self.name, tokens, 0)
        return Usage(self.name, "", tokens, None, cost)

    def _failure(self, error: Exception) -> ModelError:
        # The SDK raises ApiError, httpx's errors, and whatever malformed JSON leads to.
        return model_error(error, model=self.name, setting="LORE_COHERE", key=KEY, secret=self._api_key)

    def _scores(self, results: Sequence[Any], count: int, wanted: int) -> dict[int, float]:
        """Index → score. Raises ModelError for an invalid ranking, because the SDK does not validate replies."""
        scores: dict[int, float] = {}
        for result in results:
            index, score = result.index, result.relevance_score
            if not isinstance(index, int) or not 0 <= index < count or index in scores:
                raise ModelError(f"{self.name} ranked a passage twice, or one that was not sent.")
            if not isinstance(score, int | float) or not math.isfinite(score):
                raise ModelError(f"{self.name} returned a score that is not a number.")
            scores[index] = float(score)
        if len(scores) < wanted:
            raise ModelError(f"{self.name} ranked {len(scores)} passages instead of {wanted}.")
        return scores

    def _client(self) -> AsyncClientV2:
        with self._lock:
            return self._made_client

    @cached_property
    def _made_client(self) -> AsyncClientV2:
        from cohere import AsyncClientV2

        return AsyncClientV2(
            api_key=self._api_key or KEYLESS,
            base_url=self._base_url,
            timeout=self._timeout,
            max_retries=0,
            log_warning_experimental_features=False,
        )


def _sendable(text: str) -> str:
    """Valid UTF-8, bounded, and not empty."""
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8") or " "


def _counted(value: object) -> int | None:
    """A reported count, from which costs are computed; None if it is missing or implausible."""
    return math.ceil(value) if isinstance(value, int | float) and 0 <= value < HIGHEST_COUNT else None
