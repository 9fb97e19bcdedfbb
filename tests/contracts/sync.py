"""The contract of a sync, for every kind of source. Inherit it and provide the fixture `world`.

class TestMyKind(SyncContract):
    @pytest.fixture
    def world(self): ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from lore.convert import convert
from lore.ingest.report import Progress, SyncReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.protocols import Source
from lore.stores.lancedb.store import LanceStore
from lore.types import Recipe

from tests.fakes import FakeEmbedder
from tests.syncs import make_sync

__all__ = ["House", "KilledError", "SyncContract", "World", "kill_at"]


@dataclass
class World:
    """A source that can change. `source` opens it again, as another process would; `fetched` is the number of bodies
    fetched so far, if that costs anything.

    `changed` is the number of documents that an edit changes, `embedded` the most texts that an edit and an addition
    embed. `resumes` is True if an interrupted read can be resumed; `twice` is then the most bodies that are fetched
    again, and `rechecked` the number fetched although nothing changed.
    """

    source: Callable[[], Source]
    documents: int
    edit: Callable[[], object]
    add: Callable[[], object]
    delete: Callable[[], object]
    fetched: Callable[[], int] = lambda: 0
    rereads: bool = False
    """True if each read returns everything, so that unchanged documents are found by comparison."""
    changed: int = 1
    embedded: int = 6
    resumes: bool = True
    twice: int = 0
    rechecked: int = 0


class KilledError(BaseException):
    """A stand-in for a kill between two writes; nothing may catch it."""


class House:
    """An index and a staging area that last for several syncs; each sync gets a source of its own."""

    def __init__(self, folder: Path, world: World) -> None:
        self._world = world
        self._staging = str(folder / "staging")
        self.embedder = FakeEmbedder()
        self.store = LanceStore(str(folder / "index"), Recipe(self.embedder.name, self.embedder.dimensions))

    def sync(self) -> Sync:
        return make_sync(
            self._world.source(), self.store, self.embedder, MarkdownSplitter(800), convert, staging_uri=self._staging
        )

    def run(self, progress: Callable[[Progress], None] = lambda progress: None) -> SyncReport:
        return self.sync().run(progress=progress)

    def staged(self) -> list[Path]:
        """The remaining files of the staging area."""
        return [path for path in Path(self._staging).rglob("*") if path.is_file() and path.suffix != ".lock"]

    def contents(self) -> dict[str, object]:
        """Everything in the index by document: the document, and ids, texts, positions and vectors of its chunks."""
        (source_id,) = self.store.states() or (self._world.source().id,)
        found: dict[str, object] = {}
        for document in self.store.documents(source_id):
            chunks = self.store.chunks(document.id)
            vectors = self.store.vectors_for([chunk.content_hash for chunk in chunks])
            found[document.id] = (document, [(chunk, vectors[chunk.content_hash].tobytes()) for chunk in chunks])
        assert set(self.store.fingerprints(source_id)) == set(found)
        return found


def kill_at(stage: str, tells: int) -> Callable[[Progress], None]:
    """A listener that kills the run at the given occurrence of a stage."""
    heard = 0

    def tell(progress: Progress) -> None:
        nonlocal heard
        heard += progress.stage == stage
        if heard == tells:
            raise KilledError

    return tell


class SyncContract:
    """One suite for all kinds: the cost of each kind of sync, and kills that cost nothing but time."""

    @pytest.fixture
    def world(self) -> World:
        raise NotImplementedError

    @pytest.fixture
    def house(self, tmp_path: Path, world: World) -> House:
        return House(tmp_path / "house", world)

    def test_first_unchanged_and_changed(self, world, house):
        first = house.run()
        assert (first.new, first.changed, first.unchanged, first.removed) == (world.documents, 0, 0, 0)
        assert not first.failures
        before = world.fetched()
        unchanged = house.run()
        same = world.documents if world.rereads else 0
        assert (unchanged.new, unchanged.changed, unchanged.unchanged, unchanged.removed) == (0, 0, same, 0)
        assert (unchanged.embedding_calls, unchanged.embedded_texts) == (0, 0)
        assert world.fetched() <= before + world.rechecked
        world.edit()
        world.add()
        world.delete()
        third = house.run()
        assert (third.new, third.changed, third.removed, len(third.failures)) == (1, world.changed, 1, 0)
        assert 1 <= third.embedded_texts <= world.embedded
        assert house.store.count().documents == world.documents

    @pytest.mark.slow
    def test_a_kill_anywhere_costs_no_more_than_its_time(self, tmp_path, world):
        batches = 0

        def count(progress: Progress) -> None:
            nonlocal batches
            batches += progress.stage == "extract"

        start = world.fetched()
        undisturbed = House(tmp_path / "undisturbed", world)
        undisturbed.run(count)
        whole = world.fetched() - start
        expected = undisturbed.contents()
        assert batches > 1 or not world.resumes
        extracts = [("extract", cut) for cut in sorted({max(1, batches // 2), batches})]
        for stage, tells in [*extracts, ("index", 1)]:
            house = House(tmp_path / f"{stage}-{tells}", world)
            start = world.fetched()
            with pytest.raises(KilledError):
                house.run(kill_at(stage, tells))
            read = world.fetched() - start
            assert house.run().status == "ok"
            assert house.contents() == expected
            assert world.fetched() - start - whole <= (world.twice if world.resumes or stage == "index" else read)
            assert not house.staged()

    @pytest.mark.slow
    def test_a_task_that_was_killed_while_it_read_is_tried_again(self, tmp_path, world):
        start = world.fetched()
        whole = House(tmp_path / "whole", world)
        whole.run()
        once = world.fetched() - start
        house = House(tmp_path / "house", world)
        start = world.fetched()
        with pytest.raises(KilledError):
            house.sync().extract("manual__1", progress=kill_at("extract", 1))
        read = world.fetched() - start
        extraction = house.sync().extract("manual__1")
        assert world.fetched() - start - once <= (world.twice if world.resumes else read)
        reports = [house.sync().index(shard) for shard in house.sync().shards(extraction)]
        assert house.sync().reconcile(extraction, reports).status == "ok"
        assert house.contents() == whole.contents()
        assert not house.staged()

    @pytest.mark.slow
    def test_what_changed_after_a_kill_is_as_if_there_had_been_none(self, tmp_path, world):
        house = House(tmp_path / "house", world)
        with pytest.raises(KilledError):
            house.run(kill_at("extract", 1))
        world.edit()
        world.add()
        world.delete()
        house.run()
        house.run()
        fresh = House(tmp_path / "fresh", world)
        fresh.run()
        assert house.contents() == fresh.contents()
