"""Checks of the index and its server: reachable, writable, and consistent with its documents."""

from __future__ import annotations

from lore.doctor.finding import Finding
from lore.protocols import Embedder, Store
from lore.settings import Settings


def check_weaviate(settings: Settings) -> Finding:
    """Check the server: up, ready, new enough, and writable with this key, which asking does not need."""
    from lore.stores.weaviate.probe import probe
    from lore.stores.weaviate.server.connection import MINIMUM_VERSION, WeaviateConnection
    from lore.wiring.stores import weaviate_server

    connection = WeaviateConnection(weaviate_server(settings))
    found = probe(connection, settings.weaviate.prefix)
    detail = f"{connection.address}, version {'.'.join(map(str, found.version))}"
    if found.version < MINIMUM_VERSION:
        oldest = ".".join(map(str, MINIMUM_VERSION))
        return Finding("weaviate", "problem", f"{detail}: too old", f"Install Weaviate {oldest} or newer.")
    if not found.ready:
        return Finding("weaviate", "problem", f"{detail}: not ready", "Look at the server's log.")
    if found.refused:
        remedy = f"Enough for asking. For syncing: {found.remedy}"
        return Finding("weaviate", "warning", f"{detail}: reads, but does not write: {found.refused}", remedy)
    return Finding("weaviate", "ok", f"{detail}, reads and writes")


def check_settings_fit(settings: Settings, embedder: Embedder) -> None:
    """Raise IndexMismatchError, as a sync does, if no version of the index has these settings."""
    from lore.wiring.stores import make_recipe, make_splitter, open_store, open_weaviate

    splitter = make_splitter(settings, embedder)
    if settings.index.store == "weaviate":
        open_weaviate(settings, make_recipe(settings, embedder, splitter)).check_layout()
    else:
        open_store(settings, embedder, splitter)


def check_index(store: Store, embedder: Embedder) -> Finding:
    """Check that the index can be searched, holds what its documents record, and that the last syncs succeeded."""
    counts = store.count()
    store.search("documentation", embedder.embed_query("documentation"), limit=1, alpha=0.5)
    if counts.chunks != counts.recorded_chunks:
        return Finding(
            "index",
            "problem",
            f"{counts.chunks} chunks, but the documents record {counts.recorded_chunks}",
            "Run: lore sync --all",
        )
    unwell = [state.source_id for state in store.states().values() if state.status != "ok"]
    if unwell:
        return Finding(
            "index", "warning", f"the last sync did not end well for: {', '.join(sorted(unwell))}", "Run: lore sources"
        )
    if counts.documents == 0:
        return Finding("index", "warning", "empty", "Run: lore sync --all")
    return Finding("index", "ok", f"{counts.documents:,} documents, {counts.chunks:,} chunks")
