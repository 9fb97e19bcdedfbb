"""The only place that chooses implementations: settings and declarations in, working parts out.

Every import of an implementation is inside the function that needs it, so that a command loads only what it uses.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lore.declarations import Declaration
from lore.ingest.sync import Sync
from lore.protocols import Embedder, Index, Recorder, Store
from lore.query.pipeline import Deadlines, Pipeline
from lore.settings import Settings
from lore.types import Usage
from lore.wiring.assistant import make_context, searchable_sources
from lore.wiring.models import make_budget, make_chat_model, make_embedder, make_judge_model, make_reranker
from lore.wiring.sources import make_source
from lore.wiring.stores import (
    make_builder,
    make_builders,
    make_recipe,
    make_splitter,
    open_store,
    open_versions,
    open_weaviate,
    settings_of,
    weaviate_server,
    weaviate_versions,
)
from lore.wiring.strategies import make_strategy, make_summarizer

if TYPE_CHECKING:
    from lore.ingest.baseline.baseline import Baseline

__all__ = [
    "make_baseline",
    "make_budget",
    "make_builder",
    "make_builders",
    "make_chat_model",
    "make_embedder",
    "make_judge_model",
    "make_pipeline",
    "make_recipe",
    "make_reranker",
    "make_source",
    "make_splitter",
    "make_strategy",
    "make_summarizer",
    "make_sync",
    "open_store",
    "open_versions",
    "open_weaviate",
    "settings_of",
    "weaviate_server",
    "weaviate_versions",
]

DISTRIBUTION = "lore-assistant"


def make_sync(
    declaration: Declaration, settings: Settings, *, store: Store | None = None, embedder: Embedder | None = None
) -> Sync:
    """One source's sync; pass `store` and `embedder` to share them between several."""
    from lore.convert import convert
    from lore.ingest.redact.redactor import Redactor
    from lore.sources.cursors import NON_SELECTING_KEYS, selection_digest

    embedder = embedder or make_embedder(settings)
    splitter = make_splitter(settings, embedder)
    usage: list[Usage] = []
    return Sync(
        make_source(declaration, settings),
        store or open_store(settings, embedder, splitter),
        embedder,
        splitter,
        convert,
        staging_uri=settings.ingest.staging_uri,
        max_failed_share=declaration.max_failed_share,
        max_removed_share=declaration.max_removed_share,
        versions=partial(make_builders, settings, open_versions(settings), [embedder]),
        redactor=Redactor(settings.ingest.redact),
        strategy=make_strategy(settings, declaration.strategy, on_usage=usage.append),
        usage=usage,
        duplicates=declaration.duplicates,
        declared=selection_digest(declaration.model_dump_json(exclude=set(NON_SELECTING_KEYS))),
    )


def make_baseline(settings: Settings) -> Baseline:
    """What exports the index into a file, and imports one."""
    from importlib.metadata import PackageNotFoundError, version

    from lore.ingest.baseline.baseline import Baseline
    from lore.ingest.redact.redactor import Redactor

    try:
        lore_version = version(DISTRIBUTION)
    except PackageNotFoundError:  # run from a checkout that is not installed
        lore_version = "unknown"
    embedder = make_embedder(settings)
    splitter = make_splitter(settings, embedder)
    return Baseline(
        open_store(settings, embedder, splitter),
        embedder,
        splitter,
        staging_uri=settings.ingest.staging_uri,
        lore_version=lore_version,
        redactor=Redactor(settings.ingest.redact),
    )


def make_pipeline(
    settings: Settings,
    *,
    index: Index | None = None,
    embedder: Embedder | None = None,
    recorder: Recorder | None = None,
) -> Pipeline:
    """The query pipeline over the index; a `recorder` keeps its answers."""
    embedder = embedder or make_embedder(settings)
    return Pipeline(
        index or open_store(settings, embedder),
        embedder,
        make_reranker(settings, embedder),
        make_chat_model(settings),
        alpha=settings.query.alpha,
        retrieve_limit=settings.query.retrieve_limit,
        rerank_limit=settings.query.rerank_limit,
        context_tokens=settings.query.context_tokens,
        deadlines=Deadlines(
            settings.query.plan_seconds,
            settings.query.search_seconds,
            settings.query.rerank_seconds,
            settings.query.answer_seconds,
        ),
        recorder=recorder,
        context=make_context(settings, embedder),
        sources=searchable_sources(settings),
        budget=make_budget(settings, recorded=recorder is not None),
    )
