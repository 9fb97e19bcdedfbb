"""Versions of an index: built of the kept documents, resumed, and written to by the syncs that run meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from lore.errors import LoreError, ModelError, StoreError
from lore.ingest.report import ShardReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.ingest.versions import VersionBuilder, in_share, outdated_ids
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Document, EmbeddedDocument, IndexVersion

from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.ingest.houses import LONG, VersionedHouse
from tests.syncs import make_sync


class House(VersionedHouse):
    """With what builds other versions; `broken` are errors that stand in the place of some."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.broken: list[LoreError] = []

    def create(self, budget: int, embedder: FakeEmbedder | None = None) -> IndexVersion:
        return self.versions.create(self.recipe(budget, embedder))

    def builder(self, version: IndexVersion, store: LanceStore | None = None, embedder: FakeEmbedder | None = None):
        others = [other for other in self.versions.all() if other.number != version.number]
        same = [other for other in others if other.recipe.embedder == version.recipe.embedder]
        return VersionBuilder(
            version,
            store or self.versions.open(version.number),
            embedder or self.embedder,
            MarkdownSplitter(int(version.recipe.splitter.rpartition(":")[2])),
            relatives=[self.versions.open(other.number) for other in same],
        )

    def builders(self) -> list[VersionBuilder | LoreError]:
        return [*map(self.builder, self.versions.all()), *self.broken]

    def sync(
        self, source: FakeSource, versions: Callable[[], Sequence[VersionBuilder | LoreError]] | None = None
    ) -> Sync:
        return make_sync(
            source,
            self.store,
            self.embedder,
            MarkdownSplitter(300),
            lambda document: document,
            staging_uri=str(self.folder / "staging"),
            versions=versions or self.builders,
        )

    def passages(self, number: int) -> dict[str, list[str]]:
        store = self.versions.open(number)
        return {name: [chunk.text for chunk in store.chunks(name)] for name in sorted(store.fingerprints())}

    def expected(self, number: int) -> dict[str, list[str]]:
        """What the version must hold: the kept documents, cut by its splitter."""
        store = self.versions.open(number)
        budget = int({version.number: version for version in self.versions.all()}[number].recipe.splitter[11:])
        return {
            document.id: [chunk.text for chunk in MarkdownSplitter(budget).split(document)]
            for document in sorted(store.documents(), key=lambda document: document.id)
        }

    def settled(self, *numbers: int) -> None:
        """Assert that these versions hold what they must, as their marks say."""
        for number in numbers:
            store = self.versions.open(number)
            assert self.passages(number) == self.expected(number)
            assert store.fingerprints() == store.document_fingerprints()
            counts = store.count()
            assert counts.chunks == counts.recorded_chunks


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def pages(count: int, text: str = LONG) -> list[Document]:
    return [make_document(f"p{number}", f"# Page p{number}\n\n{text}Number {number}.") for number in range(count)]


def source(documents: Sequence[Document], cursor: str = "one", **changes: object) -> FakeSource:
    return FakeSource([Batch(tuple(documents), cursor)], **changes)  # type: ignore[arg-type]


def test_a_version_is_built_of_the_kept_documents_and_says_how_far_it_is(house: House) -> None:
    house.sync(source(pages(6))).run()
    version = house.create(600)
    seen: list[tuple[int, int]] = []
    builder = house.builder(version)
    assert len(outdated_ids(builder.store)) == 6
    report = builder.catch_up(on_progress=lambda done, total: seen.append((done, total)))
    assert (report.version, report.documents, report.removed) == (2, 6, 0)
    assert report.chunks == house.versions.open(2).count().chunks < house.versions.open(1).count().chunks
    assert seen == sorted(seen) and seen[-1] == (6, 6)
    assert outdated_ids(builder.store) == []
    again = builder.catch_up()
    assert (again.documents, again.chunks, again.embedding_calls) == (0, 0, 0)
    house.settled(1, 2)


def test_unchanged_chunks_keep_their_vectors_when_the_embedder_is_the_same(house: House) -> None:
    house.sync(source(pages(6))).run()
    house.embedder.embedded.clear()
    report = house.builder(house.create(300)).catch_up()
    assert (report.embedding_calls, house.embedder.embedded) == (0, [])
    house.settled(1, 2)
    first, second = (
        house.versions.open(number).search("lamps", house.embedder.embed_query("lamps"), 50, 0.5) for number in (1, 2)
    )
    assert [(hit.chunk, hit.score) for hit in first] == [(hit.chunk, hit.score) for hit in second]


def test_another_embedder_gives_vectors_of_its_own(house: House) -> None:
    house.sync(source(pages(3))).run()
    narrow = FakeEmbedder(16, "fake:narrow")
    report = house.builder(house.create(300, narrow), embedder=narrow).catch_up()
    assert report.embedded_texts == len(narrow.embedded) == len(set(house.embedder.embedded))
    house.settled(1, 2)
    assert house.versions.open(2).search("lamps", narrow.embed_query("lamps"), 5, 1.0)


class CutOff(Exception):
    """Stands for a kill: nothing in Lore catches it."""


class CutOffStore(LanceStore):
    """Dies at the write after `writes` are done."""

    writes = 1

    def replace_chunks(self, entries: Sequence[EmbeddedDocument]) -> int:
        if self.writes <= 0:
            raise CutOff
        self.writes -= 1
        return super().replace_chunks(entries)


@pytest.mark.slow
def test_a_build_that_was_killed_goes_on_where_it_was(house: House) -> None:
    short = [make_document(f"p{number}", f"# P\n\nNumber {number}.") for number in range(300)]
    house.sync(source(short)).run()
    version = house.create(600, other := FakeEmbedder(64, "fake:other"))
    dying = CutOffStore(house.uri, version.recipe, number=2)
    with pytest.raises(CutOff):
        house.builder(version, dying, other).catch_up()
    done = house.versions.open(2).count().documents
    assert 0 < done < 300
    other.embedded.clear()
    report = house.builder(version, embedder=other).catch_up()
    assert report.documents == len(other.embedded) == 300 - done
    house.settled(1, 2)


def test_workers_build_a_share_each(house: House) -> None:
    house.sync(source(pages(20))).run()
    version = house.create(600)
    reports = [house.builder(version).catch_up(part=(number, 3)) for number in range(3)]
    assert sum(report.documents for report in reports) == 20
    assert all(report.documents for report in reports)
    assert sum(in_share("any", (number, 3)) for number in range(3)) == 1
    house.settled(1, 2)


def test_a_sync_writes_to_every_version(house: House) -> None:
    documents = pages(4)
    house.sync(source(documents)).run()
    version = house.create(600)
    builder = house.builder(version)
    builder.catch_up()
    house.versions.save(replace(version, status="ready"))
    changed = replace(documents[1], text="# Page p1\n\nShort now.")
    house.sync(source([documents[0], changed, *pages(6)[3:]], "two")).run()
    assert set(house.passages(2)) == {f"fake:p{number}" for number in (0, 1, 3, 4, 5)}
    assert house.passages(2)["fake:p1"] == ["# Page p1\n\nShort now."]
    house.settled(1, 2)
    assert outdated_ids(builder.store) == []


def test_a_sync_leaves_it_to_the_builder_to_build(house: House) -> None:
    documents = pages(4)
    house.sync(source(documents)).run()
    house.create(600)
    changed = replace(documents[1], text="# Page p1\n\nShort now.")
    house.sync(source([changed], "two", listing=[document.id for document in documents])).run()
    assert house.passages(2) == {"fake:p1": ["# Page p1\n\nShort now."]}


def test_a_version_made_in_the_middle_of_a_sync_has_its_documents_before_the_cursor_moves(house: House) -> None:
    house.sync(source(pages(2))).run()
    sync = house.sync(source(pages(5), "two"))
    extraction = sync.extract("run")
    reports = [sync.index(shard) for shard in sync.shards(extraction)]
    version = house.create(600)
    house.builder(version).catch_up()
    house.store.replace([replace_of(house, pages(1)[0], "# Changed\n\nAfter the build.")])
    house.versions.save(replace(version, status="ready"))
    house.versions.promote(2)
    report = sync.reconcile(extraction, reports)
    assert report.status == "ok"
    house.settled(1, 2)
    assert house.passages(2)["fake:p0"] == ["# Changed\n\nAfter the build."]


def replace_of(house: House, document: Document, text: str) -> EmbeddedDocument:
    """A new state of a document, as a sync writes it that knows of one version only."""
    document = replace(document, text=text)
    chunks = MarkdownSplitter(300).split(document)
    return EmbeddedDocument(
        document, text, tuple(chunks), house.embedder.embed_documents([c.embedded_text for c in chunks])
    )


class BusyStore(LanceStore):
    """A sync changes a document while it is read."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    def documents(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> Iterator[Document]:
        for document in super().documents(source_id, ids=ids):
            yield document
            self.meanwhile()


def test_what_changes_while_a_version_is_built_is_in_it(house: House) -> None:
    house.sync(source(pages(3))).run()
    version = house.create(600)
    busy = BusyStore(house.uri, version.recipe, number=2)
    states = iter(["# Two\n\nNewer.", "# Three\n\nNewest."])

    def change() -> None:
        if text := next(states, None):
            house.store.replace([replace_of(house, pages(1)[0], text)])
        else:
            house.store.delete("fake", ["fake:p2"])

    busy.meanwhile = change  # type: ignore[method-assign]
    house.builder(version, busy).catch_up()
    house.settled(1, 2)
    assert house.passages(2)["fake:p0"] == ["# Three\n\nNewest."]
    assert set(house.passages(2)) == {"fake:p0", "fake:p1"}


@pytest.mark.slow
def test_documents_that_never_rest_are_an_error(house: House) -> None:
    house.sync(source(pages(1))).run()
    version = house.create(600)
    busy = BusyStore(house.uri, version.recipe, number=2)
    numbers = iter(range(1_000))
    busy.meanwhile = lambda: house.store.replace([replace_of(house, pages(1)[0], f"# State {next(numbers)}")])  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="can't be completed") as caught:
        house.builder(version, busy).catch_up()
    assert caught.value.retryable


def test_what_a_killed_deletion_left_is_removed(house: House) -> None:
    house.sync(source(pages(2))).run()
    version = house.create(600)
    builder = house.builder(version)
    builder.catch_up()
    tables = house.store._folder.tables(house.versions.all()[0])
    tables.documents.delete("id = 'fake:p1'")
    assert outdated_ids(builder.store) == ["fake:p1"]
    assert builder.catch_up().removed == 1
    assert set(house.passages(2)) == {"fake:p0"}


def test_a_version_that_cannot_be_written_does_not_stop_a_sync(house: House) -> None:
    house.sync(source(pages(2))).run()

    class DownEmbedder(FakeEmbedder):
        def embed_documents(self, texts: Sequence[str]):
            raise ModelError("The embedder is down.", remedy="Wait.", retryable=True)

    down = DownEmbedder(64, "fake:down")
    version = house.create(600, down)
    house.versions.save(replace(version, status="ready"))
    house.broken.append(StoreError("Version 9 cannot be made any more."))
    report = house.sync(
        source(pages(3), "two"),
        lambda: [house.builder(version, embedder=down), *house.broken],
    ).run()
    assert (report.status, report.new) == ("ok", 1)
    for part in ("Version 2 of the index is outdated", "The embedder is down", "Version 9 cannot be made"):
        assert part in report.summary()
    assert len(outdated_ids(house.versions.open(2))) == 3
    house.settled(1)


def test_a_shard_report_with_notes_goes_through_json() -> None:
    report = ShardReport(indexed=("a",), notes=("Version 2 is behind.",))
    assert ShardReport.from_json(report.to_json()) == report
