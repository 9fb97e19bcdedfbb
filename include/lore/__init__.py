"""Public API of Lore: `ask("How do I rotate a key?").text` answers from a team's own documents, with proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore.errors import LoreError
from lore.types import PUBLIC, Answer, Citation, Document, Hit, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.tools import StructuredTool

    from lore.query.pipeline import Pipeline
    from lore.query.retriever import LoreRetriever
    from lore.settings import Settings

__all__ = [
    "Answer",
    "Citation",
    "Document",
    "Hit",
    "LoreError",
    "LoreRetriever",
    "Question",
    "ask",
    "make_search_tool",
    "open_pipeline",
]


def open_pipeline(settings: Settings | None = None) -> Pipeline:
    """Open the query pipeline with the given settings, or the environment's, and keep it: it holds the model.

    Raises ConfigurationError if nothing was synced yet; no file is created.
    """
    from lore.settings import load_settings
    from lore.wiring.query import make_pipeline
    from lore.wiring.records import make_recorder
    from lore.wiring.stores import require_index

    settings = settings or load_settings()
    require_index(settings)
    return make_pipeline(settings, recorder=make_recorder(settings))


def ask(question: Question | str) -> Answer:
    """Answer one question with the environment's settings. Raises LoreError."""
    return open_pipeline().ask(Question(question) if isinstance(question, str) else question)


def make_search_tool(pipeline: Pipeline, *, audiences: Sequence[str] = (PUBLIC,)) -> StructuredTool:
    """Return a pipeline's search as the LangChain tool `search_knowledge_base`, for agents of your own."""
    from lore.query.tool import make_search_tool as make

    return make(pipeline, audiences=audiences)


def __getattr__(name: str) -> object:
    """Import LoreRetriever, which needs LangChain, when it is first used."""
    if name != "LoreRetriever":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lore.errors import require

    require("langchain_core", "langchain", "A retriever for LangChain")
    from lore.query.retriever import LoreRetriever

    return LoreRetriever
