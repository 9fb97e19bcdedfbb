"""One evaluation from a folder to figures: the corpus through the real sync, the queries through the real search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from lore.convert import convert
from lore.errors import ConfigurationError
from lore.evaluation.beir.dataset import SOURCE_ID, BeirDataset, BeirSource, load_beir
from lore.evaluation.metrics.retrieval import (
    STAGES,
    Evaluation,
    IndexFigures,
    Stage,
    score_stage,
    stage_search,
)
from lore.ingest.options import DocumentSteps, SyncRules, SyncTarget
from lore.ingest.report import Progress
from lore.ingest.sync import Sync
from lore.protocols import Embedder, Reranker, Splitter, Store
from lore.settings import Settings
from lore.wiring.models import make_embedder, make_reranker
from lore.wiring.stores import make_splitter, open_store

__all__ = ["RunProgress", "evaluate_beir", "run_beir"]


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Callbacks for the progress of a run."""

    index: Callable[[Progress], None] = lambda progress: None
    queries: Callable[[Stage, int, int], None] | None = None


SILENT = RunProgress()


def run_beir(
    folder: Path,
    settings: Settings,
    *,
    stages: Sequence[Stage] = STAGES,
    limit_queries: int | None = None,
    by_path: bool = False,
    index_dir: Path | None = None,
    listener: RunProgress = SILENT,
) -> Evaluation:
    """Evaluate with the embedder, reranker and limits of the settings.

    The index is always an embedded one. It is built in a temporary folder and removed, or kept in `index_dir`, where
    the next run embeds only what changed. Raises ConfigurationError for a folder that is not in BEIR's layout.
    """
    dataset = load_beir(folder, limit_queries)
    embedder = make_embedder(settings)
    reranker = make_reranker(settings, embedder)
    with TemporaryDirectory(prefix="lore-evaluate-") as temporary:
        index_uri = str(index_dir or Path(temporary) / "index")
        own = settings.with_values(store="lancedb", index_uri=index_uri)  # never the team's server
        splitter = make_splitter(settings, embedder)
        store = open_store(own, embedder, splitter)
        return evaluate_beir(
            dataset,
            store,
            embedder,
            reranker,
            splitter,
            staging_uri=str(Path(temporary) / "staging"),
            stages=stages,
            by_path=by_path,
            alpha=settings.query.alpha,
            retrieve_limit=settings.query.retrieve_limit,
            listener=listener,
        )


def evaluate_beir(
    dataset: BeirDataset,
    store: Store,
    embedder: Embedder,
    reranker: Reranker | None,
    splitter: Splitter,
    *,
    staging_uri: str,
    stages: Sequence[Stage] = STAGES,
    by_path: bool = False,
    alpha: float = 0.5,
    retrieve_limit: int = 100,
    listener: RunProgress = SILENT,
) -> Evaluation:
    """Sync the dataset's corpus into the store and score the stages; the caller keeps or drops the store."""
    if reranker is None and list(stages) == ["rerank"]:
        raise ConfigurationError('The stage "rerank" needs a reranker.', remedy='Set LORE_RERANKER to "local".')
    sync = Sync(
        BeirSource(dataset.folder, by_path),
        SyncTarget(store, embedder),
        DocumentSteps(convert, splitter),
        staging_uri=staging_uri,
        rules=SyncRules(max_failed_share=1.0),  # a page that can't be converted lowers the score, and counts as failed
    )
    report = sync.run(progress=listener.index)
    counts = store.count(SOURCE_ID)
    scores = [
        score_stage(
            stage,
            stage_search(stage, store, embedder, reranker, alpha=alpha),
            dataset.queries,
            retrieve_limit=retrieve_limit,
            progress=listener.queries,
        )
        for stage in stages
        if stage != "rerank" or reranker is not None
    ]
    return Evaluation(
        dataset=dataset.name,
        queries=len(dataset.queries),
        missing_pages=dataset.missing,
        embedder=embedder.name,
        reranker=reranker.name if reranker else "none",
        alpha=alpha,
        retrieve_limit=retrieve_limit,
        splitter=splitter.name,
        converted=by_path,
        index=IndexFigures(
            documents=counts.documents,
            chunks=counts.chunks,
            failed=len(report.failures),
            embedded_texts=report.embedded_texts,
            embedding_calls=report.embedding_calls,
            seconds=report.seconds,
        ),
        stages=tuple(scores),
    )
