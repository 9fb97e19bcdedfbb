"""What the tests of versions and of strategies share: an index in versions, and a text of several passages."""

from __future__ import annotations

from pathlib import Path

from lore.ingest.split.splitter import MarkdownSplitter
from lore.stores.lancedb.store import LanceStore
from lore.stores.lancedb.versions import LanceVersions
from lore.types import Recipe

from tests.fakes import FakeEmbedder

__all__ = ["LONG", "VersionedHouse"]

LONG = "".join(f"## Part {part}\n\n" + f"Sentence {part} about lamps. " * 12 + "\n\n" for part in range(4))


class VersionedHouse:
    """An index whose version 1 is cut at 300 characters."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.embedder = FakeEmbedder()
        self.uri = str(folder / "index")
        self.store = LanceStore(self.uri, self.recipe(300))
        self.versions = LanceVersions(self.uri)

    def recipe(self, budget: int, embedder: FakeEmbedder | None = None) -> Recipe:
        embedder = embedder or self.embedder
        return Recipe(embedder.name, embedder.dimensions, MarkdownSplitter(budget).name)
