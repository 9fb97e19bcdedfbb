"""Syncs that end well: additions, changes, removals, and the floor of removals."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from lore.errors import (
    RemovalFloorError,
)
from lore.ingest.report import Progress
from lore.types import Batch

from tests.fakes import FakeSource, make_document
from tests.ingest.sync_setup import LONG, House, pages, source


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


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
    from datetime import UTC

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
