"""A source whose strategy changes: passages are made over from what is kept, in every version, and never mistaken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from lore.errors import ConfigurationError, ModelError
from lore.ingest.baseline.baseline import Baseline
from lore.ingest.report import ShardReport, UsageTotal
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.strategies.strategy import SummarySplitter, SummaryStrategy, strategy_of
from lore.ingest.sync import Sync
from lore.ingest.versions import VersionBuilder, outdated_ids
from lore.protocols import Splitter
from lore.types import Batch, Chunk, Document, Usage

from tests.fakes import FakeSource, make_document
from tests.ingest.houses import LONG, VersionedHouse
from tests.syncs import make_sync


class Summaries:
    """Says what it was given; fails for passages that hold a word of `failing`."""

    def __init__(self, name: str = "fake:one", failing: Sequence[str] = (), error: Exception | None = None) -> None:
        self.name = name
        self.made: list[str] = []
        self._failing = failing
        self._error = error or ModelError("It refused.")

    def summarize(self, chunks: Sequence[Chunk]) -> list[str]:
        for chunk in chunks:
            if any(word in chunk.text for word in self._failing):
                raise self._error
        self.made.extend(chunk.id for chunk in chunks)
        return [f"{self.name} on {chunk.title} {chunk.position}" for chunk in chunks]


class House(VersionedHouse):
    def sync(
        self,
        source: FakeSource,
        strategy: SummaryStrategy | None = None,
        summaries: Summaries | None = None,
        **changes: Any,
    ) -> Sync:
        chosen = SummarySplitter(strategy, summaries or Summaries(), max_characters=900) if strategy else None
        return make_sync(
            source,
            self.store,
            self.embedder,
            MarkdownSplitter(300),
            changes.pop("convert", lambda document: document),
            staging_uri=str(self.folder / "staging"),
            strategy=chosen,
            **changes,
        )

    def passages(self, document: str = "fake:p0", number: int = 1) -> list[Chunk]:
        return self.versions.open(number).chunks(document)

    def strategies(self) -> dict[str, set[str]]:
        """Strategy that the marks name → strategies of the passages below such marks."""
        found: dict[str, set[str]] = {}
        for name, mark in self.store.fingerprints().items():
            named = strategy_of(mark).partition("-")[0]
            found.setdefault(named, set()).update(chunk.strategy for chunk in self.store.chunks(name))
        return found


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def pages(count: int, text: str = LONG) -> list[Document]:
    return [make_document(f"p{number}", f"# Page p{number}\n\n{text}Number {number}.") for number in range(count)]


def source(documents: Sequence[Document], cursor: str | None = "one", **changes: Any) -> FakeSource:
    return FakeSource([Batch(tuple(documents), cursor)], **changes)


def test_a_source_is_found_by_its_summaries(house: House) -> None:
    report = house.sync(source(pages(3)), "summary_parent").run()
    assert (report.status, report.new) == ("ok", 3)
    chunks = house.passages()
    assert {chunk.strategy for chunk in chunks} == {"summary_parent"}
    assert [chunk.summary for chunk in chunks] == [f"fake:one on Page p0 {number}" for number in range(len(chunks))]
    assert set(house.embedder.embedded) >= {chunk.summary for chunk in chunks}
    assert not any("Sentence" in text for text in house.embedder.embedded)
    (hit, *_) = house.store.search("Sentence 2 lamps", house.embedder.embed_query("fake:one on Page p1 0"), 3, 1.0)
    assert hit.chunk.document_id == "fake:p1" and hit.chunk.given_text.startswith("# Page p1")
    assert house.store.search("lamps", None, 9, 0.0), "keyword search reads the passage"


def test_the_report_says_what_summaries_cost(house: House) -> None:
    usage: list[Usage] = []

    class Paid(Summaries):
        def summarize(self, chunks: Sequence[Chunk]) -> list[str]:
            usage.extend(Usage(self.name, "summary", 100, 20, 0.001) for _ in chunks)
            return super().summarize(chunks)

    report = house.sync(source(pages(2)), "summary", Paid(), usage=usage).run()
    assert report.spent == UsageTotal(
        report.chunks, 100 * report.chunks, 20 * report.chunks, pytest.approx(0.001 * report.chunks)
    )
    assert f"{report.chunks} calls for summaries ($0.00" in report.summary()
    again = house.sync(source([], "two", listing=["fake:p0", "fake:p1"]), usage=usage).run()
    assert (again.changed, again.spent) == (2, UsageTotal())
    assert "summaries" not in again.summary()
    remade = house.sync(source([], "three", listing=["fake:p0", "fake:p1"]), "summary", Paid(), usage=usage).run()
    assert remade.spent.calls == report.chunks
    assert ShardReport.from_json(ShardReport(spent=report.spent).to_json()).spent == report.spent


def test_nothing_is_summarized_twice_by_a_second_sync(house: House) -> None:
    house.sync(source(pages(3)), "summary").run()
    summaries = Summaries()
    report = house.sync(source(pages(3)), "summary", summaries).run()
    assert (report.unchanged, report.changed, summaries.made) == (3, 0, [])


@pytest.mark.parametrize("given_again", [True, False], ids=["read again", "kept"])
def test_another_strategy_makes_all_passages_over(house: House, given_again: bool) -> None:
    house.sync(source(pages(3))).run()
    plain = {name: [chunk.text for chunk in house.passages(name)] for name in ("fake:p0", "fake:p1", "fake:p2")}
    left = source(pages(3)) if given_again else source([], "two", listing=list(plain))
    report = house.sync(left, "summary").run()
    assert (report.status, report.changed, report.removed) == ("ok", 3, 0)
    assert left.reads == ["one"], "the cursor stays where it is"
    assert house.strategies() == {"summary": {"summary"}}
    assert "".join(chunk.text for chunk in house.passages()) != "".join(plain["fake:p0"])
    back = house.sync(source([], "three", listing=list(plain))).run()
    assert back.changed == 3 and house.strategies() == {"": {"basic"}}
    assert {name: [chunk.text for chunk in house.passages(name)] for name in plain} == plain
    assert house.store.document_fingerprints() == house.store.fingerprints()


def test_a_changed_page_is_still_seen_after_its_passages_were_made_over(house: House) -> None:
    house.sync(source(pages(2))).run()
    house.sync(source([], "two", listing=["fake:p0", "fake:p1"]), "summary").run()
    report = house.sync(source([*pages(1), *pages(2, "Other words. ")[1:]], "three"), "summary").run()
    assert (report.changed, report.unchanged) == (1, 1)


def test_another_model_for_summaries_makes_them_over(house: House) -> None:
    house.sync(source(pages(2)), "summary").run()
    other = Summaries("fake:two")
    report = house.sync(source([], "two", listing=["fake:p0", "fake:p1"]), "summary", other).run()
    assert report.changed == 2 and other.made
    assert all(chunk.summary.startswith("fake:two") for chunk in house.passages())


def test_a_document_without_summary_fails_alone_and_is_tried_again(house: House) -> None:
    failing = Summaries(failing=["Number 1."])
    report = house.sync(source(pages(3)), "summary", failing, max_failed_share=0.5).run()
    assert report.status == "warning" and [failure.document_id for failure in report.failures] == ["fake:p1"]
    assert "Couldn't summarize it: It refused." in report.failures[0].reason
    assert set(house.store.fingerprints()) == {"fake:p0", "fake:p2"}
    again = house.sync(source(pages(3)), "summary").run()
    assert (again.status, again.new, again.unchanged) == ("ok", 1, 2)


def test_a_kept_document_that_gets_no_summary_keeps_its_passages_until_it_does(house: House) -> None:
    house.sync(source(pages(3))).run()
    nothing_new = {"listing": ["fake:p0", "fake:p1", "fake:p2"]}
    failing = Summaries(failing=["Number 1."])
    report = house.sync(source([], "two", **nothing_new), "summary", failing, max_failed_share=0.5).run()
    assert (report.status, report.changed) == ("warning", 2)
    assert house.strategies() == {"summary": {"summary"}, "": {"basic"}}
    assert house.store.state("fake").cursor == "two"  # type: ignore[union-attr]
    assert house.sync(source([], "three", **nothing_new), "summary").run().changed == 1
    assert house.strategies() == {"summary": {"summary"}}


def test_a_model_that_is_down_ends_the_sync_soon(house: House) -> None:
    down = Summaries(failing=["Number"], error=ModelError("It is down.", retryable=True))
    with pytest.raises(ModelError, match="down"):
        house.sync(source(pages(30)), "summary", down).run()
    assert house.sync(source(pages(30)), "summary").run().new == 30


def test_what_no_document_can_help_is_raised(house: House) -> None:
    missing = Summaries(failing=["Number"], error=ConfigurationError("There is no key."))
    with pytest.raises(ConfigurationError, match="no key"):
        house.sync(source(pages(3)), "summary", missing).run()


def splitters(summaries: Summaries, budget: int) -> Callable[[str], Splitter]:
    def choose(name: str) -> Splitter:
        return SummarySplitter("summary", summaries, max_characters=900) if name else MarkdownSplitter(budget)

    return choose


def test_a_version_is_built_with_the_strategy_of_each_document(house: House) -> None:
    house.sync(source(pages(3)), "summary").run()
    others = [make_document(f"q{number}", LONG, source_id="other") for number in range(2)]
    house.sync(source(others, id="other")).run()
    version = house.versions.create(house.recipe(600))
    store = house.versions.open(version.number)
    summaries = Summaries()
    builder = VersionBuilder(
        version,
        store,
        house.embedder,
        MarkdownSplitter(600),
        relatives=[house.store],
        splitters=splitters(summaries, 600),
    )
    house.embedder.embedded.clear()
    builder.catch_up()
    assert outdated_ids(store) == [] and store.fingerprints() == house.store.fingerprints()
    assert house.passages("fake:p0", 2) == house.passages("fake:p0", 1)
    assert not any(text.startswith("fake:one") for text in house.embedder.embedded), "equal summary, equal vector"
    assert {chunk.strategy for chunk in house.passages("other:q0", 2)} == {"basic"}
    assert len(house.passages("other:q0", 2)) < len(house.passages("other:q0", 1))


def test_a_version_without_the_strategy_says_so_and_stays_behind(house: House) -> None:
    house.sync(source(pages(2)), "summary").run()
    version = house.versions.create(house.recipe(600))
    store = house.versions.open(version.number)
    with pytest.raises(ConfigurationError, match="summary-1:900:fake:one"):
        VersionBuilder(version, store, house.embedder, MarkdownSplitter(600)).catch_up()
    assert len(outdated_ids(store)) == 2


def test_a_baseline_brings_plain_passages_that_the_next_sync_makes_over(house: House, tmp_path: Path) -> None:
    house.sync(source(pages(3)), "summary").run()
    file = tmp_path / "baseline.parquet"
    staging = str(tmp_path / "staging")
    Baseline(house.store, house.embedder, MarkdownSplitter(300), staging_uri=staging).export(file)
    other = House(tmp_path / "other")
    report = Baseline(other.store, other.embedder, MarkdownSplitter(300), staging_uri=staging).load(file)
    assert (report.written, other.strategies()) == (3, {"": {"basic"}})
    listing = [document.id for document in pages(3)]
    assert other.sync(source([], "two", listing=listing), "summary").run().changed == 3
    assert other.strategies() == {"summary": {"summary"}}
    assert other.store.fingerprints() == house.store.fingerprints()
    again = Baseline(other.store, other.embedder, MarkdownSplitter(300), staging_uri=staging)
    assert again.load(file, replacing=True).unchanged == 3
    assert other.strategies() == {"summary": {"summary"}}, "what is as the file says is left as it is"
