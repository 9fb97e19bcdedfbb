"""Services of the application: the pipeline, the records and the sources, opened once for the life of the process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol

from lore.types import PUBLIC, Document, Hit, Question

if TYPE_CHECKING:
    from lore.query.events import Event
    from lore.records.records import Records
    from lore.settings import Settings

__all__ = ["AnsweringPipeline", "ListSources", "ServedSource", "Services", "open_services"]


class AnsweringPipeline(Protocol):
    """The part of a pipeline that the application calls."""

    def stream(self, question: Question) -> Iterator[Event]:
        """Answer a question and yield the events of its journey."""
        ...

    def search(self, question: Question, limit: int | None = None) -> list[Hit]:
        """Return the best passages for a question, `limit` at most."""
        ...


class ListSources(Protocol):
    """Lists sources."""

    def __call__(self, audiences: Collection[str] = (PUBLIC,)) -> Sequence[ServedSource]:
        """Return the sources that one of the audiences may read, as declared."""
        ...


@dataclass(frozen=True, slots=True)
class ServedSource:
    """A source that its reader may read, as the page shows it. `state` is that of its last sync, at `synced_at`."""

    id: str
    kind: str
    title: str
    documents: int
    state: str
    synced_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that the routes call. `records` is None if answers aren't recorded.

    `document` returns a stored document by its id, whoever may read it. `name` is the assistant's, and `suggestions`
    are questions for a newcomer to try.
    """

    pipeline: AnsweringPipeline
    records: Records | None
    sources: ListSources
    document: Callable[[str], Document | None]
    name: str = "Lore"
    suggestions: tuple[str, ...] = ()


@contextmanager
def open_services(settings: Settings) -> Iterator[Services]:
    """Open all services, and load the model before the first person asks.

    Raises ConfigurationError if there is no index, and the errors of the parts.
    """
    from lore.declarations import load_assistant
    from lore.wiring.models import make_embedder
    from lore.wiring.query import make_pipeline
    from lore.wiring.records import is_recording, make_recorder, open_records
    from lore.wiring.stores import open_store, require_index

    require_index(settings)
    assistant = load_assistant(settings.project.assistant)
    with ExitStack() as stack:
        recorder = stack.enter_context(make_recorder(settings))
        records = stack.enter_context(open_records(settings, make=True)) if is_recording(settings) else None
        embedder = make_embedder(settings)
        index = open_store(settings, embedder)
        pipeline = make_pipeline(settings, index=index, embedder=embedder, recorder=recorder)
        pipeline.search(Question("Which documents are there?"))
        yield Services(
            pipeline,
            records,
            partial(_readable_sources, settings),
            index.document,
            name=assistant.name if assistant else "Lore",
            suggestions=assistant.suggested_questions if assistant else (),
        )


def _readable_sources(settings: Settings, audiences: Collection[str] = (PUBLIC,)) -> list[ServedSource]:
    """Return the declared sources that one of the audiences may read and that the index holds."""
    from lore.declarations import load_declarations
    from lore.wiring.stores import summarize_index

    folder = settings.project.sources_dir
    valid = load_declarations(folder).valid if folder.is_dir() else ()
    declared = [one for one in valid if not set(audiences).isdisjoint(one.audiences)]
    summary = summarize_index(settings, [one.id for one in declared])
    if summary is None:
        return []
    return [
        ServedSource(one.id, one.kind, one.title or one.id, counts.documents, state.status, state.synced_at)
        for one in declared
        if (state := summary.states.get(one.id)) and (counts := summary.counts.get(one.id)) and counts.documents
    ]
