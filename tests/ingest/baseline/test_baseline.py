"""Export and import of an index: content, next syncs, and imports that are cut off."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lore.errors import ConfigurationError, StoreError
from lore.ingest.baseline.parquet_file import FORMAT, GROUP_BYTES
from lore.ingest.split.splitter import MarkdownSplitter
from lore.stores.lancedb.store import LanceStore
from lore.types import EmbeddedDocument, Recipe

from tests.fakes import FakeEmbedder, make_document
from tests.ingest.baseline.baseline_setup import (
    BUDGET,
    BusyStore,
    CutOff,
    CutOffStore,
    House,
    of_another_converter,
    pages,
    source,
)


@pytest.fixture
def old(tmp_path: Path) -> House:
    """An installation that has synced two sources."""
    house = House(tmp_path / "old")
    house.sync(source(pages()))
    house.sync(source([make_document("only", source_id="other")], None, id="other"))
    return house


@pytest.fixture
def new(tmp_path: Path) -> House:
    return House(tmp_path / "new")


@pytest.fixture
def file(old: House, tmp_path: Path) -> Path:
    path = tmp_path / "baseline.parquet"
    old.baseline().export(path)
    return path


class TestTheNewIndex:
    def test_holds_what_the_old_one_held_and_nothing_is_embedded(self, old: House, new: House, file: Path) -> None:
        report = new.baseline().load(file)
        assert new.content() == old.content()
        assert (report.documents, report.written, report.removed, report.embedded_texts) == (6, 6, 0, 0)
        assert new.embedder.embedded == [] and report.same_converter and report.cursors == ("fake",)
        assert report.sources == {"fake": 5, "other": 1}
        assert new.store.count() == old.store.count()
        vector = new.embedder.embed_query("lamps sentence 3")
        found, wanted = (house.store.search("lamps sentence 3", vector, 5, 0.5) for house in (new, old))
        assert [(hit.chunk.id, hit.vector_score) for hit in found] == [
            (hit.chunk.id, pytest.approx(hit.vector_score)) for hit in wanted
        ]

    def test_remembers_the_last_sync_of_each_source(self, old: House, new: House, file: Path) -> None:
        new.baseline().load(file)
        for source_id, state in old.store.states().items():
            loaded = new.store.state(source_id)
            assert loaded and replace(loaded, report=state.report) == state

    def test_without_vectors_every_text_is_embedded_once(self, old: House, new: House, tmp_path: Path) -> None:
        path = tmp_path / "small.parquet"
        old.baseline().export(path, vectors=False)
        report = new.baseline().load(path)
        assert new.content() == old.content()
        assert report.embedded_texts == len(new.embedder.embedded) == len(set(old.embedder.embedded))

    def test_of_another_embedder_gets_vectors_of_its_own(self, tmp_path: Path, file: Path) -> None:
        house = House(tmp_path / "narrow")
        house.embedder = FakeEmbedder(16, "fake:narrow")
        house.store = LanceStore(str(tmp_path / "narrow" / "index"), Recipe("fake:narrow", 16))
        report = house.baseline().load(file)
        assert report.embedded_texts > 0 and report.cursors == ("fake",)
        assert house.store.count().documents == 6


class TestTheNextSync:
    def test_skips_what_is_unchanged_and_goes_on_from_the_cursor(self, new: House, file: Path) -> None:
        new.baseline().load(file)
        changed = replace(pages()[1], text="# Page p1\n\nShort now.")
        again = source([*pages()[2:], changed], listing=[document.id for document in pages()])
        report = new.sync(again)
        assert again.reads == ["c1"]
        assert (report.new, report.changed, report.unchanged, report.removed) == (0, 1, 3, 0)
        assert report.embedded_texts == 1

    def test_removes_what_vanished_since(self, new: House, file: Path) -> None:
        new.baseline().load(file)
        assert new.sync(source(pages(4))).removed == 1

    def test_skips_what_another_splitter_made_passages_of_too(self, new: House, file: Path) -> None:
        report = new.baseline(budget=600).load(file)
        assert report.embedded_texts > 0 and report.cursors == ("fake",)
        again = source(pages())
        assert new.sync(again, budget=600).unchanged == 5
        assert again.reads == ["c1"]

    def test_makes_everything_anew_after_an_import_of_another_converter(
        self, old: House, new: House, file: Path
    ) -> None:
        of_another_converter(file)
        report = new.baseline().load(file)
        assert not report.same_converter and report.cursors == ()
        again = source(pages())
        assert new.sync(again).changed == 5
        assert again.reads == [None]
        assert new.content() == old.content()


class TestExport:
    def test_beside_a_sync_trusts_no_document_that_was_being_written(self, tmp_path: Path, new: House) -> None:
        house = House(tmp_path / "busy", BusyStore)
        house.sync(source(pages()))
        first, second = pages(2)
        changed = [replace(first, text="# New\n\nText."), replace(second, url="https://docs.example.com/moved")]
        house.store.meanwhile = lambda: house.sync(source([*changed, *pages()[2:]], "c2"))  # type: ignore[attr-defined]
        path = tmp_path / "busy.parquet"
        assert house.baseline().export(path).unsettled == {"fake": 2}
        new.baseline().load(path)
        again = source([*changed, *pages()[2:]], "c2")
        report = new.sync(again)
        assert again.reads == [None] and (report.changed, report.unchanged) == (2, 3)

    def test_writes_over_nothing_unless_told_to(self, old: House, file: Path) -> None:
        before = file.read_bytes()
        with pytest.raises(ConfigurationError, match="already exists"):
            old.baseline().export(file)
        assert file.read_bytes() == before
        old.baseline().export(file, force=True)
        assert file.read_bytes() != before

    def test_that_fails_leaves_the_file_that_was_there(self, tmp_path: Path, file: Path) -> None:
        house = House(tmp_path / "busy", BusyStore)
        house.sync(source(pages()))

        def fail() -> None:
            raise StoreError("The disk is gone.")

        house.store.meanwhile = fail  # type: ignore[attr-defined]
        before = file.read_bytes()
        with pytest.raises(StoreError, match="disk is gone"):
            house.baseline().export(file, force=True)
        assert file.read_bytes() == before
        assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [file.name]

    def test_of_an_empty_index_says_so(self, new: House, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="empty"):
            new.baseline().export(tmp_path / "none.parquet")
        assert not (tmp_path / "none.parquet").exists()

    def test_where_nothing_can_be_written(self, old: House, tmp_path: Path) -> None:
        for path in (tmp_path / "nowhere" / "b.parquet", tmp_path):
            with pytest.raises(ConfigurationError, match=r"Couldn't write|is a folder"):
                old.baseline().export(path)

    def test_row_groups_are_small_and_the_header_tells(self, tmp_path: Path) -> None:
        house = House(tmp_path / "large")
        words = ("lamp" * 24 + "\n") * 15_000  # 1.4 MB of few words, which are soon embedded
        house.sync(source([make_document(f"p{number}", f"{number} {words}") for number in range(6)]), budget=50_000)
        path = tmp_path / "large.parquet"
        house.baseline(50_000).export(path)
        metadata = pq.ParquetFile(path).metadata
        sizes = [metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups)]
        assert len(sizes) >= 3 and max(sizes) <= GROUP_BYTES * 1.1
        header = json.loads(metadata.metadata[b"lore"])
        assert (header["format"], header["lore_version"], header["documents"]) == (FORMAT, "1.2.3", 6)
        assert (header["embedder"], header["dimensions"]) == ("fake:words", 64)


class TestAnIndexThatIsNotEmpty:
    def test_is_refused_with_the_names_of_its_sources(self, new: House, file: Path) -> None:
        new.sync(source([make_document("x", source_id="mine")], id="mine"))
        before = new.content()
        with pytest.raises(ConfigurationError, match=r"1 documents \(mine\)") as refusal:
            new.baseline().load(file)
        assert "--replace" in refusal.value.remedy
        assert new.content() == before and set(new.store.states()) == {"mine"}

    def test_is_replaced_source_by_source(self, old: House, new: House, file: Path) -> None:
        new.sync(source([make_document("x", source_id="mine")], id="mine"))
        new.sync(source([make_document("extra"), *pages(2), replace(pages()[2], text="# Else")], "c9"))
        report = new.baseline().load(file, replacing=True)
        assert (report.unchanged, report.written, report.removed) == (2, 4, 1)
        content = new.content()
        assert content.pop("mine:x") and content == old.content()
        state = new.store.state("fake")
        assert state and state.cursor == "c1"

    def test_is_refused_when_a_sync_came_after_the_import(self, new: House, file: Path) -> None:
        new.baseline().load(file)
        new.baseline().load(file)  # the same once more changes nothing
        new.sync(source(pages()))
        with pytest.raises(ConfigurationError, match="fake"):
            new.baseline().load(file)

    def test_is_refused_when_its_first_sync_left_no_state(self, new: House, file: Path) -> None:
        (document,) = pages(1)
        chunks = MarkdownSplitter(BUDGET).split(document)
        vectors = new.embedder.embed_documents([chunk.embedded_text for chunk in chunks])
        new.store.replace([EmbeddedDocument(document, "f", tuple(chunks), vectors)])
        with pytest.raises(ConfigurationError, match="first sync"):
            new.baseline().load(file)


class TestAnImportThatIsCutOff:
    @pytest.fixture(scope="class")
    def many(self, tmp_path_factory: pytest.TempPathFactory) -> tuple[House, Path]:
        """More documents than are written at once."""
        folder = tmp_path_factory.mktemp("many")
        house = House(folder)
        house.sync(source([make_document(f"p{number}", f"# P\n\nNumber {number}.") for number in range(300)]))
        path = folder / "many.parquet"
        house.baseline().export(path)
        return house, path

    @pytest.fixture
    def half(self, many: tuple[House, Path], tmp_path: Path) -> House:
        house = House(tmp_path / "half", CutOffStore)
        with pytest.raises(CutOff):
            house.baseline().load(many[1])
        assert 0 < house.store.count().documents < 300
        return House(tmp_path / "half")

    @pytest.mark.slow
    def test_goes_on_when_it_is_run_again(self, many: tuple[House, Path], half: House) -> None:
        report = half.baseline().load(many[1])
        assert (report.unchanged, report.written) == (256, 44)
        assert half.content() == many[0].content() and half.store.count() == many[0].store.count()
        state = half.store.state("fake")
        assert state and (state.cursor, state.status) == ("c1", "ok")

    def test_has_no_cursor_and_says_what_to_do(self, half: House) -> None:
        state = half.store.state("fake")
        assert state and (state.cursor, state.recipe, state.status) == (None, "", "failed")
        assert "run it again" in state.report["reason"]

    def test_is_not_taken_for_another_file(self, half: House, file: Path) -> None:
        with pytest.raises(ConfigurationError, match="not empty"):
            half.baseline().load(file)

    def test_is_completed_by_a_sync_too(self, half: House) -> None:
        documents = [make_document(f"p{number}", f"# P\n\nNumber {number}.") for number in range(300)]
        report = half.sync(source(documents))
        assert (report.new, report.unchanged) == (44, 256)
