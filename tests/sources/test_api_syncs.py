"""Whole syncs of the kinds that are read through an API, cut off by the server; test_syncs.py has the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lore.convert import convert
from lore.errors import SourceError
from lore.ingest.report import SyncReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.protocols import Source
from lore.stores.lancedb.store import LanceStore
from lore.types import Recipe

from tests.fakes import FakeEmbedder
from tests.servers.discourse import DiscourseServer
from tests.servers.json_api import ApiServer, Fault, ListServer
from tests.servers.stackexchange import StackExchangeServer
from tests.sources.discourse import forums
from tests.sources.json_api import lists
from tests.sources.stackoverflow import questions as stack
from tests.syncs import make_sync

COUNT = 120


@dataclass
class World:
    """One kind: its server, its source, what deletes there, and the call that is cut off."""

    server: ApiServer
    source: Callable[[], Source]
    delete: Callable[[], object]
    cut_at: str


def stackoverflow() -> Iterator[World]:
    questions = [stack.question(n) for n in range(1, COUNT + 1)]
    answers = [stack.answer(1000 + n, n) for n in range(1, COUNT + 1)]
    with StackExchangeServer(questions, answers, quota=10_000) as server:
        yield World(
            server,
            lambda: stack.source_of(server, max_retries=0),
            lambda: server.questions.pop(10),
            f"/questions/{COUNT - 19};",
        )


def discourse() -> Iterator[World]:
    with DiscourseServer([forums.topic(n) for n in range(1, COUNT + 1)]) as server:
        yield World(
            server,
            lambda: forums.source_of(server, max_retries=0),
            lambda: server.topics.pop(10),
            "/t/50.json",
        )


def json_api() -> Iterator[World]:
    with ListServer([lists.item(n) for n in range(1, COUNT + 1)], paging="link", size=40) as server:
        yield World(
            server,
            lambda: lists.source_of(server, max_retries=0),
            lambda: server.items.pop(10),
            "start=80",
        )


@pytest.fixture(params=[stackoverflow, discourse, json_api], ids=lambda kind: kind.__name__)
def world(request) -> Iterator[World]:
    yield from request.param()


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    return LanceStore(str(tmp_path / "index"), Recipe("fake:words", 64))


@pytest.fixture
def sync(world: World, store: LanceStore, tmp_path: Path) -> Callable[[], SyncReport]:
    embedder = FakeEmbedder()

    def run() -> SyncReport:
        staging = str(tmp_path / "staging")
        return make_sync(world.source(), store, embedder, MarkdownSplitter(800), convert, staging_uri=staging).run()

    return run


def counts(report: SyncReport) -> tuple[int, int, int, int, int]:
    return report.new, report.changed, report.unchanged, report.removed, len(report.failures)


def test_a_sync_that_the_server_cuts_goes_on_the_next_time(world, store, sync):
    world.server.faults.append(Fault(world.cut_at, 503))
    with pytest.raises(SourceError):
        sync()
    kept = store.count().documents
    rest = sync()
    assert counts(rest) == (COUNT - kept, 0, rest.unchanged, 0, 0)
    assert store.count().documents == COUNT
    assert counts(sync()) == (0, 0, 0, 0, 0)
    world.delete()
    assert sync().removed == 1
