"""The only place that chooses implementations: settings and declarations in, working parts out.

Every import of an implementation is inside the function that needs it, so that a command loads only what it uses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from include.lore.declarations import (
    Declaration,
    FilesDeclaration,
    GitHubIssuesDeclaration,
    SiteDeclaration,
    SlackExportDeclaration,
)
from include.lore.errors import ConfigurationError
from include.lore.ingest.sync import Sync
from include.lore.protocols import ChatModel, Embedder, Index, Reranker, Source, Splitter, Store
from include.lore.query.pipeline import Pipeline
from include.lore.settings import Settings

if TYPE_CHECKING:
    from include.lore.ingest.baseline import Baseline
    from include.lore.stores.weaviate import WeaviateStore
    from include.lore.stores.weaviate_connection import WeaviateServer

__all__ = [
    "make_baseline",
    "make_chat_model",
    "make_embedder",
    "make_pipeline",
    "make_reranker",
    "make_source",
    "make_splitter",
    "make_sync",
    "open_store",
    "open_weaviate",
    "weaviate_server",
]

DISTRIBUTION = "lore-assistant"
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
            api_key=_secret(settings.openai_api_key),
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
            api_key=_secret(settings.cohere_api_key),
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
        api_key=_secret(settings.openai_api_key),
        base_url=settings.openai_base_url,
        timeout=settings.timeout_seconds,
        max_retries=settings.max_retries,
    )


def make_splitter(settings: Settings, embedder: Embedder) -> Splitter:
    """The splitter, with a budget from the settings or else from what the embedder reads."""
    from include.lore.ingest.split import MarkdownSplitter

    return MarkdownSplitter(settings.chunk_characters or MarkdownSplitter.budget_for(embedder))


def open_store(settings: Settings, embedder: Embedder) -> Store:
    """The index, made on first use. Raises IndexMismatchError when it holds another embedder's vectors."""
    if settings.store == "weaviate":
        return open_weaviate(settings, embedder)
    from include.lore.stores.lancedb import LanceStore

    return LanceStore(settings.index_uri, embedder_name=embedder.name, dimensions=embedder.dimensions)


def weaviate_server(settings: Settings) -> WeaviateServer:
    """The Weaviate server that the settings name. Raises ConfigurationError where they name none."""
    from include.lore.stores.weaviate_connection import WeaviateServer

    if not settings.weaviate_url:
        raise ConfigurationError("LORE_STORE is weaviate, but no server is named.", remedy="Set LORE_WEAVIATE_URL.")
    return WeaviateServer(
        settings.weaviate_url,
        grpc_host=settings.weaviate_grpc_host or "",
        grpc_port=settings.weaviate_grpc_port,
        api_key=_secret(settings.weaviate_api_key),
        headers=_headers(_secret(settings.weaviate_headers)),
        timeout=settings.timeout_seconds,
    )


def open_weaviate(settings: Settings, embedder: Embedder) -> WeaviateStore:
    """The index on a Weaviate server; raises what `WeaviateStore` does."""
    from include.lore.stores.weaviate import WeaviateStore
    from include.lore.stores.weaviate_schema import Shape

    return WeaviateStore(
        weaviate_server(settings),
        embedder_name=embedder.name,
        dimensions=embedder.dimensions,
        prefix=settings.weaviate_prefix,
        shape=Shape(
            settings.weaviate_replication_factor, settings.weaviate_vector_index, settings.weaviate_quantization
        ),
        title_weight=settings.weaviate_title_weight,
    )


def make_source(declaration: Declaration, settings: Settings) -> Source:
    """The source that a declaration describes; nothing is read yet."""
    match declaration:
        case FilesDeclaration():
            from include.lore.sources.files import FilesSource

            return FilesSource(declaration)
        case SlackExportDeclaration():
            from include.lore.sources.slack_export import SlackExportSource

            return SlackExportSource(declaration)
        case GitHubIssuesDeclaration():
            from include.lore.sources.github_issues import GitHubIssuesSource

            return GitHubIssuesSource(
                declaration,
                token=_secret(settings.github_token),
                base_url=declaration.base_url or settings.github_base_url,
                timeout=settings.timeout_seconds,
                max_retries=settings.max_retries,
            )
        case SiteDeclaration():
            from include.lore.sources.site import SiteSource

            return SiteSource(declaration, timeout=settings.timeout_seconds, max_retries=settings.max_retries)


def make_sync(
    declaration: Declaration, settings: Settings, *, store: Store | None = None, embedder: Embedder | None = None
) -> Sync:
    """One source's sync; pass `store` and `embedder` to share them between several."""
    from include.lore.convert import convert

    embedder = embedder or make_embedder(settings)
    return Sync(
        make_source(declaration, settings),
        store or open_store(settings, embedder),
        embedder,
        make_splitter(settings, embedder),
        convert,
        staging_uri=settings.staging_uri,
        max_failed_share=declaration.max_failed_share,
        max_removed_share=declaration.max_removed_share,
    )


def make_baseline(settings: Settings) -> Baseline:
    """What exports the index into a file, and imports one."""
    from importlib.metadata import PackageNotFoundError, version

    from include.lore.ingest.baseline import Baseline

    try:
        lore_version = version(DISTRIBUTION)
    except PackageNotFoundError:  # run from a checkout that is not installed
        lore_version = "unknown"
    embedder = make_embedder(settings)
    return Baseline(
        open_store(settings, embedder),
        embedder,
        make_splitter(settings, embedder),
        staging_uri=settings.staging_uri,
        lore_version=lore_version,
    )


def make_pipeline(settings: Settings, *, index: Index | None = None, embedder: Embedder | None = None) -> Pipeline:
    """The query pipeline over the index."""
    embedder = embedder or make_embedder(settings)
    return Pipeline(
        index or open_store(settings, embedder),
        embedder,
        make_reranker(settings, embedder),
        make_chat_model(settings),
        alpha=settings.alpha,
        retrieve_limit=settings.retrieve_limit,
        rerank_limit=settings.rerank_limit,
    )


def _secret(value: object) -> str | None:
    """A key's text, for the client that sends it and nobody else."""
    from pydantic import SecretStr

    return value.get_secret_value() if isinstance(value, SecretStr) else None


def _headers(text: str | None) -> Mapping[str, str]:
    """The headers in a JSON object; they may be secrets, so that the error does not repeat them."""
    try:
        headers = json.loads(text or "{}")
    except ValueError:
        headers = None
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise ConfigurationError(
            "LORE_WEAVIATE_HEADERS is not a JSON object of texts.", remedy='Write it as {"Name": "value"}.'
        )
    return headers
