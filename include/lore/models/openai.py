"""Embeddings by OpenAI, or by any server with its API."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lore.errors import ConfigurationError, ModelError, require
from lore.models.calls import ModelCalls
from lore.models.failures import model_error
from lore.models.limiter import Limiter
from lore.protocols import OnUsage, Prices
from lore.types import Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from lore.types import Matrix, Vector

__all__ = ["OpenAIEmbedder"]

DEFAULT_BASE_URL = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY (or LORE_OPENAI_API_KEY)"
KEYLESS = "none"
"""Sent to a server that needs no key: the SDK must send one."""
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
FIXED = {"text-embedding-ada-002"}
KNOWN_MAX_TOKENS = 8191
UNKNOWN_MAX_TOKENS = 512
MAX_TEXT_BYTES = KNOWN_MAX_TOKENS
"""No token is shorter than a byte, so any text fits OpenAI's models; passages are far shorter."""
MAX_INPUTS = 128
"""OpenAI accepts 2,048; fewer keep a request to a slow server within the timeout."""
MAX_REQUEST_BYTES = 250_000
"""OpenAI accepts 300,000 tokens per request, and no token is shorter than a byte."""


class OpenAIEmbedder:
    """Embeds through the embeddings API, at most 128 texts per request.

    A request ends within `timeout` seconds. A failed one is repeated up to `max_retries` times, honouring Retry-After:
    for documents up to two minutes, for a question within its timeout. Texts are cut to `MAX_TEXT_BYTES`. The first use
    requests the dimensions of a model that is not OpenAI's. `on_usage` gets the usage of each request. Raises
    ConfigurationError without a key for OpenAI itself, and ModelError for any failed request or invalid reply.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None,
        base_url: str | None,
        dimensions: int | None,
        timeout: float,
        max_retries: int,
        prices: Prices | None = None,
        limiter: Limiter | None = None,
        on_usage: OnUsage | None = None,
    ) -> None:
        require("openai", "openai", f"The embedder openai:{model}")
        if not api_key and not base_url:
            raise ConfigurationError(
                f"The embedder openai:{model} needs a key.",
                remedy=f"Set {KEY}, or LORE_OPENAI_BASE_URL to a server of your own.",
            )
        if dimensions is not None and model in FIXED:
            raise ConfigurationError(
                f"The vectors of {model} can't be shortened.", remedy="Unset LORE_EMBEDDING_DIMENSIONS."
            )
        self._model = model
        self._api_key = api_key
        self._base_url = base_url or DEFAULT_BASE_URL
        self._shortened = dimensions if dimensions != DIMENSIONS.get(model) else None
        self._timeout = timeout
        self._prices = prices
        self._on_usage = on_usage
        self._calls = ModelCalls(self.name, timeout, max_retries, self._failure, limiter or Limiter(8))
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return f"openai:{self._model}" + (f"@{self._shortened}" if self._shortened else "")

    @property
    def max_tokens(self) -> int:
        return KNOWN_MAX_TOKENS if self._model in DIMENSIONS else UNKNOWN_MAX_TOKENS

    @cached_property
    def dimensions(self) -> int:
        """The dimensions of the vectors. Raises ModelError if the server must be asked and fails."""
        known = self._shortened or DIMENSIONS.get(self._model)
        return known or int(self._request(["dimensions"]).shape[1])

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, patient=True)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._embed([text])[0]
        return vector

    def _embed(self, texts: Sequence[str], *, patient: bool = False) -> Matrix:
        dimensions = self.dimensions
        vectors = np.empty((len(texts), dimensions), dtype=np.float32)
        done = 0
        for batch in _batches([_sendable(text) for text in texts]):
            rows = self._request(batch, patient=patient)
            if rows.shape[1] != dimensions:
                raise ModelError(
                    f"{self.name} returned vectors of {rows.shape[1]} dimensions instead of {dimensions}.",
                    remedy="Check LORE_EMBEDDER and LORE_EMBEDDING_DIMENSIONS.",
                )
            vectors[done : done + len(batch)] = rows
            done += len(batch)
        return vectors

    def _request(self, texts: list[str], *, patient: bool = False) -> Matrix:
        """One request: unit vectors in the order of the texts."""
        options: dict[str, Any] = {"dimensions": self._shortened} if self._shortened else {}
        client = self._client()

        async def call() -> Any:
            return await client.embeddings.create(model=self._model, input=texts, **options)

        response = self._calls.run(call, patient=patient)
        try:
            self._report_usage(response)
            rows = {item.index: item.embedding for item in response.data}
            if len(response.data) != len(texts) or set(rows) != set(range(len(texts))):
                raise ModelError(f"{self.name} returned {len(response.data)} vectors for {len(texts)} texts.")
            vectors = np.array([rows[index] for index in range(len(texts))], dtype=np.float32)
        except Exception as error:  # the SDK raises ValueError, TypeError and others for malformed replies
            raise self._failure(error) from None
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True) if vectors.ndim == 2 else np.zeros(1)
        if not (np.isfinite(norms) & (norms > 0)).all():
            raise ModelError(f"{self.name} returned an invalid vector: empty, zero, infinite or NaN.")
        return np.asarray(vectors / norms, dtype=np.float32)

    def _report_usage(self, response: Any) -> None:
        if self._on_usage:
            tokens = getattr(response.usage, "prompt_tokens", None)
            cost = self._prices.cost(f"openai:{self._model}", tokens, 0) if self._prices and tokens else None
            self._on_usage(Usage(self.name, "", tokens, None, cost))

    def _failure(self, error: Exception) -> ModelError:
        return model_error(error, model=self.name, setting="LORE_OPENAI", key=KEY, secret=self._api_key)

    def _client(self) -> AsyncOpenAI:
        with self._lock:
            return self._made_client

    @cached_property
    def _made_client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self._api_key or KEYLESS,
            base_url=self._base_url,
            timeout=self._timeout,
            max_retries=0,
        )


def _sendable(text: str) -> str:
    """The text as valid UTF-8 of limited length, a space if it is empty: the API rejects empty texts."""
    return text[:MAX_TEXT_BYTES].encode("utf-8", "replace")[:MAX_TEXT_BYTES].decode("utf-8", "ignore") or " "


def _batches(texts: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if batch and (len(batch) == MAX_INPUTS or size + length > MAX_REQUEST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch
