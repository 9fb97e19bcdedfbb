"""Peak memory of a first sync, by the number of documents: it must not grow with the source.

    python -m bench.memory [--sizes 5000,50000] [--store weaviate] [--characters 2000] [--embedder local]

Made-up pages, an embedder that costs nothing (random unit vectors) or the local one, the real
sync, splitter and store, in a process of its own for each size. Prints JSON: megabytes of the process at its peak,
before anything is read and at the end, and the ratio of the last size to the first.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from lore.ingest.options import DocumentSteps, SyncTarget
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.protocols import Embedder
from lore.settings import load_settings
from lore.types import Batch, Cursor, Document
from lore.wiring.models import make_embedder
from lore.wiring.stores import open_store

from bench.scale.meter import peak_megabytes
from bench.scale.stores import STORES

DIMENSIONS = 384
DOCUMENTS_OF_A_BATCH = 50
SENTENCE = "The scheduler reads the queue, takes the next job that is due, and hands it to a worker of the pool. "
PARAGRAPH = SENTENCE * 9


class Pages:
    """A source of made-up pages; nothing of it stays in memory."""

    id = "pages"

    def __init__(self, count: int, *, characters: int = 2_000) -> None:
        self._count = count
        self._parts = max(1, round(characters / (len(PARAGRAPH) + 50)))
        self._text = PARAGRAPH[: max(1, characters - 50)]

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """All pages, in batches."""
        for start in range(0, self._count, DOCUMENTS_OF_A_BATCH):
            numbers = range(start, min(start + DOCUMENTS_OF_A_BATCH, self._count))
            yield Batch(tuple(map(self._page, numbers)), cursor=str(numbers.stop))

    def list_ids(self) -> Iterator[str]:
        """Their ids."""
        return (f"pages:guide/page-{number:07d}.md" for number in range(self._count))

    def _page(self, number: int) -> Document:
        words = random.Random(number)
        parts = (f"## Part {part}\n\nNumber {words.random()}. {self._text}" for part in range(self._parts))
        name = f"guide/page-{number:07d}"
        text = f"# Page {number}\n\n" + "\n\n".join(parts)
        return Document(f"pages:{name}.md", "pages", f"https://docs.example.com/{name}", f"Page {number}", text)


class FreeEmbedder:
    """Random unit vectors."""

    name = "bench:free"
    dimensions = DIMENSIONS
    max_tokens = 256

    def __init__(self) -> None:
        self._chance = np.random.default_rng(1)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """A vector for each text."""
        rows = self._chance.standard_normal((len(texts), DIMENSIONS)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_query(self, text: str) -> np.ndarray:
        """A vector."""
        return self.embed_documents([text])[0]


def main() -> None:
    """Print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[5_000, 50_000])
    parser.add_argument("--store", choices=sorted(STORES), default="lancedb")
    parser.add_argument("--characters", type=int, default=2_000)
    parser.add_argument("--embedder", choices=("free", "local"), default="free")
    parser.add_argument("--documents", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.documents:
        pages = Pages(arguments.documents, characters=arguments.characters)
        json.dump(measure(pages, FreeEmbedder() if arguments.embedder == "free" else None), sys.stdout)
        return
    figures = {}
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder, STORES[arguments.store](Path(folder) / "index") as place:
            environment = os.environ | dict(place.environment) | {"LORE_STAGING_URI": str(Path(folder) / "staging")}
            command = [sys.executable, "-m", "bench.memory", "--documents", str(size)]
            command += ["--characters", str(arguments.characters), "--embedder", arguments.embedder]
            run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            figures[size] = json.loads(run.stdout)
    ratio = figures[arguments.sizes[-1]]["peak_mb"] / figures[arguments.sizes[0]]["peak_mb"]
    json.dump({"store": arguments.store, "sizes": figures, "ratio": round(ratio, 2)}, sys.stdout, indent=2)
    print()


def measure(pages: Pages, embedder: Embedder | None) -> dict[str, float]:
    """One sync in this process, with the settings' own embedder where none is given."""
    settings, splitter = load_settings(), MarkdownSplitter(1_024)
    embedder = embedder or make_embedder(settings)
    store = open_store(settings, embedder, splitter)
    before, started = peak_megabytes("self"), time.perf_counter()
    sync = Sync(
        pages,
        SyncTarget(store, embedder),
        DocumentSteps(lambda page: page, splitter),
        staging_uri=settings.ingest.staging_uri,
    )
    report = sync.run()
    assert report.status == "ok", report
    return {
        "before_mb": before,
        "peak_mb": peak_megabytes("self"),
        "chunks": report.chunks,
        "seconds": round(time.perf_counter() - started, 1),
    }


if __name__ == "__main__":
    main()
