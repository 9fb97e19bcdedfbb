"""The questions of a comparison, searched and answered in every way over every index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from time import perf_counter
from typing import TypeAlias

from lore.evaluation.compare.answers import answer_alone, answer_from, figures_of
from lore.evaluation.compare.index import BuiltIndex
from lore.evaluation.compare.results import AnswerOutcome, PairScore, Retrieval, SearchOutcome
from lore.evaluation.metrics.bootstrap import paired_bootstrap
from lore.evaluation.metrics.page_scores import score_pages
from lore.evaluation.metrics.ranking import percentile
from lore.evaluation.metrics.retrieval import Search, Stage, stage_search
from lore.evaluation.questions.locate import LocatedQuestion, LocatedSet
from lore.protocols import ChatModel, Embedder, Reranker
from lore.query.answer.tokens import estimate_tokens
from lore.query.pipeline import Pipeline, PipelineModels
from lore.settings import Settings
from lore.wiring.query import make_pipeline_settings

__all__ = ["ComparisonParts", "ComparisonRun", "ProgressListener"]

ProgressListener: TypeAlias = Callable[[str, int, int | None], None]
"""Called with the current activity, the number done, and the total (None if unknown)."""

STAGE_OF: Mapping[Retrieval, Stage] = {
    "keyword": "keyword",
    "vector": "vector",
    "hybrid": "hybrid",
    "hybrid+rerank": "rerank",
}


@dataclass(frozen=True, slots=True)
class ComparisonParts:
    """The parts that search and answer."""

    settings: Settings
    embedder: Embedder
    reranker: Reranker | None
    chat_model: ChatModel | None


@dataclass
class ComparisonRun:
    """Asks every question in every way and collects the outcomes."""

    parts: ComparisonParts
    located: LocatedSet
    answers: int
    listener: ProgressListener
    scores: list[PairScore] = field(default_factory=list)
    searches: dict[str, dict[str, SearchOutcome]] = field(default_factory=dict)
    answered: dict[str, dict[str, AnswerOutcome]] = field(default_factory=dict)

    def all(self, built: Mapping[str, BuiltIndex], retrievals: Sequence[Retrieval]) -> None:
        if "none" in retrievals and self.parts.chat_model is not None:
            pair = PairScore("", "none")
            self._answer_alone(pair, self.parts.chat_model)
            self.scores.append(self._with_answers(pair))
        for retrieval in retrievals:
            if retrieval == "none":
                continue
            first: str | None = None
            for name, index in built.items():
                pair = self._search(name, index, retrieval, first)
                self._answer(pair, index)
                self.scores.append(self._with_answers(pair))
                first = first or pair.name

    def _search(self, name: str, index: BuiltIndex, retrieval: Retrieval, first: str | None) -> PairScore:
        settings, pair = self.parts.settings, PairScore(name, retrieval)
        search = stage_search(
            STAGE_OF[retrieval], index.store, self.parts.embedder, self.parts.reranker, alpha=settings.query.alpha
        )
        # The first search opens files and builds graphs.
        search(self.located.questions[0].question.asked(), settings.query.retrieve_limit)
        found = {
            question.question.id: _outcome(search, question, settings)
            for question in self._reporting(f"searching {pair.name}", self.located.questions)
        }
        self.searches[pair.name] = found
        scored = _scored(pair, list(found.values()))
        if first is None:
            return scored
        before = self.searches[first]
        return _compared(scored, [found[id_].ndcg - before[id_].ndcg for id_ in found])

    def _answer(self, pair: PairScore, index: BuiltIndex) -> None:
        alphas = {"keyword": 0.0, "vector": 1.0}
        settings = self.parts.settings
        pipeline = Pipeline(
            index.store,
            PipelineModels(
                self.parts.embedder,
                self.parts.reranker if pair.retrieval == "hybrid+rerank" else None,
                self.parts.chat_model,
                settings.query.context_tokens,
            ),
            make_pipeline_settings(settings, alpha=alphas.get(pair.retrieval)),
        )
        chosen = self.located.questions[: self.answers]
        self.answered[pair.name] = {
            question.question.id: answer_from(pipeline, question)
            for question in self._reporting(f"answering {pair.name}", chosen)
        }

    def _answer_alone(self, pair: PairScore, chat_model: ChatModel) -> None:
        chosen = self.located.questions[: self.answers]
        self.answered[pair.name] = {
            question.question.id: answer_alone(chat_model, question)
            for question in self._reporting("answering without context", chosen)
        }

    def _with_answers(self, pair: PairScore) -> PairScore:
        return replace(pair, answers=figures_of(list(self.answered[pair.name].values())))

    def _reporting(self, what: str, questions: Sequence[LocatedQuestion]) -> Iterator[LocatedQuestion]:
        for done, question in enumerate(questions):
            self.listener(what, done, len(questions))
            yield question


def _outcome(search: Search, question: LocatedQuestion, settings: Settings) -> SearchOutcome:
    started = perf_counter()
    hits = search(question.question.asked(), settings.query.retrieve_limit)
    seconds = perf_counter() - started
    pages = score_pages(hits, question)
    return SearchOutcome(
        ndcg=pages.ndcg,
        recall=pages.recall_at_10,
        reciprocal_rank=pages.reciprocal_rank,
        rank=pages.rank,
        context_tokens=sum(estimate_tokens(hit.chunk.given_text) for hit in hits[: settings.query.rerank_limit]),
        seconds=seconds,
    )


def _scored(pair: PairScore, outcomes: Sequence[SearchOutcome]) -> PairScore:
    seconds = [outcome.seconds for outcome in outcomes]
    return replace(
        pair,
        ndcg_at_10=fmean(outcome.ndcg for outcome in outcomes),
        recall_at_10=fmean(outcome.recall for outcome in outcomes),
        mrr_at_10=fmean(outcome.reciprocal_rank for outcome in outcomes),
        context_tokens=fmean(outcome.context_tokens for outcome in outcomes),
        seconds_p50=percentile(seconds, 0.5),
        seconds_p95=percentile(seconds, 0.95),
    )


def _compared(pair: PairScore, differences: Sequence[float]) -> PairScore:
    if len(differences) < 2:
        return pair
    bounds = paired_bootstrap(differences)
    return replace(pair, difference=bounds.mean, lower=bounds.lower, upper=bounds.upper)
