"""The only place that chooses implementations: settings and declarations in, working parts out.

Every import of an implementation is inside the function that needs it, so that a command loads only what it uses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from include.lore.declarations import (
    Declaration,
    DiscourseDeclaration,
    FilesDeclaration,
    GitHubIssuesDeclaration,
    GitHubRepoDeclaration,
    JsonApiDeclaration,
    SiteDeclaration,
    SlackDeclaration,
    SlackExportDeclaration,
    StackOverflowDeclaration,
)
from include.lore.errors import ConfigurationError, LoreError
from include.lore.ingest.sync import Sync
from include.lore.protocols import ChatModel, Embedder, Index, Reranker, Source, Splitter, Store, Versions
from include.lore.query.pipeline import Pipeline
from include.lore.settings import Settings
from include.lore.types import IndexVersion, Recipe

if TYPE_CHECKING:
    from include.lore.ingest.baseline import Baseline
    from include.lore.ingest.versions import VersionBuilder
    from include.lore.sources.github_http import GitHubAccess
    from include.lore.stores.weaviate import WeaviateStore
    from include.lore.stores.weaviate_connection import WeaviateServer
    from include.lore.stores.weaviate_schema import Shape
    from include.lore.stores.weaviate_versions import WeaviateVersions

__all__ = [
    "make_baseline",
    "make_builder",
    "make_builders",
    "make_chat_model",
    "make_embedder",
    "make_pipeline",
    "make_recipe",
    "make_reranker",
    "make_source",
    "make_splitter",
    "make_sync",
    "open_store",
    "open_versions",
    "open_weaviate",
    "settings_of",
    "weaviate_server",
    "weaviate_versions",
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


def make_recipe(settings: Settings, embedder: Embedder, splitter: Splitter | None) -> Recipe:
    """How a version is made by these settings; without a splitter it is only read."""
    choices: dict[str, str | int | float] = {"embedder": settings.embedder}
    if settings.embedding_dimensions:
        choices["embedding_dimensions"] = settings.embedding_dimensions
    if settings.chunk_characters:
        choices["chunk_characters"] = settings.chunk_characters
    if settings.store == "weaviate":
        choices["weaviate_replication_factor"] = settings.weaviate_replication_factor
        choices["weaviate_vector_index"] = settings.weaviate_vector_index
        choices["weaviate_quantization"] = settings.weaviate_quantization
    return Recipe(embedder.name, embedder.dimensions, splitter.name if splitter else "", choices=choices)


def open_store(settings: Settings, embedder: Embedder, splitter: Splitter | None = None) -> Store:
    """The index, made on first use: the version that fits these settings. Without a splitter it can only be read.

    Raises IndexMismatchError when there is an index and no version of it fits.
    """
    recipe = make_recipe(settings, embedder, splitter)
    if settings.store == "weaviate":
        return open_weaviate(settings, recipe)
    from include.lore.stores.lancedb import LanceStore

    return LanceStore(settings.index_uri, recipe)


def open_versions(settings: Settings) -> Versions:
    """The versions of the index, whatever the settings fit."""
    if settings.store == "weaviate":
        return weaviate_versions(settings)
    from include.lore.stores.lance_versions import LanceVersions

    return LanceVersions(settings.index_uri)


def settings_of(settings: Settings, recipe: Recipe) -> Settings:
    """The settings with what the recipe was made by."""
    cleared = {"embedding_dimensions": None, "chunk_characters": None}
    chosen = {name: value for name, value in recipe.choices.items() if name in Settings.model_fields}
    return settings.model_copy(update=cleared | chosen)


def make_builder(
    settings: Settings, versions: Versions, version: IndexVersion, *, embedders: Sequence[Embedder] = ()
) -> VersionBuilder:
    """What brings a version up to date, with the splitter and embedder that its recipe names.

    Those of `embedders` that are loaded already are used. Raises ConfigurationError when the splitter or embedder
    cannot be had any more: the code or the settings moved on.
    """
    from include.lore.ingest.versions import VersionBuilder

    recipe = version.recipe
    own = settings_of(settings, recipe)
    loaded = (one for one in embedders if (one.name, one.dimensions) == (recipe.embedder, recipe.dimensions))
    embedder = next(loaded, None) or make_embedder(own)
    splitter = make_splitter(own, embedder)
    if (embedder.name, embedder.dimensions, splitter.name) != (recipe.embedder, recipe.dimensions, recipe.splitter):
        raise ConfigurationError(
            f"Version {version.number} was made by {recipe.splitter!r} and {recipe.embedder!r}; this Lore makes "
            f"{splitter.name!r} and {embedder.name!r} of the same settings.",
            remedy="Run `lore index build` to make a version that can be kept up to date, and promote it.",
        )
    relatives = [
        versions.open(other.number)
        for other in versions.all()
        if other.number != version.number
        and (other.recipe.embedder, other.recipe.dimensions, other.schema)
        == (recipe.embedder, recipe.dimensions, version.schema)
    ]
    return VersionBuilder(version, versions.open(version.number), embedder, splitter, relatives=relatives)


def make_builders(settings: Settings, embedder: Embedder) -> list[VersionBuilder | LoreError]:
    """For each version of the index what brings it up to date, or why nothing can.

    None where there is only one version, which is the one that a sync writes.
    """
    versions = open_versions(settings)
    there = versions.all()
    builders: list[VersionBuilder | LoreError] = []
    for version in there if len(there) > 1 else ():
        try:
            builders.append(make_builder(settings, versions, version, embedders=[embedder]))
        except LoreError as error:
            builders.append(error)
    return builders


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


def open_weaviate(settings: Settings, recipe: Recipe, number: int | None = None) -> WeaviateStore:
    """The index on a Weaviate server, at the version that fits or the one of that number; raises what
    `WeaviateStore` does.
    """
    from include.lore.stores.weaviate import WeaviateStore

    return WeaviateStore(
        weaviate_server(settings),
        recipe,
        number=number,
        prefix=settings.weaviate_prefix,
        shape=_weaviate_shape(settings),
        title_weight=settings.weaviate_title_weight,
    )


def weaviate_versions(settings: Settings) -> WeaviateVersions:
    """The versions of the index on a Weaviate server."""
    from include.lore.stores.weaviate_versions import WeaviateVersions

    return WeaviateVersions(
        weaviate_server(settings),
        prefix=settings.weaviate_prefix,
        shape=_weaviate_shape(settings),
        title_weight=settings.weaviate_title_weight,
    )


def _weaviate_shape(settings: Settings) -> Shape:
    from include.lore.stores.weaviate_schema import Shape

    return Shape(settings.weaviate_replication_factor, settings.weaviate_vector_index, settings.weaviate_quantization)


def make_source(declaration: Declaration, settings: Settings) -> Source:
    """The source that a declaration describes; nothing is read yet."""
    match declaration:
        case FilesDeclaration():
            from include.lore.sources.files import FilesSource

            return FilesSource(declaration)
        case SlackExportDeclaration():
            from include.lore.sources.slack_export import SlackExportSource

            return SlackExportSource(declaration)
        case SlackDeclaration():
            from include.lore.sources.slack import SlackSource

            return SlackSource(
                declaration,
                token=_secret(settings.slack_token),
                timeout=settings.timeout_seconds,
                max_retries=settings.max_retries,
            )
        case GitHubIssuesDeclaration():
            from include.lore.sources.github_issues import GitHubIssuesSource

            return GitHubIssuesSource(declaration, _github(declaration, settings))
        case GitHubRepoDeclaration():
            from include.lore.sources.github_repo import GitHubRepoSource

            return GitHubRepoSource(declaration, _github(declaration, settings))
        case SiteDeclaration():
            from include.lore.sources.site import SiteSource

            return SiteSource(declaration, timeout=settings.timeout_seconds, max_retries=settings.max_retries)
        case StackOverflowDeclaration() | DiscourseDeclaration() | JsonApiDeclaration():
            return _make_api_source(declaration, settings)


def _make_api_source(
    declaration: StackOverflowDeclaration | DiscourseDeclaration | JsonApiDeclaration, settings: Settings
) -> Source:
    from include.lore.sources.json_http import secrets_for
    from include.lore.sources.retries import Retries

    timeout, retries = settings.timeout_seconds, Retries(settings.max_retries)
    if isinstance(declaration, DiscourseDeclaration):
        from include.lore.sources.discourse import DiscourseSource

        secrets = secrets_for(declaration.url, _secret(settings.api_headers))
        return DiscourseSource(declaration, secrets=secrets, timeout=timeout, retries=retries)
    if isinstance(declaration, JsonApiDeclaration):
        from include.lore.sources.json_api import JsonApiSource

        secrets = secrets_for(declaration.url, _secret(settings.api_headers))
        return JsonApiSource(declaration, secrets=secrets, timeout=timeout, retries=retries)
    if declaration.dump:
        from include.lore.sources.stackoverflow_dump import StackOverflowDumpSource

        return StackOverflowDumpSource(declaration)
    from include.lore.sources.stackoverflow import StackOverflowSource
    from include.lore.sources.stackoverflow_api import BASE_URL, StackExchangeAccess

    key = _secret(settings.stackexchange_key)
    access = StackExchangeAccess(declaration.base_url or BASE_URL, key=key, timeout=timeout, retries=retries)
    return StackOverflowSource(declaration, access=access)


def _github(declaration: GitHubIssuesDeclaration | GitHubRepoDeclaration, settings: Settings) -> GitHubAccess:
    """How to reach the repository: as a GitHub App where one is set, else with the token, else anonymously."""
    from include.lore.sources.github_app import github_access

    return github_access(
        base_url=declaration.base_url or settings.github_base_url,
        repository=declaration.repository,
        token=_secret(settings.github_token),
        app_id=settings.github_app_id,
        app_private_key=_secret(settings.github_app_private_key),
        app_installation_id=settings.github_app_installation_id,
        timeout=settings.timeout_seconds,
        max_retries=settings.max_retries,
    )


def make_sync(
    declaration: Declaration, settings: Settings, *, store: Store | None = None, embedder: Embedder | None = None
) -> Sync:
    """One source's sync; pass `store` and `embedder` to share them between several."""
    from include.lore.convert import convert
    from include.lore.ingest.redact import Redactor

    embedder = embedder or make_embedder(settings)
    splitter = make_splitter(settings, embedder)
    return Sync(
        make_source(declaration, settings),
        store or open_store(settings, embedder, splitter),
        embedder,
        splitter,
        convert,
        staging_uri=settings.staging_uri,
        max_failed_share=declaration.max_failed_share,
        max_removed_share=declaration.max_removed_share,
        versions=partial(make_builders, settings, embedder),
        redactor=Redactor(settings.redact),
    )


def make_baseline(settings: Settings) -> Baseline:
    """What exports the index into a file, and imports one."""
    from importlib.metadata import PackageNotFoundError, version

    from include.lore.ingest.baseline import Baseline
    from include.lore.ingest.redact import Redactor

    try:
        lore_version = version(DISTRIBUTION)
    except PackageNotFoundError:  # run from a checkout that is not installed
        lore_version = "unknown"
    embedder = make_embedder(settings)
    splitter = make_splitter(settings, embedder)
    return Baseline(
        open_store(settings, embedder, splitter),
        embedder,
        splitter,
        staging_uri=settings.staging_uri,
        lore_version=lore_version,
        redactor=Redactor(settings.redact),
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
