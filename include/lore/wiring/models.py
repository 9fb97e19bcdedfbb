"""Which embedder, reranker and language model the settings choose."""

from __future__ import annotations

from include.lore.errors import ConfigurationError
from include.lore.protocols import ChatModel, Embedder, Reranker
from include.lore.settings import Settings
from include.lore.wiring.secrets import secret

__all__ = ["make_chat_model", "make_embedder", "make_reranker"]

DEFAULT_COHERE_MODEL = "rerank-v4.0-pro"


def make_embedder(settings: Settings) -> Embedder:
    """The embedder that `settings.embedder` names; it loads its weights on first use."""
    provider, _, model = settings.embedder.partition(":")
    if provider == "local" and not model:
        from include.lore.models.local import LocalEmbedder

        return LocalEmbedder(settings.cache_dir, model_dir=settings.local_model_dir, threads=settings.threads)
    if provider == "openai" and model:
        from include.lore.models.openai import OpenAIEmbedder

        return OpenAIEmbedder(
            model,
            api_key=secret(settings.openai_api_key),
            base_url=settings.openai_base_url,
            dimensions=settings.embedding_dimensions,
            timeout=settings.timeout_seconds,
            max_retries=settings.max_retries,
        )
    raise ConfigurationError(
        f"Unknown embedder {settings.embedder!r}.", remedy='Set LORE_EMBEDDER to "local" or "openai:MODEL".'
    )


def make_reranker(settings: Settings, embedder: Embedder) -> Reranker | None:
    """The reranker that `settings.reranker` names, or None for "none"."""
    provider, _, model = settings.reranker.partition(":")
    if provider == "auto" and not model:
        provider, model = ("cohere", DEFAULT_COHERE_MODEL) if settings.cohere_api_key else ("local", "")
    if provider == "none" and not model:
        return None
    if provider == "local" and not model:
        from include.lore.models.local_reranker import LocalReranker

        return LocalReranker(embedder)
    if provider == "cohere" and model:
        from include.lore.models.cohere import CohereReranker

        return CohereReranker(
            model,
            api_key=secret(settings.cohere_api_key),
            base_url=settings.cohere_base_url,
            timeout=settings.timeout_seconds,
            max_retries=settings.max_retries,
        )
    raise ConfigurationError(
        f"Unknown reranker {settings.reranker!r}.",
        remedy='Set LORE_RERANKER to "auto", "local", "cohere:MODEL" or "none".',
    )


def make_chat_model(settings: Settings) -> ChatModel | None:
    """The chat model that `settings.chat_model` names, or None where none is set."""
    if not settings.chat_model:
        return None
    from include.lore.models.chat import LangChainChatModel

    return LangChainChatModel(
        settings.chat_model,
        api_key=secret(settings.openai_api_key),
        base_url=settings.openai_base_url,
        timeout=settings.timeout_seconds,
        max_retries=settings.max_retries,
    )
