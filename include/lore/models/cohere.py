"""Reranking by Cohere, or by any server that speaks its v2 API."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from include.lore.errors import ConfigurationError, ModelError
from include.lore.models.failures import model_error
from include.lore.types import Hit

if TYPE_CHECKING:
    from cohere import ClientV2

__all__ = ["CohereReranker"]

DEFAULT_BASE_URL = "https://api.cohere.com"
KEYLESS = "none"
MAX_TOKENS_PER_DOCUMENT = 1024
MAX_CHARACTERS = 8 * MAX_TOKENS_PER_DOCUMENT
"""What is sent of a passage; the service itself cuts to the tokens."""
MAX_DOCUMENTS = 1000


class CohereReranker:
    """Orders passages by Cohere's relevance score, 0 to 1, in one call for up to 1,000 hits; later hits are left out.

    Failed calls are repeated by the SDK up to `max_retries` times, waiting as Retry-After says but at most a minute.
    Raises ConfigurationError without a key for Cohere itself, ModelError for anything that a call ends in, also an
    answer that names too few passages, one twice, or one that was not sent.
    """

    def __init__(
        self, model: str, *, api_key: str | None, base_url: str | None, timeout: float, max_retries: int
    ) -> None:
        if not api_key and not base_url:
            raise ConfigurationError(
                f"The reranker cohere:{model} needs a key.",
                remedy='Set LORE_COHERE_API_KEY, or LORE_RERANKER to "local".',
            )
        self.name = f"cohere:{model}"
        self._model = model
        self._api_key = api_key
        self._base_url = base_url or DEFAULT_BASE_URL
        self._timeout = timeout
        self._max_retries = max_retries
        self._lock = threading.Lock()

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        if not hits or limit <= 0:  # no documents are an error 400 to the service
            return []
        candidates = list(hits[:MAX_DOCUMENTS])
        try:
            response = self._client().rerank(
                model=self._model,
                query=_sendable(query),
                documents=[_sendable(hit.chunk.passage) for hit in candidates],
                top_n=min(limit, len(candidates)),
                max_tokens_per_doc=MAX_TOKENS_PER_DOCUMENT,
                request_options={"retry_remote_protocol_errors": True},  # reranking twice changes nothing
            )
            scores = self._scores(response.results, len(candidates), min(limit, len(candidates)))
        except Exception as error:  # the SDK raises ApiError, httpx's errors, and whatever malformed JSON leads to
            raise model_error(error, model=self.name, setting="LORE_COHERE", secret=self._api_key) from None
        best = sorted(scores, key=lambda index: -scores[index])[:limit]
        return [replace(candidates[index], score=scores[index]) for index in best]

    def _scores(self, results: Sequence[Any], count: int, wanted: int) -> dict[int, float]:
        """Score by index. The SDK does not validate what it parses, so nothing is taken on trust."""
        scores: dict[int, float] = {}
        for result in results:
            index, score = result.index, result.relevance_score
            if not isinstance(index, int) or not 0 <= index < count or index in scores:
                raise ModelError(f"{self.name} ranked a passage that was not sent, or one twice.")
            if not isinstance(score, int | float) or not math.isfinite(score):
                raise ModelError(f"{self.name} gave a score that is not a number.")
            scores[index] = float(score)
        if len(scores) < wanted:
            raise ModelError(f"{self.name} ranked {len(scores)} passages where {wanted} were asked for.")
        return scores

    def _client(self) -> ClientV2:
        with self._lock:
            return self._made_client

    @cached_property
    def _made_client(self) -> ClientV2:
        from cohere import ClientV2

        return ClientV2(
            api_key=self._api_key or KEYLESS,
            base_url=self._base_url,
            timeout=self._timeout,
            max_retries=self._max_retries,
            log_warning_experimental_features=False,
        )


def _sendable(text: str) -> str:
    """Valid UTF-8, bounded, and not empty."""
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8") or " "
