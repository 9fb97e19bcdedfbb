"""Speed of a sync: against the bare embedder on the same passages, and against a second sync without changes.

Also the speed of a question on the index that this makes: three wordings given, 100 passages each, dedup, rerank to 8.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import quantiles
from typing import Any

from lore.convert import convert
from lore.evaluation.beir.dataset import BeirSource
from lore.ingest.options import DocumentSteps, SyncTarget
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.settings import load_settings
from lore.types import Plan, Question
from lore.wiring.models import make_embedder
from lore.wiring.query import make_pipeline
from lore.wiring.stores import open_store

from bench.corpus import load_corpus, wordings
from bench.stopwatch import seconds

ROUNDS = 100


def main() -> None:
    """Print JSON."""
    with tempfile.TemporaryDirectory() as folder:
        json.dump(measure(Path(folder)), sys.stdout, indent=2)
    print()


def measure(folder: Path) -> dict[str, Any]:
    """All figures. The bare embedder is timed before and after the sync, so that a noisy machine shows."""
    dataset = load_corpus()
    settings = load_settings(store="lancedb", index_uri=str(folder / "index"), chat_model="")
    embedder = make_embedder(settings)
    embedder.embed_query("loads the model")
    splitter = MarkdownSplitter(MarkdownSplitter.budget_for(embedder))
    source = BeirSource(dataset.folder)
    texts = [
        chunk.embedded_text
        for batch in source.read(None)
        for document in batch.documents
        for chunk in splitter.split(document)
    ]
    half = len(texts) // 2
    store = open_store(settings, embedder)
    sync = Sync(
        source, SyncTarget(store, embedder), DocumentSteps(convert, splitter), staging_uri=str(folder / "staging")
    )
    before = seconds(lambda: embedder.embed_documents(texts[:half]))
    first = seconds(sync.run)
    after = seconds(lambda: embedder.embed_documents(texts[half:]))
    second = min(seconds(sync.run) for _ in range(3))
    chunks = store.count().chunks
    return {
        "documents": store.count().documents,
        "chunks": chunks,
        "bare_embedder_chunks_per_second": round(len(texts) / (before + after), 1),
        "sync_chunks_per_second": round(chunks / first, 1),
        "sync_share_of_bare_embedder": round((chunks / first) / (len(texts) / (before + after)), 3),
        "first_sync_seconds": round(first, 2),
        "second_sync_seconds": round(second, 3),
        "second_sync_times_faster": round(first / second, 1),
        "question_to_passages_ms": questions(settings, embedder, store, dataset),
    }


def questions(settings: Any, embedder: Any, store: Any, dataset: Any) -> dict[str, float]:
    """Milliseconds from a plan of three wordings to the eight passages."""
    pipeline = make_pipeline(settings, index=store, embedder=embedder)
    taken = []
    for query in dataset.queries[: ROUNDS + 5]:
        plan = Plan(query.text, wordings(query.text))
        taken.append(1000 * seconds(lambda plan=plan: pipeline.passages(plan, Question(plan.question))))
    cuts = quantiles(taken[5:], n=20)
    return {"p50": round(cuts[9], 1), "p95": round(cuts[18], 1)}


if __name__ == "__main__":
    main()
