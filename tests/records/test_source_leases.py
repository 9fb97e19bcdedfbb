"""Leases on sources: of two runs on any machines, one goes on; a run that was overtaken writes nothing more."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from lore.errors import SourceError, SyncError
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.records.leases import LeaseStore
from lore.records.records import Records
from lore.records.source_leases import StoredSourceLeases
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Recipe

from tests.conftest import ROOT
from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.syncs import make_sync

HOLD = """
import sys, time
from lore.records.leases import LeaseStore
from lore.records.records import Records
from lore.records.source_leases import StoredSourceLeases
url, machine = sys.argv[1:]
with Records.open(url, str) as records:
    leases = StoredSourceLeases(lambda: LeaseStore(records.engine), machine=machine)
    with leases.begin("docs", "dead", ends=True, on_wait=print):
        print("held", flush=True)
        time.sleep(60)
"""


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(f"sqlite:///{tmp_path}/records.db", str) as records:
        yield records


def leases_of(records: Records, machine: str = "", **seconds: float) -> StoredSourceLeases:
    return StoredSourceLeases(lambda: LeaseStore(records.engine), machine=machine, poll=0.05, **seconds)


class Machine:
    """A machine with a staging area of its own; the index and the records are shared."""

    def __init__(self, folder: Path, name: str, records: Records) -> None:
        self._folder = folder
        self._name = name
        self._leases = leases_of(records)
        embedder = FakeEmbedder()
        self.store = LanceStore(str(folder / "index"), Recipe(embedder.name, embedder.dimensions))

    def sync(self, text: str = "") -> Sync:
        pages = (make_document("page", text),)
        return make_sync(
            FakeSource([Batch(pages)]),
            self.store,
            FakeEmbedder(),
            MarkdownSplitter(300),
            staging_uri=str(self._folder / self._name),
            leases=self._leases,
        )


def test_a_run_that_another_has_overtaken_writes_nothing_more(records: Records, tmp_path: Path) -> None:
    first, second = Machine(tmp_path, "first", records), Machine(tmp_path, "second", records)
    extraction = first.sync("The old text.").extract("run-1")
    [shard] = first.sync().shards(extraction)
    leases_of(records)._open().release("sync:fake", "run-1")  # as if the pause between two tasks had been too long
    second.sync("The new text.").run()
    for step in (lambda: first.sync().index(shard), lambda: first.sync().reconcile(extraction, [])):
        with pytest.raises(SyncError, match="Another sync of fake has begun"):
            step()
    assert [document.text for document in second.store.documents()] == ["The new text."]
    second.sync("The newest text.").run()  # and the refusals have left no lease
    assert [document.text for document in second.store.documents()] == ["The newest text."]


def test_a_second_run_waits_until_the_first_has_ended(records: Records) -> None:
    leases, waits = leases_of(records), []
    with leases.begin("docs", "run-1", ends=False, on_wait=lambda: waits.append("run-1")):
        pass

    def end_the_first() -> None:
        waits.append("run-2")
        with leases.go_on("docs", "run-1", ends=True):
            pass

    with leases.begin("docs", "run-2", ends=True, on_wait=end_the_first):
        pass
    with leases.begin("docs", "run-3", ends=True, on_wait=lambda: waits.append("run-3")):
        pass
    assert waits == ["run-2"]


def test_a_scheduler_that_begins_the_next_run_has_ended_the_last_one(records: Records) -> None:
    def scheduled(name: str) -> StoredSourceLeases:
        return StoredSourceLeases(lambda: LeaseStore(records.engine), scheduler=name, poll=0.05)

    airflow, another, waits = scheduled("airflow"), scheduled("another"), []
    for run_id in ("run-1", "run-2"):
        with airflow.begin("docs", run_id, ends=False, on_wait=lambda: waits.append("airflow")):
            pass
    with pytest.raises(SyncError), airflow.go_on("docs", "run-1", ends=False):
        pass

    def end() -> None:
        waits.append("another")
        with airflow.go_on("docs", "run-2", ends=True):
            pass

    with another.begin("docs", "run-3", ends=True, on_wait=end):
        pass
    assert waits == ["another"]


@pytest.mark.parametrize(("retryable", "waits"), [(True, True), (False, False)])
def test_only_a_run_that_may_go_on_keeps_its_source_after_an_error(
    records: Records, *, retryable: bool, waits: bool
) -> None:
    leases, waited = leases_of(records), []
    with suppress(SourceError), leases.begin("docs", "run-1", ends=False, on_wait=lambda: None):
        raise SourceError("away", retryable=retryable)

    def release() -> None:
        waited.append(True)
        leases._open().release("sync:docs", "run-1")

    with leases.begin("docs", "run-2", ends=True, on_wait=release):
        pass
    assert bool(waited) is waits


def test_a_step_keeps_its_lease_however_long_it_takes(records: Records) -> None:
    leases = leases_of(records, seconds=0.4)
    with leases.begin("docs", "run-1", ends=True, on_wait=lambda: None):
        time.sleep(0.9)
        assert leases._open().take("sync:docs", "run-2", 1) is None


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "waits"), [("here", False), ("elsewhere", True)])
def test_the_lease_of_a_killed_process_is_taken_at_once_where_its_lock_is_known_to_be_free(
    records: Records, tmp_path: Path, *, machine: str, waits: bool
) -> None:
    url = f"sqlite:///{tmp_path}/records.db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, url, "here"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.kill()
    waited = []

    def release() -> None:
        waited.append(True)
        leases._open().release("sync:docs", "dead")

    leases = leases_of(records, machine)
    with leases.begin("docs", "run-2", ends=True, on_wait=release):
        pass
    assert bool(waited) is waits
