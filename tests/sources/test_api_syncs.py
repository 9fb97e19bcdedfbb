"""Whole syncs of the kinds that are read through an API: the first, an unchanged one, one with changes, one cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from include.lore.convert import convert
from include.lore.errors import SourceError
from include.lore.ingest.report import SyncReport
from include.lore.ingest.split import MarkdownSplitter
from include.lore.ingest.sync import Sync
from include.lore.protocols import Source
from include.lore.stores.lancedb import LanceStore
from include.lore.types import Recipe
from tests.fakes import FakeEmbedder
from tests.servers.discourse import DiscourseServer
from tests.servers.json_api import ApiServer, Fault, ListServer
from tests.servers.stackexchange import StackExchangeServer
from tests.sources import test_discourse, test_json_api, test_stackoverflow

COUNT = 120
LATE = test_stackoverflow.START + 300 * test_stackoverflow.DAY


@dataclass
class World:
    """One kind: its server, its source, what edits, adds and deletes there, and the calls that fetch bodies."""

    server: ApiServer
    source: Callable[[], Source]
    edit: Callable[[], object]
    add: Callable[[], object]
    delete: Callable[[], object]
    cut_at: str
    bodies: Callable[[], int]


def stackoverflow() -> Iterator[World]:
    questions = [test_stackoverflow.question(n) for n in range(1, COUNT + 1)]
    answers = [test_stackoverflow.answer(1000 + n, n) for n in range(1, COUNT + 1)]
    with StackExchangeServer(questions, answers, quota=10_000) as server:
        yield World(
            server,
            lambda: test_stackoverflow.source_of(server, max_retries=0),
            lambda: server.questions[3].update(title="Edited?", last_activity_date=LATE),
            lambda: server.questions.append(test_stackoverflow.question(999, LATE + 1)),
            lambda: server.questions.pop(10),
            f"/questions/{COUNT - 19};",
            lambda: sum("/answers" in path for path in server.paths()),
        )


def discourse() -> Iterator[World]:
    with DiscourseServer([test_discourse.topic(n) for n in range(1, COUNT + 1)]) as server:
        yield World(
            server,
            lambda: test_discourse.source_of(server, max_retries=0),
            lambda: server.topics[3].update(title="Edited", bumped_at=test_discourse.stamp(9000)),
            lambda: server.topics.append(test_discourse.topic(999)),
            lambda: server.topics.pop(10),
            "/t/50.json",
            lambda: sum(path.startswith("/t/") for path in server.paths()),
        )


def json_api() -> Iterator[World]:
    with ListServer([test_json_api.item(n) for n in range(1, COUNT + 1)], paging="link", size=40) as server:
        yield World(
            server,
            lambda: test_json_api.source_of(server, max_retries=0),
            lambda: server.items[3].update(about="Edited."),
            lambda: server.items.append(test_json_api.item(999)),
            lambda: server.items.pop(10),
            "start=80",
            lambda: server.bodies,
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
        world.server.requests.clear()
        world.server.bodies = 0
        staging = str(tmp_path / "staging")
        return Sync(world.source(), store, embedder, MarkdownSplitter(800), convert, staging_uri=staging).run()

    return run


def counts(report: SyncReport) -> tuple[int, int, int, int, int]:
    return report.new, report.changed, report.unchanged, report.removed, len(report.failures)


def test_first_unchanged_and_changed(world, sync):
    assert counts(sync()) == (COUNT, 0, 0, 0, 0)
    unchanged = sync()
    assert counts(unchanged) == (0, 0, 0, 0, 0)
    assert (unchanged.embedding_calls, unchanged.embedded_texts) == (0, 0)
    assert world.bodies() == 0
    world.edit()
    world.add()
    world.delete()
    changed = sync()
    new, other, _, removed, failures = counts(changed)
    assert (new, other, removed, failures) == (1, 1, 1, 0)
    assert 2 <= changed.embedded_texts <= 6
    assert counts(sync()) == (0, 0, 0, 0, 0)


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
