"""One index for a comparison: built in its own folder from documents already read, and measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from lore.evaluation.compare.results import IndexBuild, IndexPlan
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.strategies.strategy import SUMMARY_PASSAGE_CHARACTERS, SummarySplitter
from lore.ingest.strategies.summarize import Summarizer
from lore.ingest.write.prepare import DocumentPreparer, PreparedDocument
from lore.ingest.write.writer import EntryWriter
from lore.protocols import Embedder, Prices, Splitter, Store
from lore.query.answer.tokens import estimate_tokens
from lore.redact.redactor import Redactor
from lore.settings import Settings
from lore.types import Document, Usage
from lore.wiring.stores import open_store

if TYPE_CHECKING:
    from lore.types import Matrix, Vector

__all__ = ["BuiltIndex", "IndexBuilder", "total"]

FINGERPRINT = "compared"
Number = TypeVar("Number", int, float)

LOCAL = "local:"
"""Prefix of embedders that run in this process and cost nothing."""


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """A searchable index with the figures of its build."""

    store: Store
    figures: IndexBuild


class IndexBuilder:
    """Builds indexes side by side in a folder. `summaries` makes a summarizer that reports what its calls took."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        embedder: Embedder,
        summaries: Callable[[Callable[[Usage], None]], Summarizer],
        prices: Prices,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._embedder = embedder
        self._summaries = summaries
        self._prices = prices

    def build(
        self, plan: IndexPlan, documents: Sequence[Document], progress: Callable[[int, int], None] = lambda *_: None
    ) -> BuiltIndex:
        """Split, summarize, embed and store all documents. Raises the errors of models and store, as a sync does."""
        started = perf_counter()
        usage: list[Usage] = []
        summarizer = None if plan.strategy == "basic" else self._summaries(usage.append)
        splitter = self._splitter(plan, summarizer)
        embedder = _Measured(self._embedder)
        uri = str(self._folder / plan.name.replace(":", "-"))
        own = self._settings.with_values(store="lancedb", index_uri=uri)  # never the team's server
        store = open_store(own, embedder, splitter)
        writer = EntryWriter(store, embedder)
        preparer = DocumentPreparer(lambda document: document, Redactor("none"), splitter)
        sizes: list[int] = []
        summaries = failed = 0
        for done, document in enumerate(documents, start=1):
            prepared = preparer.split(document)
            if isinstance(prepared, PreparedDocument):
                writer.add(document, FINGERPRINT, prepared.chunks)
                sizes.extend(len(chunk.text) for chunk in prepared.chunks)
                summaries += sum(1 for chunk in prepared.chunks if chunk.summary)
            else:
                failed += 1
            progress(done, len(documents))
        writer.flush()
        store.optimize()
        figures = IndexBuild(
            name=plan.name,
            splitter=splitter.name,
            summarizer=summarizer.name if summarizer else "",
            documents=len(documents) - failed,
            failed=failed,
            vectors=len(sizes),
            mean_characters=fmean(sizes) if sizes else 0.0,
            embedded_tokens=embedder.tokens,
            summaries=summaries,
            summary_calls=len(usage),
            summary_input_tokens=total([each.input_tokens for each in usage]),
            summary_output_tokens=total([each.output_tokens for each in usage]),
            cost=self._cost(usage, embedder.tokens),
            embedding_seconds=embedder.seconds,
            seconds=perf_counter() - started,
        )
        return BuiltIndex(store, figures)

    def _splitter(self, plan: IndexPlan, summarizer: Summarizer | None) -> Splitter:
        if plan.strategy == "basic" or summarizer is None:
            budget = plan.characters or self._settings.ingest.chunk_characters
            return MarkdownSplitter(budget or MarkdownSplitter.budget_for(self._embedder))
        return SummarySplitter(plan.strategy, summarizer, max_characters=plan.characters or SUMMARY_PASSAGE_CHARACTERS)

    def _cost(self, usage: Sequence[Usage], tokens: int) -> float | None:
        embedding = 0.0 if self._embedder.name.startswith(LOCAL) else self._prices.cost(self._embedder.name, tokens, 0)
        return total([embedding, *(each.cost for each in usage)])


class _Measured:
    """An embedder that counts its texts and its time."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.max_tokens = embedder.max_tokens
        self.tokens = 0
        self.seconds = 0.0

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        started = perf_counter()
        matrix = self._embedder.embed_documents(texts)
        self.seconds += perf_counter() - started
        self.tokens += sum(map(estimate_tokens, texts))
        return matrix

    def embed_query(self, text: str) -> Vector:
        return self._embedder.embed_query(text)


def total(values: Sequence[Number | None]) -> Number | None:
    """Return the sum, or None if any value is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
