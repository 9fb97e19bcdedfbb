"""What the planning of a question is told beside it: the global context, and which sources there are to name."""

from __future__ import annotations

from lore.declarations import load_assistant, load_declarations
from lore.protocols import Embedder
from lore.query.understand.context import GlobalContext
from lore.query.understand.filters import SearchableSource
from lore.settings import Settings

__all__ = ["make_context", "searchable_sources"]


def make_context(settings: Settings, embedder: Embedder) -> GlobalContext | None:
    """Return the global context, or None without a file about the assistant. Raises DeclarationError."""
    assistant = load_assistant(settings.project.assistant)
    if assistant is None:
        return None
    return GlobalContext(assistant.name, assistant.context, embedder, file=settings.project.assistant.name)


def searchable_sources(settings: Settings) -> tuple[SearchableSource, ...]:
    """The declared sources; a broken declaration, or no folder of them, only leaves less to be named."""
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
