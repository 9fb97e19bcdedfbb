"""A sync whose source says each batch and waits for a line before it goes on, to be killed: INDEX STAGING [BATCHES]"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from lore.ingest.split.splitter import MarkdownSplitter
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Cursor, Recipe

from tests.fakes import FakeEmbedder, make_document
from tests.syncs import make_sync

BATCHES = 6
SIZE = 50


class Spoken:
    """A source of numbered batches, each with a cursor, that tells what it was asked for on stdout."""

    id = "fake"

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        print(f"since {since}", flush=True)
        for number in range(int(since or 0), BATCHES):
            documents = tuple(make_document(f"p{number}-{n}", f"# Page\n\nPage {number} {n}.\n") for n in range(SIZE))
            yield Batch(documents, str(number + 1))
            print(f"staged {number + 1}", flush=True)
            sys.stdin.readline()

    def list_ids(self) -> Iterator[str]:
        yield from (f"fake:p{number}-{n}" for number in range(BATCHES) for n in range(SIZE))


def main() -> None:
    index, staging = sys.argv[1:]
    embedder = FakeEmbedder()
    store = LanceStore(index, Recipe(embedder.name, embedder.dimensions))
    sync = make_sync(Spoken(), store, embedder, MarkdownSplitter(300), lambda page: page, staging_uri=staging)
    print(sync.run().summary(), flush=True)


if __name__ == "__main__":
    main()
