"""Syncs of a fake source into an index of the test's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lore.errors import (
    ConversionError,
)
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.protocols import Source, Store
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Document, Recipe

from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.syncs import make_sync

LONG = "".join(f"## Part {part}\n\n" + f"Sentence {part} about lamps. " * 12 + "\n\n" for part in range(4))


def convert(document: Document) -> Document:
    if "UNREADABLE" in document.text:
        raise ConversionError("The page is unreadable.", remedy="Look at it.")
    if "BUG" in document.text:
        raise ZeroDivisionError("a bug in a library")
    return replace(document, text=document.text.replace("\r\n", "\n"))


class House:
    """A store and all that a sync needs, kept over several runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.embedder = FakeEmbedder()
        self.store: Store = LanceStore(str(folder / "index"), Recipe(self.embedder.name, self.embedder.dimensions))

    def sync(self, source: Source, budget: int = 300, **changes: object) -> Sync:
        values: dict[str, object] = {"staging_uri": str(self.folder / "staging"), **changes}
        return make_sync(source, self.store, self.embedder, MarkdownSplitter(budget), convert, **values)  # type: ignore[arg-type]

    def texts(self, source_id: str = "fake") -> dict[str, list[str]]:
        return {
            document.id: [chunk.text for chunk in self.store.chunks(document.id)]
            for document in self.store.documents(source_id)
        }

    def staged(self) -> list[Path]:
        return [path for path in (self.folder / "staging").rglob("*") if path.name.endswith((".gz", ".json"))]


def source(*documents: Document, cursor: str | None = None, **changes: object) -> FakeSource:
    return FakeSource([Batch(documents, cursor)], **changes)  # type: ignore[arg-type]


def pages(count: int, text: str = LONG) -> list[Document]:
    return [make_document(f"p{number}", f"# Page p{number}\n\n{text}Number {number}.") for number in range(count)]
