"""A source with a cursor, and syncs that are killed, for tests of resuming."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from lore.errors import ConversionError, SourceError
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Cursor, Document, Recipe

from tests.contracts.sync import KilledError, kill_at
from tests.fakes import FakeEmbedder, make_document
from tests.syncs import make_sync


@dataclass
class Cursored:
    """A source whose cursor is how many batches came; `listing` None: it cannot say what exists."""

    batches: list[Batch | SourceError]
    reads: list[Cursor | None] = field(default_factory=list)
    id: str = "fake"

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        self.reads.append(since)
        for number, batch in enumerate(self.batches):
            if number < int(since or 0):
                continue
            if isinstance(batch, SourceError):
                raise batch
            yield replace(batch, cursor=str(number + 1))


class Listed(Cursored):
    """One that says what exists."""

    listing: Sequence[str] = ()

    def list_ids(self) -> Iterator[str]:
        yield from self.listing


def pages(*names: str, text: str = "First state.") -> tuple[Document, ...]:
    return tuple(make_document(name, f"# {name}\n\n{text}\n") for name in names)


def convert(document: Document) -> Document:
    if "UNREADABLE" in document.text:
        raise ConversionError("The page is unreadable.")
    return document


class House:
    def __init__(self, folder: Path) -> None:
        self.staging = folder / "staging"
        self.embedder = FakeEmbedder()
        self.store = LanceStore(str(folder / "index"), Recipe(self.embedder.name, self.embedder.dimensions))

    def sync(self, source: Cursored, **changes: object) -> Sync:
        values: dict[str, object] = {"staging_uri": str(self.staging), **changes}
        return make_sync(source, self.store, self.embedder, MarkdownSplitter(300), convert, **values)  # type: ignore[arg-type]

    def kill(self, source: Cursored, stage: str = "extract", tells: int = 2, **changes: object) -> None:
        with pytest.raises(KilledError):
            self.sync(source, **changes).run(progress=kill_at(stage, tells))

    def texts(self) -> dict[str, str]:
        return {
            document.id.partition(":")[2]: document.text.split("\n")[2] for document in self.store.documents("fake")
        }

    def files(self, pattern: str) -> list[Path]:
        return sorted(self.staging.rglob(pattern))
