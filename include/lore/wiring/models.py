"""The embedder, reranker and language models that the settings choose."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from lore.errors import ConfigurationError
from lore.wiring.secrets import secret

if TYPE_CHECKING:
    from pathlib import Path

    from lore.models.cohere import CohereReranker
    from lore.models.limiter import Limiter
    from lore.protocols import ChatModel, Embedder, OnUsage, Prices, Reranker
    from lore.settings import Settings

__all__ = [
    "make_chat_model",
    "make_embedder",
    "make_judge_model",
    "make_other_chat_model",
    "make_prices",
    "make_reranker",
    "make_verifier",
]

DEFAULT_COHERE_MODEL = "rerank-v4.0-pro"


@cache
def _limiter(size: int) -> Limiter:
    """Return the limiter of the whole process: it bounds concurrent calls of any kind."""
    from lore.models.limiter import Limiter

    return Limiter(size)


@cache
def _prices(own: Path | None) -> Prices:
    from lore.models.prices import load_prices

    return load_prices(own)


def make_prices(settings: Settings) -> Prices:
    """Return the price list; the entries of the settings' own file take precedence."""
    return _prices(settings.models.prices)


def make_embedder(settings: Settings, *, on_usage: OnUsage | None = None) -> Embedder:
    """Return the embedder that the settings name; it loads its weights on first use.

    `on_usage` receives the usage of each call of a remote one.
    """
    provider, _, model = settings.models.embedder.partition(":")
    if provider == "local" and not model:
        from lore.models.local import LocalEmbedder

        return LocalEmbedder(
            settings.project.cache_dir, model_dir=settings.models.local_model_dir, threads=settings.models.threads
        )
    if provider == "openai" and model:
        from lore.models.openai import OpenAIEmbedder

        return OpenAIEmbedder(
            model,
            api_key=secret(settings.providers.openai_api_key),
            base_url=settings.providers.openai_base_url,
            dimensions=settings.models.embedding_dimensions,
            timeout=settings.calls.timeout_seconds,
            max_retries=settings.calls.max_retries,
            prices=make_prices(settings),
            limiter=_limiter(settings.calls.max_concurrency),
            on_usage=on_usage,
        )
    if provider == "fastembed" and model:
        from lore.models.fastembed.embedder import FastEmbedEmbedder

        return FastEmbedEmbedder(model, cache_dir=settings.project.cache_dir, threads=settings.models.threads)
    raise ConfigurationError(
        f"Unknown embedder {settings.models.embedder!r}.",
        remedy='Set LORE_EMBEDDER to "local", "fastembed:MODEL" or "openai:MODEL".',
    )


def make_reranker(settings: Settings, embedder: Embedder) -> Reranker | None:
    """Return the reranker that the settings name, None for "none". Any other falls back to the local one."""
    provider, _, model = settings.models.reranker.partition(":")
    if provider == "auto" and not model:
        provider, model = ("cohere", DEFAULT_COHERE_MODEL) if settings.providers.cohere_api_key else ("local", "")
    if provider == "none" and not model:
        return None
    if (provider in ("cohere", "fastembed")) != bool(model) or provider not in ("local", "cohere", "fastembed"):
        raise ConfigurationError(
            f"Unknown reranker {settings.models.reranker!r}.",
            remedy='Set LORE_RERANKER to "auto", "local", "fastembed:MODEL", "cohere:MODEL" or "none".',
        )
    from lore.models.fallback import RerankerChain
    from lore.models.local_reranker import LocalReranker

    local = LocalReranker(embedder)
    if provider == "fastembed":
        from lore.models.fastembed.reranker import FastEmbedReranker

        cache_dir, threads = settings.project.cache_dir, settings.models.threads
        return RerankerChain(FastEmbedReranker(model, local, cache_dir=cache_dir, threads=threads), local)
    return RerankerChain(_cohere(settings, model), local) if model else local


def _cohere(settings: Settings, model: str) -> CohereReranker:
    from lore.models.breaker import CircuitBreaker
    from lore.models.cohere import CohereReranker

    return CohereReranker(
        model,
        api_key=secret(settings.providers.cohere_api_key),
        base_url=settings.providers.cohere_base_url,
        # The local reranker needs some of the stage's time, too.
        timeout=min(
            settings.query.reranker_timeout_seconds,
            settings.calls.timeout_seconds,
            0.75 * settings.query.rerank_seconds,
        ),
        max_retries=settings.calls.max_retries,
        prices=make_prices(settings),
        limiter=_limiter(settings.calls.max_concurrency),
        breaker=CircuitBreaker(),
    )


def make_chat_model(settings: Settings) -> ChatModel | None:
    """Return the chat model that the settings name, None if they name none."""
    if not settings.models.chat_model:
        return None
    from lore.models.breaker import CircuitBreaker
    from lore.models.chat import LangChainChatModel

    api_key, base_url = _chat_access(settings)
    return LangChainChatModel(
        settings.models.chat_model,
        api_key=api_key,
        base_url=base_url,
        timeout=settings.calls.timeout_seconds,
        max_retries=settings.calls.max_retries,
        stream_timeout=max(settings.calls.timeout_seconds, settings.query.answer_seconds),
        max_tokens=settings.models.max_output_tokens,
        prices=make_prices(settings),
        limiter=_limiter(settings.calls.max_concurrency),
        breaker=CircuitBreaker(),
    )


def make_judge_model(settings: Settings) -> ChatModel | None:
    """Return the chat model that judges answers: the judge model, else the chat model; None if neither is set."""
    return make_other_chat_model(settings, settings.models.judge_model or settings.models.chat_model)


def make_verifier(settings: Settings, chat: ChatModel | None) -> ChatModel | None:
    """Return the model that verifies what `chat` writes: `chat` itself, another one, or None."""
    if chat is None or settings.models.verify == "off":
        return None
    return chat if settings.models.verify == "auto" else make_other_chat_model(settings, settings.models.verify)


def make_other_chat_model(settings: Settings, name: str) -> ChatModel | None:
    """Return a chat model besides the one that answers; None for "" and "none".

    The key and address of the chat model are sent to its own provider alone.
    """
    if name in ("", "none"):
        return None
    changes: dict[str, object] = {"chat_model": name}
    if name.partition(":")[0] != settings.models.chat_model.partition(":")[0] and settings.models.chat_model:
        changes |= {"chat_api_key": None, "chat_base_url": None}
    return make_chat_model(settings.with_values(**changes))


def _chat_access(settings: Settings) -> tuple[str | None, str | None]:
    """Return key and address of the chat model. OpenAI's key is sent to OpenAI's configured address only."""
    api_key, base_url = secret(settings.providers.chat_api_key), settings.providers.chat_base_url
    if settings.models.chat_model.startswith("openai:") and not base_url:
        return api_key or secret(settings.providers.openai_api_key), settings.providers.openai_base_url
    return api_key, base_url
