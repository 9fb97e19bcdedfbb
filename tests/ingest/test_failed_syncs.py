"""Syncs in which a document, the source or the embedder fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from lore.errors import (
    LoreError,
    ModelError,
    SourceError,
    SyncError,
)
from lore.types import Batch, Failure

from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.ingest.sync_setup import House, pages, source


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


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
