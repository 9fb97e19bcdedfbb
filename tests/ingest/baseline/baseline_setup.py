"""Indexes and baselines for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from lore.ingest.baseline.baseline import Baseline
from lore.ingest.baseline.parquet_file import BaselineFile, BaselineWriter, atomic_file
from lore.ingest.report import SyncReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Document, EmbeddedDocument, Recipe

from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.syncs import make_sync

LONG = "".join(f"## Part {part}\n\n" + f"Sentence {part} about lamps. " * 12 + "\n\n" for part in range(4))
BUDGET = 300


LONG = "".join(f"## Part {part}\n\n" + f"Sentence {part} about lamps. " * 12 + "\n\n" for part in range(4))


BUDGET = 300


class House:
    """An installation: an index, an embedder, and what syncs, exports and imports."""

    def __init__(self, folder: Path, store: type[LanceStore] = LanceStore) -> None:
        self.folder = folder
        self.embedder = FakeEmbedder()
        self.store = store(str(folder / "index"), Recipe(self.embedder.name, self.embedder.dimensions))

    def sync(self, source: FakeSource, budget: int = BUDGET) -> SyncReport:
        return make_sync(
            source,
            self.store,
            self.embedder,
            MarkdownSplitter(budget),
            lambda document: document,
            staging_uri=str(self.folder / "staging"),
        ).run()

    def baseline(self, budget: int = BUDGET) -> Baseline:
        return Baseline(
            self.store,
            self.embedder,
            MarkdownSplitter(budget),
            staging_uri=str(self.folder / "staging"),
            lore_version="1.2.3",
        )

    def content(self) -> dict[str, Any]:
        return {
            document.id: (document, [(chunk.id, chunk.text) for chunk in self.store.chunks(document.id)])
            for document in self.store.documents()
        }


class CutOff(Exception):
    """Stands for a kill: nothing in Lore catches it."""


class CutOffStore(LanceStore):
    """Dies at the write after `writes` are done."""

    writes = 1

    def replace(self, entries: Sequence[EmbeddedDocument]) -> None:
        if self.writes <= 0:
            raise CutOff
        self.writes -= 1
        super().replace(entries)


class BusyStore(LanceStore):
    """Another process changes it while its documents are read."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    def documents(self, source_id: str | None = None) -> Iterator[Document]:
        documents = super().documents(source_id)
        yield next(documents)
        self.meanwhile()
        yield from documents


def pages(count: int = 5, source_id: str = "fake") -> list[Document]:
    return [
        make_document(
            f"p{number}",
            f"# Page p{number}\n\n{LONG}Number {number}.",
            source_id,
            metadata={"labels": ["ä", 1, None]},
            audiences=("staff", "public"),
            updated_at=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC) if number else None,
        )
        for number in range(count)
    ]


def source(documents: Sequence[Document], cursor: str | None = "c1", **changes: Any) -> FakeSource:
    return FakeSource([Batch(tuple(documents), cursor)], **changes)


def header_of(path: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(pq.ParquetFile(path).metadata.metadata[b"lore"])
    return values


def rewrite(path: Path, rows: pa.Table | None = None, **header: Any) -> None:
    table = rows if rows is not None else pq.read_table(path)
    metadata = {b"lore": json.dumps(header_of(path) | header)}
    pq.write_table(table.replace_schema_metadata(metadata), path)


def of_another_converter(path: Path) -> None:
    """Make it a file whose documents an earlier converter made."""
    with BaselineFile.open(path) as file:
        header, rows = file.header, list(file.rows())
    with atomic_file(path, force=True) as handle, BaselineWriter(handle) as writer:
        for row in rows:
            writer.add(row)
        writer.finish(replace(header, converter="converter-0"))
