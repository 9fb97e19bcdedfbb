"""The steps of a sync, its staged files, and syncs that are killed or run at once."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import NoReturn

import pytest
from lore.errors import (
    ConfigurationError,
    LoreError,
    ModelError,
    StoreError,
    SyncError,
)
from lore.ingest.extract.staging import source_lock
from lore.ingest.report import Progress, ShardReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Document, EmbeddedDocument, Recipe

from tests.conftest import ROOT
from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.ingest.sync_process import folder_sync
from tests.ingest.sync_setup import LONG, House, pages, source
from tests.syncs import make_sync


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_a_document_that_comes_twice_is_stored_as_it_came_last(house: House) -> None:
    first, second = make_document("a", "First state."), make_document("a", "Second state.")
    filler = [make_document(f"f{number}", "Filler.") for number in range(300)]
    report = house.sync(FakeSource([Batch((first, *filler, second))])).run()
    assert house.texts()["fake:a"] == ["Second state."]
    assert report.new == 301 and house.store.count("fake").documents == 301


def test_the_steps_can_be_run_apart_and_repeated(house: House) -> None:
    documents = pages(300, text="Short. ")
    extraction = house.sync(source(*documents)).extract("scheduled__2026-01-01T00:00:00+00:00/../x")
    assert Path(extraction).is_relative_to(house.folder / "staging" / "fake")
    shards = house.sync(source()).shards(extraction)
    assert len(shards) == 2
    for shard in shards:
        house.sync(source()).index(shard)
    reports = [ShardReport.from_json(house.sync(source()).index(shard).to_json()) for shard in shards]
    assert sum(report.unchanged for report in reports) == 300, "indexing a shard again does nothing"
    assert house.sync(source()).reconcile(extraction, reports).status == "ok"
    assert house.store.count("fake").documents == 300 and house.staged() == []


def test_empty_documents_are_held_without_chunks(house: House) -> None:
    report = house.sync(source(make_document("empty", "  \n"))).run()
    assert (report.new, report.chunks, house.texts()) == (1, 0, {"fake:empty": []})
    assert house.sync(source(make_document("empty", "  \n"))).run().unchanged == 1


def test_unusual_text_survives_staging_to_the_letter(house: House) -> None:
    text = "Tabs\tand \u2028 separators, e\u0301, \U0001f40b, quotes ' \" and a NUL-free end."
    house.sync(source(make_document("a/ü ' \" ;--", text))).run()
    assert house.texts() == {"fake:a/ü ' \" ;--": [text]}


def test_staging_that_cannot_be_written_is_named(house: House) -> None:
    (house.folder / "file").write_text("")
    with pytest.raises(LoreError, match=r"Couldn't write to the staging area"):
        house.sync(source(*pages(1)), staging_uri=str(house.folder / "file")).run()


@pytest.mark.parametrize("uri", ["nowhere://x/y", "gs://bucket/x", "with\0nul"])
def test_staging_of_an_unknown_or_uninstalled_kind_is_a_matter_of_configuration(house: House, uri: str) -> None:
    with pytest.raises(ConfigurationError, match="LORE_STAGING_URI"):
        house.sync(source(*pages(1)), staging_uri=uri).run()


def test_staging_without_folders_as_object_stores_are(house: House) -> None:
    sync = house.sync(source(*pages(3)), staging_uri=f"memory://{house.folder.name}")
    assert sync.run().new == 3
    assert sync.run().unchanged == 3


def test_strangers_in_the_staging_area_are_left_alone(house: House) -> None:
    (house.folder / "staging" / "fake" / "old" / "nested").mkdir(parents=True)
    (house.folder / "staging" / "fake" / ".DS_Store").write_text("")
    assert house.sync(source(*pages(1))).run().new == 1


def test_a_disk_that_is_full_while_staging_is_an_error_in_words(house: House) -> None:
    code = (
        "import resource, signal, sys; from tests.ingest.sync_process import folder_sync\n"
        "sync = folder_sync(*sys.argv[1:]); signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
        "from lore.errors import StoreError\n"
        "try: sync.extract('run')\n"
        "except StoreError as error: print(error.retryable, error)\n"
    )
    folder = written(house.folder / "pages", 60)
    places = [str(folder), str(house.folder / "index"), str(house.folder / "staging")]
    done = subprocess.run([sys.executable, "-c", code, *places], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True Couldn't write the staged file ")
    assert "Free space" in done.stdout
    assert not house.staged()


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "fake:half \ud800"},
        {"metadata": {"when": date(2024, 1, 1)}},
        {"metadata": {"raw": b"x"}},
        {"metadata": {"long": 10**5000}},
        {"updated_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))},
    ],
)
def test_what_no_store_can_hold_fails_alone(house: House, changes: dict[str, object]) -> None:
    report = house.sync(source(*pages(2), make_document("bad", **changes)), max_failed_share=0.5).run()
    assert (report.status, report.new, len(report.failures)) == ("warning", 2, 1)
    assert report.failures[0].document_id.encode()
    assert house.sync(source(*pages(2)), max_failed_share=0.5).run().unchanged == 2


def test_metadata_that_conversion_finds_can_fail_one_document_only(house: House) -> None:
    def with_metadata(document: Document) -> Document:
        return replace(document, metadata={"n": 16**5000} if document.id == "fake:p0" else {})

    sync = make_sync(source(*pages(3)), house.store, house.embedder, MarkdownSplitter(300), with_metadata,
                staging_uri=str(house.folder / "staging"), max_failed_share=0.5)  # fmt: skip
    report = sync.run()
    assert (report.new, [failure.document_id for failure in report.failures]) == (2, ["fake:p0"])


def test_a_run_of_which_a_shard_was_skipped_moves_no_cursor_and_removes_nothing(house: House) -> None:
    house.sync(source(*pages(4), cursor="one")).run()
    sync = house.sync(source(*pages(3, text="Other."), cursor="two"))
    extraction = sync.extract("run")
    with pytest.raises(SyncError, match="3 documents of fake were staged, but 0 were"):
        sync.reconcile(extraction, [])
    state = house.store.state("fake")
    assert state is not None and (state.cursor, state.status) == ("one", "failed")
    assert len(house.store.fingerprints("fake")) == 4


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b", b"{}", None, "flip"])
def test_a_shard_that_is_not_as_it_was_written_is_an_error(house: House, content: bytes | str | None) -> None:
    sync = house.sync(source(*pages(3)))
    (shard,) = sync.shards(sync.extract("run"))
    path, data = Path(shard), Path(shard).read_bytes()
    if content is None:
        path.unlink()
    else:
        flipped = data[:60] + bytes([data[60] ^ 0xFF]) + data[61:]
        path.write_bytes(flipped if isinstance(content, str) else content)
    with pytest.raises(StoreError, match="Couldn't read") as caught:
        sync.index(shard)
    assert ("LORE_STAGING_URI" in caught.value.remedy) == (content is None)


def test_a_sync_that_fails_leaves_nothing_in_the_staging_area(house: House) -> None:
    class Failing(FakeEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> NoReturn:
            raise ModelError("The model is away.", retryable=True)

    house.embedder = Failing()
    with pytest.raises(ModelError):
        house.sync(source(*pages(3))).run()
    assert not house.staged()


def test_a_store_that_loses_what_it_was_given_is_found_out(house: House) -> None:
    class Losing(LanceStore):
        def replace(self, entries: Sequence[EmbeddedDocument]) -> None:
            super().replace(entries[:-1])

    house.store = Losing(str(house.folder / "index"), Recipe(house.embedder.name, house.embedder.dimensions))
    with pytest.raises(StoreError, match="doesn't hold what was written for fake: 1 documents are missing"):
        house.sync(source(*pages(3), cursor="one")).run()
    state = house.store.state("fake")
    assert state is not None and (state.cursor, state.status) == (None, "failed")


def test_a_second_sync_of_a_source_waits_for_the_first(house: House) -> None:
    first = FakeSource([Batch(tuple(pages(1)))])
    waits = threading.Event()
    stages: list[str] = []

    def tell(progress: Progress) -> None:
        stages.append(progress.stage)
        waits.set()

    second = threading.Thread(target=house.sync(first).run, kwargs={"progress": tell}, daemon=True)
    with source_lock(str(house.folder / "staging"), "fake"):
        second.start()
        assert waits.wait(30)
        assert not first.reads
    second.join(30)
    assert first.reads and not second.is_alive()
    assert stages[0] == "wait" and stages.count("wait") == 1


def start(folder: Path, run: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.ingest.sync_process", str(folder), str(run / "index"), str(run / "staging")]
    return subprocess.Popen([*command, *more], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def written(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"page-{number:03d}.md").write_text(f"# Page {number}\n\n{LONG}Number {number}.\n")
    return folder


def contents(run: Path, source_id: str = "fake") -> dict[str, list[tuple[object, ...]]]:
    """Everything that is held: ids, texts, places and vectors of each document's chunks."""
    embedder = FakeEmbedder()
    store = LanceStore(str(run / "index"), Recipe(embedder.name, embedder.dimensions))
    held = {}
    for document in store.documents(source_id):
        chunks = store.chunks(document.id)
        vectors = store.vectors_for([chunk.content_hash for chunk in chunks])
        held[document.id] = [(chunk, vectors[chunk.content_hash].tobytes()) for chunk in chunks]
    counts = store.count(source_id)
    assert counts.chunks == counts.recorded_chunks == sum(len(chunks) for chunks in held.values())
    return held


def test_a_killed_sync_is_healed_by_the_next(tmp_path: Path) -> None:
    folder = written(tmp_path / "pages", 60)
    undisturbed = tmp_path / "undisturbed"
    folder_sync(str(folder), str(undisturbed / "index"), str(undisturbed / "staging")).run()
    expected = contents(undisturbed)
    disturbed = tmp_path / "disturbed"
    for delay in (0.02, 0.15, 0.4):
        process = start(folder, disturbed)
        assert process.stdout
        process.stdout.readline()
        time.sleep(delay)
        process.kill()
        process.communicate()
    folder_sync(str(folder), str(disturbed / "index"), str(disturbed / "staging")).run()
    assert contents(disturbed) == expected


@pytest.mark.slow
def test_syncs_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path / "pages", 16)
    run = tmp_path / "run"
    processes = [start(folder, run, source_id) for source_id in ("fake", "fake", "other")]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    alone = tmp_path / "alone"
    for source_id in ("fake", "other"):
        folder_sync(str(folder), str(alone / "index"), str(alone / "staging"), source_id).run()
        assert contents(run, source_id) == contents(alone, source_id)
