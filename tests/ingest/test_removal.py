"""Removal of a source: nothing of it stays, nothing else goes, and it can be repeated."""

from __future__ import annotations

from pathlib import Path

import pytest
from lore.ingest.leases import NoLeases
from lore.ingest.removal import remove_source
from lore.ingest.split.splitter import MarkdownSplitter
from lore.stores.lancedb.store import LanceStore
from lore.stores.lancedb.versions import LanceVersions
from lore.types import Batch, Recipe

from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.syncs import make_sync


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    """An index with two sources."""
    embedder = FakeEmbedder()
    store = LanceStore(str(tmp_path / "index"), Recipe(embedder.name, embedder.dimensions))
    for source_id in ("fake", "other"):
        pages = tuple(make_document(f"p{n}", f"Page {n} of {source_id}.", source_id=source_id) for n in range(3))
        source = FakeSource([Batch(pages, cursor="1")], id=source_id)
        make_sync(source, store, embedder, MarkdownSplitter(300), staging_uri=str(tmp_path / "staging")).run()
    return store


def test_nothing_of_the_source_stays_and_nothing_else_goes(store: LanceStore, tmp_path: Path) -> None:
    versions = LanceVersions(str(tmp_path / "index"))
    version = versions.create(Recipe("fake:words", 64, "markdown-3:600"))
    staged = tmp_path / "staging" / "fake" / "run" / "try-1"
    staged.mkdir(parents=True)
    (staged / "shard-00000.jsonl.gz").write_bytes(b"")
    assert remove_source(store, "fake", staging_uri=str(tmp_path / "staging"), leases=NoLeases()) == 3
    assert list(store.states()) == ["other"]
    assert (store.count("fake").documents, store.count("fake").chunks) == (0, 0)
    assert store.count("other").documents == 3
    assert not versions.open(version.number).fingerprints("fake")
    assert not (tmp_path / "staging" / "fake").exists()
    assert {hit.chunk.source_id for hit in store.search("page", None, 10, 0.0)} == {"other"}


def test_a_removal_that_was_cut_off_is_completed_by_another(store: LanceStore, tmp_path: Path) -> None:
    store.delete("fake", ["fake:p0", "fake:p1"])
    assert remove_source(store, "fake", staging_uri=str(tmp_path / "staging"), leases=NoLeases()) == 1
    assert list(store.states()) == ["other"]
    assert remove_source(store, "fake", staging_uri=str(tmp_path / "staging"), leases=NoLeases()) == 0
