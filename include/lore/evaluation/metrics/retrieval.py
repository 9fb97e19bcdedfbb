"""How well each stage of the search finds the pages that people judged relevant, and how long a query takes.

The stages are those of a real question: keyword (alpha 0), vector (alpha 1), hybrid (the setting's alpha), and rerank:
the query pipeline without a language model. Judgements are about pages while a search finds chunks, so a page ranks
where its best chunk does.

A query is searched as in production, for `retrieve_limit` chunks; that ranking gives nDCG@10, MRR@10, the time and
`recall_retrieved`. Recall@100 is defined over 100 pages, and 100 chunks lie on fewer; where they do, the pages of one
deeper search (`DEEP_LIMIT` chunks, not timed) follow those of the first.
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
from lore.query.pipeline import Pipeline
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
"""A question, with the sources and audiences it is asked for, and how many chunks to take → hits, best first."""

DEEP_LIMIT = 400
RECALL_PAGES = 100


@dataclass(frozen=True, slots=True)
class StageScore:
    """A stage's mean over the queries. `recall_retrieved` is the recall of all the pages that one production search
    finds, `pages_retrieved` how many these are; `ms_p50` and `ms_p95` are milliseconds a query.
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
    """What indexing the corpus took; on a kept index nothing is embedded again and `seconds` says little."""

    documents: int
    chunks: int
    failed: int
    embedded_texts: int
    embedding_calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of one run, and the settings that they hold for; `missing_pages` are judged and not in the corpus."""

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
        """The same as JSON values; `stages` is an object with a key for each stage."""
        scores = {score.stage: asdict(score) for score in self.stages}
        for score in scores.values():
            del score["stage"]
        return asdict(self) | {"stages": scores}


def stage_search(
    stage: Stage, index: Index, embedder: Embedder, reranker: Reranker | None, *, alpha: float = 0.5
) -> Search:
    """The search that a stage stands for; it embeds the query where the stage needs a vector."""
    if stage == "rerank":
        return pipeline_search(index, embedder, reranker, alpha=alpha)
    weight = {"keyword": 0.0, "vector": 1.0, "hybrid": alpha}[stage]

    def search(question: Question, limit: int) -> list[Hit]:
        vector = embedder.embed_query(question.text) if weight > 0 else None
        return index.search(question.text, vector, limit, weight, question.sources, question.audiences)

    return search


def pipeline_search(index: Index, embedder: Embedder, reranker: Reranker | None, *, alpha: float = 0.5) -> Search:
    """Questions through the query pipeline without a language model, which hands back every candidate in its order.

    A reranker that fails is an error here: the pipeline would answer without it, or by the one behind it, and a figure
    must not.
    """
    if isinstance(reranker, FallbackReranker):
        reranker = reranker.parts[0]
    strict = _StrictReranker(reranker) if reranker is not None else None

    def search(question: Question, limit: int) -> list[Hit]:
        pipeline = Pipeline(index, embedder, strict, None, alpha=alpha, retrieve_limit=limit, rerank_limit=limit)
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
    """Run every query through a stage and average; `progress` is told the queries done, of how many."""
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
    """The pipeline does without a reranker that raises ModelError, and not without one that raises another error."""

    def __init__(self, reranker: Reranker) -> None:
        self.name = reranker.name
        self._reranker = reranker

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        try:
            return self._reranker.rerank(query, hits, limit)
        except ModelError as error:
            raise LoreError(f"The reranker failed: {error.message}", remedy=error.remedy) from error


def pages_in(hits: Iterable[Hit]) -> list[str]:
    """The ids of the hits' documents, each where its best chunk ranks."""
    return list(dict.fromkeys(hit.chunk.document_id for hit in hits))


def _corpus_ids(hits: Iterable[Hit]) -> list[str]:
    return [page.removeprefix(f"{SOURCE_ID}:") for page in pages_in(hits)]
