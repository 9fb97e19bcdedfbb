"""A sync in a process of its own, to be killed or raced: FOLDER INDEX STAGING [SOURCE_ID]"""

from __future__ import annotations

import sys
from pathlib import Path

from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Recipe

from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.syncs import make_sync


def folder_sync(folder: str, index: str, staging: str, source_id: str = "fake") -> Sync:
    """A sync of every file of a folder, without conversion, into a real store."""
    embedder = FakeEmbedder()
    documents = [
        make_document(path.stem, path.read_text(), source_id=source_id) for path in sorted(Path(folder).glob("*.md"))
    ]
    batches = [Batch(tuple(documents[start : start + 8])) for start in range(0, len(documents), 8)]
    store = LanceStore(index, Recipe(embedder.name, embedder.dimensions))
    return make_sync(
        FakeSource(list(batches), id=source_id),
        store,
        embedder,
        MarkdownSplitter(300),
        lambda document: document,
        staging_uri=staging,
    )


if __name__ == "__main__":
    sync = folder_sync(*sys.argv[1:])
    print("started", flush=True)
    print(sync.run().summary())
