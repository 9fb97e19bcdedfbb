"""An application over a small index, with a pipeline that tests can hold up, cut off and fail."""

from __future__ import annotations

import socket
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import uvicorn
from lore.errors import LoreError
from lore.query.events import Delta, Event
from lore.records.recorder import QueuedRecorder
from lore.records.records import Records
from lore.types import PUBLIC, Document, Hit, Question
from lore.web.app import WebOptions, create_app
from lore.web.services import ServedSource, Services

from tests.query.setup import CHUNKS, Setup

SOURCES = [
    ServedSource("docs", "files", "Handbook", 3, "ok", datetime(2026, 11, 30, tzinfo=UTC)),
    ServedSource("wiki", "files", "Wiki", 1, "ok", None),
]
CHANGED = datetime(2026, 1, 2, 12, tzinfo=UTC)
SUGGESTION = "How do I rotate the API key?"


def readable(audiences: Collection[str] = (PUBLIC,)) -> list[ServedSource]:
    """The sources, and one that only the board reads."""
    return SOURCES + [ServedSource("minutes", "files", "Minutes", 1, "ok")] * ("board" in audiences)


@dataclass
class HeldPipeline:
    """A real pipeline: `gate` holds up its text, `failing` ends the next question, `cut` counts those left early."""

    setup: Setup
    gate: threading.Event = field(default_factory=threading.Event)
    failing: LoreError | None = None
    questions: list[Question] = field(default_factory=list)
    cut: int = 0

    def __post_init__(self) -> None:
        self.gate.set()

    def stream(self, question: Question) -> Iterator[Event]:
        self.questions.append(question)
        if failing := self.failing:
            self.failing = None
            raise failing
        ended = False
        try:
            with closing(self.setup.pipeline.stream(question)) as events:  # type: ignore[type-var]
                for event in events:
                    yield event
                    if isinstance(event, Delta):
                        assert self.gate.wait(30)
            ended = True
        finally:
            self.cut += not ended

    def search(self, question: Question, limit: int | None = None) -> list[Hit]:
        return self.setup.pipeline.search(question, limit)


class World:
    """The application, its records and its pipeline.

    `text` replaces all passages by one; `written` is what a language model gives, structured and streamed.
    """

    def __init__(
        self,
        folder: Path,
        *,
        recorded: bool = True,
        options: WebOptions | None = None,
        text: str = "",
        documents: Sequence[Document] = (),
        written: tuple[Sequence[object], Sequence[object]] | None = None,
    ) -> None:
        url = f"sqlite:///{folder}/records.db"
        self.records = Records.open(url, str) if recorded else None
        self.recorder = QueuedRecorder(lambda: Records.open(url, str), "the records", wait=5.0) if recorded else None
        first = replace(CHUNKS[0], updated_at=CHANGED)
        chunks = [replace(first, text=text, end=len(text))] if text else [first, *CHUNKS[1:]]
        setup = Setup(*(written or ()), chunks=chunks, recorder=self.recorder)
        self.pipeline = HeldPipeline(setup)
        pages = {one.id: one for one in documents}
        services = Services(self.pipeline, self.records, readable, pages.get, "Handbook assistant", (SUGGESTION,))
        self.app = create_app(services, options)

    def close(self) -> None:
        self.pipeline.gate.set()
        if self.recorder:
            self.recorder.close()
        if self.records:
            self.records.close()


class Server:
    """An application on a port of this machine; 0 takes a free one."""

    def __init__(self, app: object, port: int = 0) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1)  # type: ignore[arg-type]
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._listener.close()


@contextmanager
def served(world: World, app: object = None, port: int = 0) -> Iterator[Server]:
    server = Server(app or world.app, port)
    try:
        yield server
    finally:
        world.pipeline.gate.set()
        server.stop()
