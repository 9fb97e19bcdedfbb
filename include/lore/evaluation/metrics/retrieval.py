"""Retrieval quality and time of each search stage on judged pages.

The stages are those of a real question: keyword (alpha 0), vector (alpha 1), hybrid (the setting's alpha), and rerank:
the query pipeline without a language model. Judgements are about pages while a search finds chunks, so a page ranks
where its best chunk does.

Each query is searched as in production, for `retrieve_limit` chunks; that ranking gives nDCG@10, MRR@10, the time and
`recall_retrieved`. Recall@100 is defined over 100 pages, and 100 chunks cover fewer. If they do, the pages of one
deeper search (`DEEP_LIMIT` chunks, untimed) follow those of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from time import perf_counter
from typing import Any, Literal, TypeAlias, get_args

from lore.errors import LoreError, ModelError
from lore.evaluation.beir.dataset import SOURCE_ID, Query
from lore.evaluation.metrics.ranking import ndcg_at, percentile, recall_at, reciprocal_rank_at
from lore.protocols import Embedder, FallbackReranker, Index, Reranker
from lore.query.pipeline import Pipeline, PipelineModels, PipelineSettings
from lore.types import Hit, Question

__all__ = [
    "STAGES",
    "Evaluation",
    "IndexFigures",
    "Search",
    "Stage",
    "StageScore",
    "pages_in",
    "pipeline_search",
    "score_stage",
    "stage_search",
]

Stage: TypeAlias = Literal["keyword", "vector", "hybrid", "rerank"]
STAGES: tuple[Stage, ...] = get_args(Stage)

Search: TypeAlias = Callable[[Question, int], list[Hit]]
"""A question with its sources and audiences, and the number of chunks to return → hits, best first."""

DEEP_LIMIT = 400
RECALL_PAGES = 100


@dataclass(frozen=True, slots=True)
class StageScore:
    """A stage's means over the queries. `recall_retrieved` is the recall of all pages that one production search finds,
    `pages_retrieved` their number; `ms_p50` and `ms_p95` are milliseconds a query.
    """

    stage: Stage
    ndcg_at_10: float
    recall_at_100: float
    mrr_at_10: float
    recall_retrieved: float
    pages_retrieved: float
    ms_p50: float
    ms_p95: float


@dataclass(frozen=True, slots=True)
class IndexFigures:
    """The cost of indexing the corpus; a kept index embeds nothing again, so `seconds` says little."""

    documents: int
    chunks: int
    failed: int
    embedded_texts: int
    embedding_calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of one run, and the settings that they hold for; `missing_pages` are judged but absent from the
    corpus.
    """

    dataset: str
    queries: int
    missing_pages: int
    embedder: str
    reranker: str
    alpha: float
    retrieve_limit: int
    splitter: str
    converted: bool
    index: IndexFigures
    stages: tuple[StageScore, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation as JSON values; `stages` is an object with a key for each stage."""
        scores = {score.stage: asdict(score) for score in self.stages}
        for score in scores.values():
            del score["stage"]
        return asdict(self) | {"stages": scores}


def stage_search(
    stage: Stage, index: Index, embedder: Embedder, reranker: Reranker | None, *, alpha: float = 0.5
) -> Search:
    """Return the search of a stage, which embeds the query if the stage needs a vector."""
    if stage == "rerank":
        return pipeline_search(index, embedder, reranker, alpha=alpha)
    weight = {"keyword": 0.0, "vector": 1.0, "hybrid": alpha}[stage]

    def search(question: Question, limit: int) -> list[Hit]:
        vector = embedder.embed_query(question.text) if weight > 0 else None
        return index.search(question.text, vector, limit, weight, question.sources, question.audiences)

    return search


def pipeline_search(index: Index, embedder: Embedder, reranker: Reranker | None, *, alpha: float = 0.5) -> Search:
    """Return a search through the query pipeline without a language model, with every candidate in its order.

    A failing reranker is an error here. The pipeline would fall back, and a figure must not hide that.
    """
    if isinstance(reranker, FallbackReranker):
        reranker = reranker.parts[0]
    strict = _StrictReranker(reranker) if reranker is not None else None

    def search(question: Question, limit: int) -> list[Hit]:
        pipeline = Pipeline(index, PipelineModels(embedder, strict), PipelineSettings(alpha, limit, limit))
        return pipeline.search(question)

    return search


def score_stage(
    stage: Stage,
    search: Search,
    queries: Sequence[Query],
    *,
    retrieve_limit: int = 100,
    progress: Callable[[Stage, int, int], None] | None = None,
) -> StageScore:
    """Run every query through a stage and average; `progress` gets the number of queries done and the total."""
    questions = [Question(query.text, sources=(SOURCE_ID,)) for query in queries]
    search(questions[0], retrieve_limit)  # the first query of a process opens files and builds graphs
    seconds: list[float] = []
    rankings: list[list[str]] = []
    deep_rankings: list[list[str]] = []
    for done, question in enumerate(questions, start=1):
        started = perf_counter()
        hits = search(question, retrieve_limit)
        seconds.append(perf_counter() - started)
        pages = _corpus_ids(hits)
        rankings.append(pages)
        if len(pages) < RECALL_PAGES and retrieve_limit < DEEP_LIMIT:
            pages = list(dict.fromkeys([*pages, *_corpus_ids(search(question, DEEP_LIMIT))]))
        deep_rankings.append(pages)
        if progress is not None:
            progress(stage, done, len(queries))
    judged = [query.relevance for query in queries]
    return StageScore(
        stage=stage,
        ndcg_at_10=fmean(map(ndcg_at, [10] * len(queries), rankings, judged)),
        recall_at_100=fmean(map(recall_at, [RECALL_PAGES] * len(queries), deep_rankings, judged)),
        mrr_at_10=fmean(map(reciprocal_rank_at, [10] * len(queries), rankings, judged)),
        recall_retrieved=fmean(map(recall_at, map(len, rankings), rankings, judged)),
        pages_retrieved=fmean(map(len, rankings)),
        ms_p50=1000 * percentile(seconds, 0.5),
        ms_p95=1000 * percentile(seconds, 0.95),
    )


class _StrictReranker:
    """Raises another error than ModelError, which the pipeline would tolerate, if the reranker fails."""

    def __init__(self, reranker: Reranker) -> None:
        self.name = reranker.name
        self._reranker = reranker

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        try:
            return self._reranker.rerank(query, hits, limit)
        except ModelError as error:
            raise LoreError(f"The reranker failed: {error.message}", remedy=error.remedy) from error


def pages_in(hits: Iterable[Hit]) -> list[str]:
    """Return the ids of the hits' documents, each where its best chunk ranks."""
    return list(dict.fromkeys(hit.chunk.document_id for hit in hits))


def _corpus_ids(hits: Iterable[Hit]) -> list[str]:
    return [page.removeprefix(f"{SOURCE_ID}:") for page in pages_in(hits)]
