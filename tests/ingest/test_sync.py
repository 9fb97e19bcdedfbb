"""The ingest journey at its seam: what the store holds, and what the report says, after each kind of run."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import NoReturn

import pytest
from lore.errors import (
    ConfigurationError,
    ConversionError,
    LoreError,
    ModelError,
    RemovalFloorError,
    SourceError,
    StoreError,
    SyncError,
)
from lore.ingest.extract.staging import source_lock
from lore.ingest.report import Progress, ShardReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.protocols import Source, Store
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Document, EmbeddedDocument, Failure, Recipe

from tests.conftest import ROOT
from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.ingest.sync_process import folder_sync
from tests.syncs import make_sync

LONG = "".join(f"## Part {part}\n\n" + f"Sentence {part} about lamps. " * 12 + "\n\n" for part in range(4))


def convert(document: Document) -> Document:
    if "UNREADABLE" in document.text:
        raise ConversionError("The page is unreadable.", remedy="Look at it.")
    if "BUG" in document.text:
        raise ZeroDivisionError("a bug in a library")
    return replace(document, text=document.text.replace("\r\n", "\n"))


class House:
    """A store and all that a sync needs, kept over several runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.embedder = FakeEmbedder()
        self.store: Store = LanceStore(str(folder / "index"), Recipe(self.embedder.name, self.embedder.dimensions))

    def sync(self, source: Source, budget: int = 300, **changes: object) -> Sync:
        values: dict[str, object] = {"staging_uri": str(self.folder / "staging"), **changes}
        return make_sync(source, self.store, self.embedder, MarkdownSplitter(budget), convert, **values)  # type: ignore[arg-type]

    def texts(self, source_id: str = "fake") -> dict[str, list[str]]:
        return {
            document.id: [chunk.text for chunk in self.store.chunks(document.id)]
            for document in self.store.documents(source_id)
        }

    def staged(self) -> list[Path]:
        return [path for path in (self.folder / "staging").rglob("*") if path.name.endswith((".gz", ".json"))]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def source(*documents: Document, cursor: str | None = None, **changes: object) -> FakeSource:
    return FakeSource([Batch(documents, cursor)], **changes)  # type: ignore[arg-type]


def pages(count: int, text: str = LONG) -> list[Document]:
    return [make_document(f"p{number}", f"# Page p{number}\n\n{text}Number {number}.") for number in range(count)]


def test_a_first_sync_stores_everything_and_says_so(house: House) -> None:
    seen: list[Progress] = []
    report = house.sync(source(*pages(5))).run(progress=seen.append)
    assert (report.status, report.new, report.changed, report.unchanged, report.removed) == ("ok", 5, 0, 0, 0)
    counts = house.store.count("fake")
    assert counts.documents == 5 and counts.chunks == counts.recorded_chunks == report.chunks > 5
    assert report.embedded_texts == len(house.embedder.embedded) > 0 and report.embedding_calls >= 1
    assert seen[0].stage == "extract" and seen[-1].stage == "reconcile"
    assert seen[-2] == Progress("index", 5, 5, seen[-2].chunks)
    assert house.staged() == []


def test_a_second_sync_embeds_and_writes_nothing(house: House) -> None:
    house.sync(source(*pages(5))).run()
    before = house.texts()
    house.embedder.embedded.clear()
    report = house.sync(source(*pages(5))).run()
    assert (report.new, report.changed, report.unchanged, report.embedding_calls) == (0, 0, 5, 0)
    assert house.embedder.embedded == [] and house.texts() == before


def test_a_change_embeds_only_what_changed(house: House) -> None:
    documents = pages(3)
    house.sync(source(*documents)).run()
    house.embedder.embedded.clear()
    documents[1] = replace(documents[1], text=documents[1].text.replace("Sentence 2", "Clause 2", 1))
    report = house.sync(source(*documents)).run()
    assert (report.changed, report.unchanged) == (1, 2)
    assert len(house.embedder.embedded) == 1
    texts = house.texts()["fake:p1"]
    assert any("Clause 2" in text for text in texts)
    assert "".join(texts).count("Clause 2") == 1 and len(texts) == len(house.texts()["fake:p0"])


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Another"},
        {"url": "https://docs.example.com/moved"},
        {"metadata": {"state": "closed"}},
        {"audiences": ("private",)},
        {"format": "text"},
        {"data": b"bytes"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_is_stored_of_a_document_counts_as_a_change(house: House, change: dict[str, object]) -> None:
    (document,) = pages(1)
    house.sync(source(document)).run()
    assert house.sync(source(replace(document, **change))).run().changed == 1  # type: ignore[arg-type]


def test_a_date_alone_is_no_change(house: House) -> None:
    from datetime import UTC, datetime

    (document,) = pages(1)
    house.sync(source(document)).run()
    assert house.sync(source(replace(document, updated_at=datetime.now(UTC)))).run().unchanged == 1


def test_equal_text_in_two_documents_is_embedded_once(house: House) -> None:
    twins = [make_document(name, LONG, title="Twin") for name in ("a", "b")]
    report = house.sync(source(*twins)).run()
    assert report.embedded_texts == report.chunks / 2
    house.embedder.embedded.clear()
    house.sync(FakeSource([Batch((replace(twins[0], id="other:c", source_id="other"),))], id="other")).run()
    assert house.embedder.embedded == []


def test_what_vanished_is_removed(house: House) -> None:
    documents = pages(4)
    house.sync(source(*documents)).run()
    report = house.sync(source(*documents[:3])).run()
    assert report.removed == 1
    assert set(house.texts()) == {"fake:p0", "fake:p1", "fake:p2"}
    counts = house.store.count("fake")
    assert counts.chunks == counts.recorded_chunks


def test_ids_that_a_batch_names_as_deleted_are_removed(house: House) -> None:
    house.sync(source(*pages(3))).run()
    gone = FakeSource([Batch((), deleted_ids=("fake:p2", "fake:unknown"))], listing=["fake:p0", "fake:p1", "fake:p2"])
    assert house.sync(gone).run().removed == 1


def test_losing_more_than_the_floor_stops_and_removes_nothing(house: House) -> None:
    documents = pages(4)
    house.sync(source(*documents, cursor="one")).run()
    with pytest.raises(RemovalFloorError, match="lose 3 of its 4 documents") as caught:
        house.sync(source(documents[0], cursor="two")).run()
    assert "--force-removals fake" in caught.value.remedy
    assert len(house.texts()) == 4
    state = house.store.state("fake")
    assert state and state.status == "failed" and state.cursor == "one"
    assert house.sync(source(documents[0])).run(force_removals=True).removed == 3


@pytest.mark.parametrize("in_steps", [False, True])
def test_a_refused_sync_writes_nothing_that_it_read(house: House, in_steps: bool) -> None:
    documents = pages(4)
    house.sync(source(*documents, cursor="one")).run()
    before = house.texts()
    sync = house.sync(source(replace(documents[0], text="We will be back soon."), make_document("new", "New.")))
    with pytest.raises(RemovalFloorError, match="Nothing was changed"):
        if in_steps:
            extraction = sync.extract("run")
            assert sync.shards(extraction) == []
            sync.reconcile(extraction, [])
        else:
            sync.run()
    assert house.texts() == before
    assert sync.run(force_removals=True).removed == 3
    assert house.texts()["fake:p0"] != before["fake:p0"]


SECRET = "AKIA" + "4QWERTZ7UIOPASD2"  # in two parts, so that no file holds one in full


def test_warnings_of_a_source_are_in_the_report_and_hold_nothing_back(house: House) -> None:
    warned = FakeSource([Batch(tuple(pages(2)), "one", warnings=(f"Left out /a. {SECRET}",))])
    report = house.sync(warned).run()
    assert (report.status, report.new, report.failures) == ("warning", 2, ())
    assert "Left out /a." in report.reason and SECRET not in report.reason
    state = house.store.state("fake")
    assert state and (state.status, state.cursor) == ("warning", "one")
    assert house.sync(source(*pages(2), cursor="two")).run().status == "ok"


def test_a_source_that_lists_nothing_does_not_empty_the_index(house: House) -> None:
    house.sync(source(*pages(2))).run()
    with pytest.raises(RemovalFloorError):
        house.sync(FakeSource([], listing=[])).run()
    assert len(house.texts()) == 2


def test_renaming_every_id_counts_as_losing_everything(house: House) -> None:
    house.sync(source(*pages(3))).run()
    moved = [replace(document, id=document.id + ".html") for document in pages(3)]
    with pytest.raises(RemovalFloorError):
        house.sync(source(*moved)).run()


def test_the_floor_is_declared(house: House) -> None:
    documents = pages(4)
    house.sync(source(*documents)).run()
    assert house.sync(source(documents[0]), max_removed_share=0.75).run().removed == 3


def test_the_report_counts_in_words(house: House) -> None:
    one, two, three = (make_document(name, f"The page {name}.") for name in ("one", "two", "three"))
    assert "; 1 chunk, 1 embedding call, " in house.sync(source(one)).run().summary()
    assert "; 2 chunks, 1 embedding call, " in house.sync(source(one, two, three)).run().summary()
    assert "; 0 chunks, 0 embedding calls, " in house.sync(source(one, two, three)).run().summary()


@pytest.mark.parametrize(("text", "reason"), [("UNREADABLE", "unreadable"), ("BUG", "ZeroDivisionError")])
def test_one_bad_document_fails_alone_and_is_tried_again(house: House, text: str, reason: str) -> None:
    documents = [*pages(30), make_document("bad", text)]
    report = house.sync(source(*documents, cursor="one")).run()
    assert report.status == "warning" and report.new == 30
    (failure,) = report.failures
    assert failure.document_id == "fake:bad" and reason in failure.reason
    assert "fake:bad" in report.summary()
    state = house.store.state("fake")
    assert state and state.status == "warning" and state.failures == report.failures
    assert state.cursor is None, "the cursor waits for the failed document"
    again = source(*documents[:-1], make_document("bad", "Good now."), cursor="two")
    report = house.sync(again).run()
    assert (again.reads, report.status, report.new, report.unchanged) == ([None], "ok", 1, 30)
    assert house.store.state("fake").cursor == "two"  # type: ignore[union-attr]


def test_a_document_that_fails_later_keeps_what_was_indexed(house: House) -> None:
    documents = pages(30)
    house.sync(source(*documents)).run()
    before = house.texts()["fake:p7"]
    documents[7] = replace(documents[7], text="UNREADABLE")
    assert house.sync(source(*documents)).run().status == "warning"
    assert house.texts()["fake:p7"] == before


def test_failures_above_the_declared_share_fail_the_run(house: House) -> None:
    documents = [*pages(3), make_document("bad", "UNREADABLE")]
    with pytest.raises(SyncError, match="1 of 4 documents") as caught:
        house.sync(source(*documents)).run()
    assert "fake:bad" in str(caught.value)
    assert len(house.texts()) == 3, "the others are indexed all the same"
    assert house.sync(source(*documents), max_failed_share=0.5).run().status == "warning"


def test_a_failure_that_the_source_names_counts_too(house: House) -> None:
    failed = FakeSource([Batch(tuple(pages(30)), "one", failures=(Failure("fake:big", "Over 5 MB."),))])
    failed.listing = [*(document.id for document in pages(30)), "fake:big"]
    assert house.sync(failed).run().failures == (Failure("fake:big", "Over 5 MB."),)


def test_the_cursor_is_handed_back_and_moves_on(house: House) -> None:
    documents = pages(2)
    first = source(*documents, cursor="one")
    house.sync(first).run()
    second = source(documents[1], cursor="two", listing=["fake:p0", "fake:p1"])
    report = house.sync(second).run()
    assert (first.reads, second.reads, report.removed) == ([None], ["one"], 0)
    assert house.store.state("fake").cursor == "two"  # type: ignore[union-attr]


def test_what_another_converter_made_is_read_from_its_start(house: House) -> None:
    documents = pages(2)
    house.sync(source(*documents, cursor="one")).run()
    state = house.store.state("fake")
    assert state is not None
    house.store.save_state(replace(state, recipe="converter-0"))
    again = source(*documents, cursor="two")
    house.sync(again).run()
    assert again.reads == [None]


class RereadableSource(FakeSource):
    """Its cursor can leave out documents by name."""

    def rewind(self, cursor: str, document_ids: Sequence[str]) -> str | None:
        return None if "fake:unknown" in document_ids else f"{cursor} without {' '.join(document_ids)}"


@pytest.mark.parametrize(("failing", "cursor"), [("bad", "two without fake:bad"), ("unknown", "one")])
def test_a_source_that_can_gives_only_what_failed_again(house: House, failing: str, cursor: str) -> None:
    house.sync(source(*pages(30), cursor="one")).run()
    documents = (*pages(31), make_document(failing, "UNREADABLE"))
    assert house.sync(RereadableSource([Batch(documents, "two")])).run().status == "warning"
    state = house.store.state("fake")
    assert state is not None
    assert state.cursor == cursor


def test_an_emptied_index_is_filled_from_the_start(house: House) -> None:
    house.sync(source(*pages(2), cursor="one")).run()
    house.store.delete("fake", ["fake:p0", "fake:p1"])
    again = source(*pages(2), cursor="two")
    assert house.sync(again).run().new == 2
    assert again.reads == [None]


def test_a_source_that_stops_early_keeps_what_it_gave(house: House) -> None:
    documents = pages(4)
    cut = FakeSource(
        [
            Batch(tuple(documents[:2]), "two"),
            SourceError("The rate limit is used up.", retryable=True),
        ],
        listing=[],
    )
    with pytest.raises(SourceError, match="Couldn't read fake to its end: The rate limit is used up"):
        house.sync(cut).run()
    state = house.store.state("fake")
    assert state and state.status == "failed" and state.cursor == "two"
    assert len(house.texts()) == 2
    rest = source(*documents[2:], cursor="four", listing=[document.id for document in documents])
    assert house.sync(rest).run().new == 2
    assert rest.reads == ["two"]


class Unlistable(FakeSource):
    """Can be read and not listed."""

    def list_ids(self) -> Iterator[str]:
        yield "fake:p0"
        raise SourceError("A page of the list is broken.")


def test_a_list_that_fails_removes_nothing_and_is_told(house: House) -> None:
    documents = pages(30)
    house.sync(source(*documents)).run()
    report = house.sync(Unlistable([Batch((*documents[:5], make_document("new", "New.")))])).run()
    assert (report.status, report.new, report.removed) == ("warning", 1, 0)
    assert "A page of the list is broken." in report.failures[0].reason


@pytest.mark.parametrize("error", [SourceError("Gone.", retryable=True), SourceError("Wrong token.")])
def test_a_source_that_gives_nothing_changes_nothing(house: House, error: LoreError) -> None:
    house.sync(source(*pages(2), cursor="one")).run()
    with pytest.raises(SourceError, match=error.message):
        house.sync(FakeSource([error])).run()
    state = house.store.state("fake")
    assert state and state.status == "failed" and state.cursor == "one" and state.report["reason"] == error.message
    assert len(house.texts()) == 2 and house.staged() == []


def test_a_first_sync_that_cannot_read_leaves_no_index(house: House) -> None:
    with pytest.raises(SourceError):
        house.sync(FakeSource([SourceError("Wrong token.")])).run()
    assert not (house.folder / "index").exists()


class FailingEmbedder(FakeEmbedder):
    """Fails after so many texts."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after

    def embed_documents(self, texts: Sequence[str]):  # type: ignore[no-untyped-def]
        self.after -= len(texts)
        if self.after < 0:
            raise ModelError("The model is overloaded.", retryable=True)
        return super().embed_documents(texts)


def test_an_embedder_that_fails_in_the_middle_leaves_a_run_that_can_be_repeated(house: House) -> None:
    documents = [make_document("first", "One."), *pages(300, text="Short. ")]
    house.sync(source(make_document("first", "One."))).run()
    house.embedder = FailingEmbedder(after=260)
    with pytest.raises(ModelError):
        house.sync(source(*documents)).run()
    stored = house.store.count("fake").documents
    assert 1 < stored < 301
    assert house.store.state("fake").status == "failed"  # type: ignore[union-attr]
    house.embedder = FakeEmbedder()
    report = house.sync(source(*documents)).run()
    assert (report.new, report.unchanged) == (301 - stored, stored)


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


@pytest.mark.parametrize("uri", ["nowhere://x/y", "s3://bucket/x", "gs://bucket/x", "with\0nul"])
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


# ------------------------------------------------------------------------------- kills and races, in real processes


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
