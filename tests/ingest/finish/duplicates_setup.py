"""Pages and syncs for tests of duplicates."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lore.declarations import Duplicates
from lore.errors import LoreError
from lore.ingest.finish.visibility import is_hidden
from lore.ingest.report import SyncReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.ingest.versions import VersionBuilder, outdated_ids
from lore.protocols import Store, Versions
from lore.stores.lancedb.store import LanceStore
from lore.stores.lancedb.versions import LanceVersions
from lore.types import Batch, Document, Recipe

from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.syncs import make_sync

BUDGET = 300
VOCABULARY = [f"word{number}" for number in range(3_000)]
LANGUAGES = Duplicates(prefer=("/en/",), variants=("/(en|de|fr)/",))
VERSIONS = Duplicates(prefer=("/stable/",), variants=(r"/(stable|v?\d+\.\d+)/",))
TEXTS = Duplicates()


BUDGET = 300


VOCABULARY = [f"word{number}" for number in range(3_000)]


LANGUAGES = Duplicates(prefer=("/en/",), variants=("/(en|de|fr)/",))


VERSIONS = Duplicates(prefer=("/stable/",), variants=(r"/(stable|v?\d+\.\d+)/",))


TEXTS = Duplicates()


def prose(seed: int, words: int = 300) -> str:
    return " ".join(random.Random(seed).choices(VOCABULARY, k=words))


def page(name: str, text: str | int, **changes: object) -> Document:
    """A page at an address; its text is told by a number, or given."""
    return make_document(name, prose(text) if isinstance(text, int) else text, **changes)


def near(seed: int, change: str = "changed") -> str:
    """Nearly the text of that number."""
    words = prose(seed).split()
    words[200] = change
    return " ".join(words)


class House:
    """An index with several versions, and a source that is synced under changing declarations."""

    def __init__(self, folder: Path, store: type[LanceStore] = LanceStore) -> None:
        self.folder = folder
        self.embedder = FakeEmbedder()
        uri = str(folder / "index")
        self.store: Store = store(uri, self.recipe(BUDGET))
        self.versions: Versions = LanceVersions(uri)
        self.converted: list[str] = []

    def recipe(self, budget: int) -> Recipe:
        return Recipe(self.embedder.name, self.embedder.dimensions, MarkdownSplitter(budget).name)

    def builders(self) -> list[VersionBuilder | LoreError]:
        there = self.versions.all()
        return [
            VersionBuilder(
                version,
                self.versions.open(version.number),
                self.embedder,
                MarkdownSplitter(int(version.recipe.splitter.rpartition(":")[2])),
            )
            for version in (there if len(there) > 1 else ())
        ]

    def new_sync(self, rule: Duplicates | None, documents: Sequence[Document], **changes: Any) -> Sync:
        def convert(document: Document) -> Document:
            self.converted.append(document.id)
            return document

        source = changes.pop("source", None) or FakeSource([Batch(tuple(documents))])
        values = {"staging_uri": str(self.folder / "staging"), "versions": self.builders, **changes}
        splitter = values.pop("splitter", MarkdownSplitter(BUDGET))
        return make_sync(source, self.store, self.embedder, splitter, convert, duplicates=rule, **values)

    def sync(self, rule: Duplicates | None, *documents: Document, **changes: Any) -> SyncReport:
        self.embedder.embedded.clear()
        self.converted.clear()
        report = self.new_sync(rule, documents, **changes).run()
        self.check()
        return report

    def check(self) -> None:
        """Assert that each version holds the passages of what is shown, and only these."""
        kept = self.store.document_fingerprints()
        for number in [version.number for version in self.versions.all()]:
            store = self.versions.open(number)
            assert not outdated_ids(store)
            counts = store.count()
            assert counts.chunks == counts.recorded_chunks
            for name, mark in kept.items():
                assert bool(store.chunks(name)) != is_hidden(mark), name

    def shown(self) -> set[str]:
        return {
            name.partition(":")[2]
            for name, mark in self.store.document_fingerprints("fake").items()
            if not is_hidden(mark)
        }

    def duplicates(self) -> dict[str, str]:
        """Hidden page → page in its place, as the kept documents say."""
        marks = self.store.document_fingerprints("fake")
        return {
            document.id.partition(":")[2]: document.metadata["duplicate_of"].partition(":")[2]
            for document in self.store.documents("fake")
            if is_hidden(marks[document.id])
        }

    def content(self) -> dict[str, Any]:
        """All that is held, to be compared."""
        marks = self.store.fingerprints()
        return {
            document.id: (document, marks[document.id], [chunk.id for chunk in self.store.chunks(document.id)])
            for document in self.store.documents()
        }


def replace_rule(rule: Duplicates, **changes: Any) -> Duplicates:
    return Duplicates(**{**rule.model_dump(), **changes})


def hide_and_show_in_two_versions(house: House) -> None:
    """Every change of what is shown, with another version of the index beside the live one."""
    pages = [page("en/a", 1), page("de/a", 2), page("en/b", 3)]
    house.sync(LANGUAGES, *pages)
    version = house.versions.create(house.recipe(700))
    builder = next(one for one in house.builders() if isinstance(one, VersionBuilder) and one.version.number == 2)
    builder.catch_up()
    house.versions.save(replace(version, status="ready"))
    house.check()
    house.sync(replace_rule(LANGUAGES, prefer=("/de/",)), *pages)
    house.sync(LANGUAGES, *pages[1:])
    house.sync(None, *pages)
    assert house.shown() == {"en/a", "de/a", "en/b"}
