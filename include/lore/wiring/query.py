"""The query pipeline, its budget, and the context of its planning: the assistant and the sources that can be named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore.wiring.models import make_chat_model, make_embedder, make_prices, make_reranker, make_verifier
from lore.wiring.stores import open_store

if TYPE_CHECKING:
    from lore.protocols import Embedder, Index, Recorder
    from lore.query.budget import Budget
    from lore.query.model_watch import OnModelChange
    from lore.query.pipeline import Pipeline, PipelineSettings
    from lore.query.understand.context import GlobalContext
    from lore.query.understand.filters import SearchableSource
    from lore.settings import Settings

__all__ = ["make_budget", "make_context", "make_pipeline", "make_pipeline_settings", "searchable_sources"]


def make_pipeline(
    settings: Settings,
    *,
    index: Index | None = None,
    embedder: Embedder | None = None,
    recorder: Recorder | None = None,
    on_model_change: OnModelChange = lambda _: None,
) -> Pipeline:
    """Return the query pipeline over the index; a `recorder` keeps its answers.

    `on_model_change` is called when the language model begins to fail, and when it works again.
    """
    from lore.query.pipeline import Pipeline, PipelineModels

    embedder = embedder or make_embedder(settings)
    chat = make_chat_model(settings)
    reranker, verifier = make_reranker(settings, embedder), make_verifier(settings, chat)
    return Pipeline(
        index or open_store(settings, embedder),
        PipelineModels(embedder, reranker, chat, settings.query.context_tokens, verifier),
        make_pipeline_settings(settings),
        context=make_context(settings, embedder),
        sources=searchable_sources(settings),
        budget=make_budget(settings, recorded=recorder is not None),
        recorder=recorder,
        on_model_change=on_model_change,
    )


def make_pipeline_settings(settings: Settings, *, alpha: float | None = None) -> PipelineSettings:
    """Return the parameters of a pipeline, with another `alpha` if one is given."""
    from lore.query.deadlines import Deadlines
    from lore.query.pipeline import PipelineSettings

    query = settings.query
    return PipelineSettings(
        alpha=query.alpha if alpha is None else alpha,
        retrieve_limit=query.retrieve_limit,
        rerank_limit=query.rerank_limit,
        deadlines=Deadlines(
            query.plan_seconds, query.search_seconds, query.rerank_seconds, query.answer_seconds, query.verify_seconds
        ),
    )


def make_budget(settings: Settings, *, recorded: bool, leave_for_answer: bool = True) -> Budget | None:
    """Return the budget for models, None without a limit. `recorded` is True if the answers are recorded.

    By default the earlier stages leave enough for an answer by the chat model.
    """
    if not settings.budget.per_day and not settings.budget.per_question:
        return None
    from lore.query.budget import Budget
    from lore.wiring.records import make_ledger

    return Budget(
        make_prices(settings),
        per_day=settings.budget.per_day,
        per_question=settings.budget.per_question,
        answer_model=settings.models.chat_model if leave_for_answer else "",
        spent_since=make_ledger(settings) if settings.budget.per_day else None,
        recorded=recorded,
    )


def make_context(settings: Settings, embedder: Embedder) -> GlobalContext | None:
    """Return the global context, or None without a file about the assistant. Raises DeclarationError."""
    from lore.declarations import load_assistant
    from lore.query.understand.context import GlobalContext

    assistant = load_assistant(settings.project.assistant)
    if assistant is None:
        return None
    return GlobalContext(assistant.name, assistant.context, embedder, file=settings.project.assistant.name)


def searchable_sources(settings: Settings) -> tuple[SearchableSource, ...]:
    """Return the declared sources, without those whose declaration is broken."""
    from lore.declarations import load_declarations
    from lore.query.understand.filters import SearchableSource

    if not settings.project.sources_dir.is_dir():
        return ()
    return tuple(
        SearchableSource(
            declaration.id,
            declaration.kind,
            declaration.title,
            channels=tuple(name.removeprefix("#") for name in getattr(declaration, "channels", ())),
            audiences=declaration.audiences,
        )
        for declaration in load_declarations(settings.project.sources_dir).valid
    )
