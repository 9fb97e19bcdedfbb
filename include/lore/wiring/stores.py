"""The index, the version that fits the settings, and the builders of versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from lore.errors import ConfigurationError, LoreError
from lore.settings import SETTINGS
from lore.types import IndexSummary, Recipe
from lore.wiring.models import make_embedder
from lore.wiring.secrets import secret
from lore.wiring.strategies import make_splitters

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from lore.ingest.versions import VersionBuilder
    from lore.protocols import Embedder, Splitter, Store, Versions
    from lore.settings import Settings
    from lore.stores.weaviate.collections.schema import CollectionOptions
    from lore.stores.weaviate.server.connection import WeaviateServer
    from lore.stores.weaviate.store import WeaviateStore
    from lore.stores.weaviate.versions import WeaviateVersions
    from lore.types import IndexVersion

__all__ = [
    "index_exists",
    "make_builder",
    "make_builders",
    "make_recipe",
    "make_splitter",
    "open_store",
    "open_versions",
    "open_weaviate",
    "require_index",
    "settings_of",
    "summarize_index",
    "weaviate_server",
    "weaviate_versions",
]


OIDC_LOGINS = (
    ({"username", "password"}, {"scope"}),
    ({"client_secret"}, {"scope"}),
    ({"access_token"}, {"refresh_token", "expires_in"}),
)
"""Names that each login of Weaviate's client needs, and that it takes besides."""


def make_splitter(settings: Settings, embedder: Embedder) -> Splitter:
    """Return the splitter, with a budget from the settings or else from the embedder."""
    from lore.ingest.split.splitter import MarkdownSplitter

    return MarkdownSplitter(settings.ingest.chunk_characters or MarkdownSplitter.budget_for(embedder))


def make_recipe(settings: Settings, embedder: Embedder, splitter: Splitter | None) -> Recipe:
    """Return the recipe of a version with these settings; without a splitter, the version is only read."""
    choices: dict[str, str | int | float] = {"embedder": settings.models.embedder}
    if settings.models.embedding_dimensions:
        choices["embedding_dimensions"] = settings.models.embedding_dimensions
    if settings.ingest.chunk_characters:
        choices["chunk_characters"] = settings.ingest.chunk_characters
    if settings.index.store == "weaviate":
        choices["weaviate_replication_factor"] = settings.weaviate.replication_factor
        choices["weaviate_vector_index"] = settings.weaviate.vector_index
        choices["weaviate_quantization"] = settings.weaviate.quantization
    return Recipe(embedder.name, embedder.dimensions, splitter.name if splitter else "", choices=choices)


def open_store(settings: Settings, embedder: Embedder, splitter: Splitter | None = None) -> Store:
    """Open the version of the index that fits these settings; the index is made on first write.

    Without a splitter, it can only be read. Raises IndexMismatchError if no version of an existing index fits.
    """
    recipe = make_recipe(settings, embedder, splitter)
    if settings.index.store == "weaviate":
        return open_weaviate(settings, recipe)
    from lore.stores.lancedb.store import LanceStore

    return LanceStore(settings.index.index_uri, recipe)


def index_exists(settings: Settings) -> bool:
    """Return True if there is an index to read. Opening one would create it, which asking must not do."""
    if settings.index.store == "weaviate":  # opening it creates nothing
        return True
    return "://" in settings.index.index_uri or Path(settings.index.index_uri).exists()


def index_place(settings: Settings) -> str:
    """Return where the index is, in words for a message: an absolute path, or a server's address."""
    if settings.index.store == "weaviate":
        return settings.weaviate.url or "the Weaviate server"
    uri = settings.index.index_uri
    return uri if "://" in uri else str(Path(uri).absolute())


def require_index(settings: Settings) -> None:
    """Raise ConfigurationError if there is no index to read."""
    if not index_exists(settings):
        raise ConfigurationError(
            f"There is no index at {index_place(settings)} yet.",
            remedy="Run: lore sync --all, or go to the project's folder, or set LORE_INDEX_URI.",
        )


def summarize_index(settings: Settings, source_ids: Collection[str]) -> IndexSummary | None:
    """Return states and counts of these sources and of all that were ever synced; None without an index.

    Opens the index only if the summary beside it is outdated. Raises IndexMismatchError and StoreError.
    """
    if not index_exists(settings):
        return None
    if settings.index.store == "lancedb":
        from lore.stores.lancedb.schema import SCHEMA_NUMBER
        from lore.stores.lancedb.summary import read_summary

        names = ("embedder", "embedding_dimensions")
        choices = {name: settings.value(name) for name in names}
        if summary := read_summary(Path(settings.index.index_uri), choices, SCHEMA_NUMBER):
            return summary
    store = open_store(settings, make_embedder(settings))
    states = store.states()
    return IndexSummary(states, {source_id: store.count(source_id) for source_id in {*states, *source_ids}})


def open_versions(settings: Settings) -> Versions:
    """Return the versions of the index, independent of the settings."""
    if settings.index.store == "weaviate":
        return weaviate_versions(settings)
    from lore.stores.lancedb.versions import LanceVersions

    return LanceVersions(settings.index.index_uri)


def settings_of(settings: Settings, recipe: Recipe) -> Settings:
    """Return the settings with the choices of a recipe."""
    cleared: dict[str, object] = {"embedding_dimensions": None, "chunk_characters": None}
    chosen = {name: value for name, value in recipe.choices.items() if name in SETTINGS}
    return settings.with_values(**(cleared | chosen))


def make_builder(
    settings: Settings, versions: Versions, version: IndexVersion, embedders: list[Embedder]
) -> VersionBuilder:
    """Return the builder of a version, with the splitter and embedder that its recipe names.

    It uses one of `embedders` if it fits; a new one is added to them. Raises ConfigurationError if the code or the
    settings no longer provide the splitter or embedder.
    """
    from lore.ingest.versions import VersionBuilder

    recipe = version.recipe
    if version.schema != versions.schema:
        raise ConfigurationError(
            f"Version {version.number} of the index has layout {version.schema}; this Lore writes {versions.schema}.",
            remedy="Run `lore index build` to make a version that can be updated, and promote it.",
        )
    own = settings_of(settings, recipe)
    loaded = (one for one in embedders if (one.name, one.dimensions) == (recipe.embedder, recipe.dimensions))
    embedder = next(loaded, None)
    if embedder is None:
        embedders.append(embedder := make_embedder(own))
    splitter = make_splitter(own, embedder)
    if (embedder.name, embedder.dimensions, splitter.name) != (recipe.embedder, recipe.dimensions, recipe.splitter):
        raise ConfigurationError(
            f"Version {version.number} was made by {recipe.splitter!r} and {recipe.embedder!r}; this Lore uses "
            f"{splitter.name!r} and {embedder.name!r} with the same settings.",
            remedy="Run `lore index build` to make a version that can be updated, and promote it.",
        )
    relatives = [
        versions.open(other.number)
        for other in versions.all()
        if other.number != version.number
        and (other.recipe.embedder, other.recipe.dimensions) == (recipe.embedder, recipe.dimensions)
    ]
    return VersionBuilder(
        version,
        versions.open(version.number),
        embedder,
        splitter,
        relatives=relatives,
        splitters=make_splitters(settings, splitter),
    )


def make_builders(
    settings: Settings, versions: Versions, embedders: list[Embedder]
) -> list[VersionBuilder | LoreError]:
    """Return the builder of each version of the index, or the error that prevents it.

    Return none if there is only one version: a sync writes that one itself.
    """
    there = versions.all()
    builders: list[VersionBuilder | LoreError] = []
    for version in there if len(there) > 1 else ():
        try:
            builders.append(make_builder(settings, versions, version, embedders))
        except LoreError as error:
            builders.append(error)
    return builders


def weaviate_server(settings: Settings) -> WeaviateServer:
    """Return the Weaviate server that the settings name. Raises ConfigurationError if they name none."""
    from lore.stores.weaviate.server.connection import WeaviateServer

    if not settings.weaviate.url:
        raise ConfigurationError("LORE_STORE is weaviate, but no server is set.", remedy="Set LORE_WEAVIATE_URL.")
    return WeaviateServer(
        settings.weaviate.url,
        grpc_host=settings.weaviate.grpc_host or "",
        grpc_port=settings.weaviate.grpc_port,
        api_key=secret(settings.weaviate.api_key),
        oidc=_oidc(secret(settings.weaviate.oidc)),
        headers=_headers(secret(settings.weaviate.headers)),
        timeout=settings.calls.timeout_seconds,
    )


def open_weaviate(settings: Settings, recipe: Recipe) -> WeaviateStore:
    """Open the index on a Weaviate server, at the version that fits; raises the errors of `WeaviateStore`."""
    from lore.stores.weaviate.store import WeaviateStore

    return WeaviateStore(
        weaviate_server(settings),
        recipe,
        prefix=settings.weaviate.prefix,
        options=_weaviate_options(settings),
        title_weight=settings.weaviate.title_weight,
    )


def weaviate_versions(settings: Settings) -> WeaviateVersions:
    """Return the versions of the index on a Weaviate server."""
    from lore.stores.weaviate.versions import WeaviateVersions

    return WeaviateVersions(
        weaviate_server(settings),
        prefix=settings.weaviate.prefix,
        options=_weaviate_options(settings),
        title_weight=settings.weaviate.title_weight,
    )


def _weaviate_options(settings: Settings) -> CollectionOptions:
    from lore.stores.weaviate.collections.schema import CollectionOptions

    return CollectionOptions(
        settings.weaviate.replication_factor, settings.weaviate.vector_index, settings.weaviate.quantization
    )


def _oidc(text: str | None) -> Mapping[str, str | int]:
    """Read a login from a JSON object. The error doesn't repeat it, since it is secret."""
    try:
        login = json.loads(text or "{}")
    except ValueError:
        login = None
    if not isinstance(login, dict) or (login and not any(set(login) - more == needed for needed, more in OIDC_LOGINS)):
        raise ConfigurationError(
            "LORE_WEAVIATE_OIDC is not a login.",
            remedy='Write it as {"username": …, "password": …}, {"client_secret": …} or {"access_token": …}.',
        )
    return login


def _headers(text: str | None) -> Mapping[str, str]:
    """Parse the headers in a JSON object; they may be secrets, so the error doesn't repeat them."""
    try:
        headers = json.loads(text or "{}")
    except ValueError:
        headers = None
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise ConfigurationError(
            "LORE_WEAVIATE_HEADERS should be a JSON object of texts.", remedy='Write it as {"Name": "value"}.'
        )
    return headers
