"""Documents that lose much of their text are counted, and stay so until they are converted again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from lore.convert import convert
from lore.convert.omissions import OMITTED
from lore.ingest.report import ShardReport, SyncReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.ingest.write.lost_text import lost_percent, update_lost
from lore.protocols import Source

from tests.fakes import FakeSource, make_document
from tests.ingest.sync_setup import House, source
from tests.syncs import make_sync

HIDDEN = f'<div class="sidebar-box" style="display:none"><p>{"Words that nobody sees. " * 60}</p></div>'


class ConvertingHouse(House):
    def sync(self, source: Source, budget: int = 300, **changes: object) -> Sync:
        staging = str(self.folder / "staging")
        return make_sync(source, self.store, self.embedder, MarkdownSplitter(budget), convert, staging_uri=staging)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return ConvertingHouse(tmp_path)


def page(name: str, body: str):
    return make_document(
        name, f"<html><body><main><h1>{name}</h1><p>Text.</p>{body}</main></body></html>", format="html"
    )


@pytest.mark.parametrize(
    ("omitted", "percent"),
    [
        ({"hidden": 900}, 90),
        ({"hidden": 300, "asides": 600}, 90),
        ({"navigation": 9000, "hidden": 300}, 0),
        ({"hidden": 400}, 0),
        ({}, 0),
        (None, 0),
        ("x", 0),
        ({"hidden": "many"}, 0),
    ],
)
def test_share(omitted: object, percent: int) -> None:
    assert lost_percent(make_document(text="x" * 100, metadata={OMITTED: omitted})) == percent


def test_a_large_page_may_lose_a_little() -> None:
    assert lost_percent(make_document(text="x" * 5_000, metadata={OMITTED: {"hidden": 4_000}})) == 0


def test_what_was_converted_again_or_removed_is_counted_anew() -> None:
    before = {"a": 60, "b": 70, "c": 80}
    assert update_lost(before, {"d": 90}, indexed=["a", "d"], gone=["b"]) == {"d": 90, "c": 80}
    assert update_lost(None, {}, indexed=[], gone=[]) == {}
    many = {f"{number:04}": 50 for number in range(2_000)}
    assert len(update_lost(many, {"worst": 99}, indexed=[], gone=[])) == 1_000
    assert next(iter(update_lost(many, {"worst": 99}, indexed=[], gone=[]))) == "worst"


def test_a_sync_counts_them_until_they_are_converted_again(house: House) -> None:
    pages = [page("good", ""), page("bad", HIDDEN)]
    first = house.sync(source(*pages)).run()
    assert list(first.lost_text) == ["fake:bad"] and first.lost_text["fake:bad"] >= 90
    assert first.status == "ok"
    assert house.sync(source(*pages)).run().lost_text == first.lost_text
    assert house.sync(FakeSource([], listing=["fake:good", "fake:bad"])).run().lost_text == first.lost_text
    state = house.store.state("fake")
    assert state and state.report["lost_text"] == first.lost_text
    mended = replace(pages[1], text=page("bad", "").text)
    assert house.sync(source(pages[0], mended)).run().lost_text == {}
    assert house.sync(source(pages[0], pages[1])).run().lost_text == first.lost_text
    assert house.sync(source(pages[0])).run().lost_text == {}


def test_reports_without_them_are_still_read() -> None:
    shard = ShardReport(lost_text={"a": 50})
    assert ShardReport.from_json(shard.to_json()) == shard
    old = shard.to_json()
    del old["lost_text"]
    assert ShardReport.from_json(old).lost_text == {}
    assert SyncReport.__dataclass_fields__["lost_text"].default_factory() == {}  # type: ignore[misc]
