"""Writing documents in groups: progress follows the embedding, and what is embedded survives an interruption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lore.errors import ModelError
from lore.ingest.report import Progress
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.write.writer import SMALLEST_BATCH, EntryWriter
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Document, Recipe

from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.syncs import make_sync


class BreakingEmbedder(FakeEmbedder):
    """Embeds a number of batches, then raises the error once."""

    def __init__(self, batches: int, error: BaseException) -> None:
        super().__init__()
        self._left = batches
        self._error: BaseException | None = error

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        if self._left == 0 and self._error is not None:
            error, self._error = self._error, None
            raise error
        self._left -= 1
        return super().embed_documents(texts)


def documents(number: int) -> list[Document]:
    return [make_document(f"p{n:03d}", f"Page {n} is about lamp {n}.") for n in range(number)]


def open_store(folder: Path, embedder: FakeEmbedder) -> LanceStore:
    return LanceStore(str(folder / "index"), Recipe(embedder.name, embedder.dimensions))


def test_progress_counts_what_is_embedded_and_never_more(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    seen: list[tuple[int, int]] = []

    def on_progress(done: int, chunks: int) -> None:
        assert chunks <= len(embedder.embedded)
        seen.append((done, chunks))

    writer = EntryWriter(open_store(tmp_path, embedder), embedder, on_progress=on_progress)
    splitter = MarkdownSplitter(300)
    for document in documents(100):
        writer.add(document, "f", splitter.split(document))
    assert seen == [], "nothing is embedded yet"
    writer.flush()
    assert seen == sorted(seen) and len(set(seen)) >= 3
    assert seen[-1] == (100, 100)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ModelError("The model is away.")])
def test_what_was_embedded_is_kept_whatever_ends_a_first_sync(tmp_path: Path, error: BaseException) -> None:
    embedder = BreakingEmbedder(1, error)
    store = open_store(tmp_path, embedder)
    pages = documents(100)

    def sync() -> object:
        source = FakeSource([Batch(tuple(pages))])
        staging = str(tmp_path / "staging")
        return make_sync(source, store, embedder, MarkdownSplitter(300), staging_uri=staging).run()

    with pytest.raises(type(error)):
        sync()
    assert store.count().documents == SMALLEST_BATCH
    report = sync()
    assert (report.new, report.unchanged) == (100 - SMALLEST_BATCH, SMALLEST_BATCH)  # type: ignore[attr-defined]
    assert len(embedder.embedded) == len(set(embedder.embedded)) == 100


def test_a_document_is_stored_only_with_all_its_vectors(tmp_path: Path) -> None:
    embedder = BreakingEmbedder(1, KeyboardInterrupt())
    store = open_store(tmp_path, embedder)
    writer = EntryWriter(store, embedder)
    long = replace(documents(1)[0], text="\n\n".join(f"## Part {n}\n\n" + f"Word {n} of it. " * 15 for n in range(50)))
    for document in (documents(2)[1], long):
        writer.add(document, "f", MarkdownSplitter(300).split(document))
    with pytest.raises(KeyboardInterrupt):
        writer.flush()
    assert writer.written == ["fake:p001"]
    assert store.fingerprints() == {"fake:p001": "f"}


def test_the_bar_of_a_sync_is_full_only_once_everything_is_embedded(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    pages = documents(100)

    def on_progress(step: Progress) -> None:
        if step.stage == "index" and step.documents == step.total:
            assert len(embedder.embedded) == 100

    source = FakeSource([Batch(tuple(pages))])
    store = open_store(tmp_path, embedder)
    make_sync(source, store, embedder, MarkdownSplitter(300), staging_uri=str(tmp_path / "s")).run(progress=on_progress)
