"""The embedded store: the contract, and its own folder, lock and errors."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lore.errors import ConfigurationError, StoreError
from lore.stores.fusion import fuse
from lore.stores.lancedb.folder import LOCK_FILE, MANIFEST_FILE
from lore.stores.lancedb.store import LanceStore
from lore.stores.lancedb.versions import LanceVersions
from lore.types import Counts, Recipe, SourceState

from tests.contracts.store import DIMENSIONS, RECIPE, StoreContract, assert_holds, embed, make_entry, texts


def open_store(address: str, recipe: Recipe = RECIPE) -> LanceStore:
    return LanceStore(address, recipe)


class TestLanceStore(StoreContract):
    opener = "tests.stores.lancedb.test_store:open_store"
    versions_opener = "lore.stores.lancedb.versions:LanceVersions"

    @pytest.fixture
    def address(self, tmp_path: Path) -> str:
        return str(tmp_path / "new" / "index")

    @pytest.fixture(scope="class")
    def new_address(self, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
        return lambda: str(tmp_path_factory.mktemp("library") / "index")


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "it's" / "index")


def test_reading_makes_nothing_on_disk(address: str) -> None:
    store = open_store(address)
    store.search("x", embed("x"), 5, 0.5)
    store.count()
    store.optimize()
    store.delete("fake", ["fake:a"])
    assert not Path(address).exists()


def test_importing_the_store_loads_neither_lancedb_nor_numpy() -> None:
    heavy = "lancedb", "pyarrow", "numpy"
    code = f"import sys, lore.stores.lancedb.store; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("uri", ["s3://bucket/index", "gs://bucket/index", "db://project"])
def test_a_remote_index_is_refused(uri: str) -> None:
    with pytest.raises(ConfigurationError, match=r"lock.*LORE_INDEX_URI"):
        open_store(uri)


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("not a folder")
    with pytest.raises(StoreError, match="is a file, not a folder"):
        open_store(str(tmp_path / "index"))
    below = open_store(str(tmp_path / "index" / "below"))
    with pytest.raises(StoreError, match="Couldn't write to the index"):
        below.replace([make_entry("a", ["text"])])


@pytest.mark.parametrize("table", ["state", "documents", "marks_1", "chunks_1"])
def test_a_damaged_index_is_an_error_in_words(address: str, table: str) -> None:
    open_store(address).replace([make_entry("a", ["text"])])
    for version in (Path(address) / f"{table}.lance" / "_versions").iterdir():
        version.write_bytes(b"garbage")
    with pytest.raises(StoreError, match="Couldn't open the index in"):
        open_store(address)


def test_data_files_that_are_gone_are_an_error_in_words(address: str) -> None:
    store = open_store(address)
    store.replace([make_entry("a", ["text"])])
    shutil.rmtree(Path(address) / "chunks_1.lance" / "data")
    with pytest.raises(StoreError, match="Couldn't search the index in"):
        open_store(address).search("text", embed("text"), 5, 0.5)


MAKING = ("marks_1", "chunks_1", "state", "documents")
"""In this order the tables of an index are made; the manifest comes last."""


@pytest.mark.parametrize("table", MAKING)
def test_an_index_whose_making_was_cut_off_is_completed(address: str, table: str) -> None:
    entry = make_entry("a", ["Deployments were running"])
    open_store(address).save_state(SourceState("fake"))
    (Path(address) / MANIFEST_FILE).unlink()
    for later in MAKING[MAKING.index(table) :]:
        shutil.rmtree(Path(address) / f"{later}.lance")
    (Path(address) / f"{table}.lance" / "data").mkdir(parents=True)
    (Path(address) / f"{table}.lance" / "data" / "0.lance").write_bytes(b"half of a file")
    store = open_store(address)
    assert store.count() == Counts(0, 0, 0)
    store.replace([entry])
    assert_holds(store, [entry])
    assert texts(store.search("deploy", None, 5, 0.0)) == ["Deployments were running"]


def test_an_index_that_was_not_made_yet_is_made_by_the_next_write(address: str) -> None:
    import lancedb

    open_store(address).save_state(SourceState("fake"))
    (Path(address) / MANIFEST_FILE).unlink()
    lancedb.connect(address).open_table("chunks_1").drop_index("keywords_idx")
    store = open_store(address)
    store.replace([make_entry("a", ["Deployments were running"])])
    assert "keywords_idx" in {index.name for index in lancedb.connect(address).open_table("chunks_1").list_indices()}


def test_an_index_of_an_earlier_layout_is_named(address: str) -> None:
    open_store(address).replace([make_entry("a", ["text"])])
    (Path(address) / MANIFEST_FILE).unlink()
    shutil.rmtree(Path(address) / "marks_1.lance")
    with pytest.raises(StoreError, match="earlier Lore") as caught:
        open_store(address)
    assert "lore sync --all" in caught.value.remedy


def test_an_index_whose_manifest_is_gone_is_damaged_and_not_empty(address: str) -> None:
    entry, reader = make_entry("a", ["text"]), open_store(address)
    reader.replace([entry])
    manifest = (Path(address) / MANIFEST_FILE).read_text()
    (Path(address) / MANIFEST_FILE).unlink()
    for act in (lambda: open_store(address), reader.count, lambda: reader.replace([entry])):
        with pytest.raises(StoreError, match=r"damaged: its manifest\.json is missing.*lore sync --all"):
            act()
    (Path(address) / MANIFEST_FILE).write_text(manifest)
    assert_holds(open_store(address), [entry])


@pytest.mark.parametrize("text", ["", "{", "[]", '{"live": 2, "versions": []}', '{"live": 1, "versions": [{}]}'])
def test_a_manifest_that_is_none_is_an_error_in_words(address: str, text: str) -> None:
    open_store(address).replace([make_entry("a", ["text"])])
    (Path(address) / MANIFEST_FILE).write_text(text)
    with pytest.raises(StoreError, match="manifest"):
        open_store(address)


def test_an_index_that_is_removed_meanwhile_is_made_again(address: str) -> None:
    entry, reader = make_entry("a", ["text"]), open_store(address)
    writer = open_store(address)
    writer.replace([entry])
    assert reader.count() == Counts(1, 1, 1)
    shutil.rmtree(address)
    assert reader.count() == Counts(0, 0, 0)
    writer.replace([entry])
    assert_holds(reader, [entry])


@pytest.mark.parametrize("recipe", [RECIPE, Recipe("fake:other", DIMENSIONS)], ids=["same model", "another model"])
@pytest.mark.parametrize("searched", [True, False], ids=["searched before", "not yet searched"])
def test_a_question_under_way_mixes_nothing_of_an_index_that_was_made_anew(
    address: str, recipe: Recipe, searched: bool
) -> None:
    store = open_store(address)
    store.replace([make_entry("a", ["common old"])])
    asking = store.snapshot()
    if searched:
        assert texts(asking.search("common", embed("common"), 5, 0.5)) == ["common old"]
    shutil.rmtree(address)
    LanceStore(address, recipe).replace([make_entry("b", ["common new"])])
    for _ in range(2):
        with pytest.raises(StoreError, match="was rebuilt") as caught:
            asking.search("common", embed("common"), 5, 0.5)
        assert caught.value.retryable
    assert texts(open_store(address, recipe).snapshot().search("common", embed("common"), 5, 0.5)) == ["common new"]


def test_a_version_of_the_number_of_a_dropped_one_is_not_taken_for_it(address: str) -> None:
    store, versions = open_store(address), LanceVersions(address)
    store.replace([make_entry("a", ["common one"])])
    versions.create(RECIPE)
    versions.open(2).replace_chunks([make_entry("a", ["common two"])])
    versions.promote(2)
    asking = store.snapshot()
    assert texts(asking.search("common", None, 5, 0.0)) == ["common two"]
    versions.promote(1)
    versions.drop(2)
    assert versions.create(RECIPE).number == 2
    with pytest.raises(StoreError, match="was rebuilt"):
        asking.search("common", None, 5, 0.0)


def test_of_both_rankings_the_best_are_those_of_all_their_scores(address: str) -> None:
    """One chunk is by far the nearest, and weak keyword matches still beat the other near ones."""
    vectors = np.zeros((9, DIMENSIONS), np.float32)
    vectors[:, :2] = [(1, 0), *[(0.6, 0.8)] * 3, (0, 1), *[(-0.6, 0.8)] * 4]
    found = ["near"] * 5 + ["needle " * 4, *("needle" + " hay" * length for length in (40, 45, 60))]
    entry = make_entry("a", [f"{text} {place}" for place, text in enumerate(found)], title="")
    store = open_store(address)
    store.replace([replace(entry, vectors=vectors)])
    keywords = {hit.chunk.position: hit.score for hit in store.search("needle", None, 9, 0.0)}
    cosines = {place: float(vectors[place, 0]) for place in range(4)}
    columns = [np.array([ranking.get(place, np.nan) for place in range(9)]) for ranking in (cosines, keywords)]
    expected = fuse(*columns, 0.5)
    hits = store.search("needle", vectors[0], 4, 0.5)
    assert {hit.chunk.position for hit in hits} == {0, 5, 6, 7}
    assert [hit.score for hit in hits] == pytest.approx(sorted(expected, reverse=True)[:4], abs=1e-5)


def test_a_write_waits_for_the_lock_and_gives_up_in_time(address: str) -> None:
    from filelock import FileLock

    store = LanceStore(address, Recipe("fake:words", DIMENSIONS), lock_timeout=0.05)
    store.replace([make_entry("a", ["text"])])
    with FileLock(Path(address) / LOCK_FILE):
        with pytest.raises(StoreError, match="Another process") as caught:
            store.replace([make_entry("b", ["text"])])
        assert caught.value.retryable
        assert texts(store.search("text", embed("text"), 5, 0.5)) == ["text"]  # readers never wait
    store.replace([make_entry("b", ["text"])])
    assert store.count() == Counts(2, 2, 2)


def test_readers_see_the_old_chunks_or_the_new_never_both(address: str) -> None:
    store, other = open_store(address), open_store(address)
    stages = [make_entry("a", [f"{word} {number}" for number in range(6)]) for word in ("old", "new")]
    store.replace(stages[:1])
    stop = threading.Event()

    def write() -> None:
        for number in range(1, 12):
            store.replace([stages[number % 2]])
        stop.set()

    seen = []
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not stop.is_set() and not writing.done():
            seen.append(other.chunks("fake:a"))
        writing.result()
    allowed = [list(stage.chunks) for stage in stages]
    assert len(seen) > 5
    assert all(chunks in allowed for chunks in seen)


def test_a_vector_that_does_not_fit_is_refused(address: str) -> None:
    store = open_store(address)
    store.replace([make_entry("a", ["text"])])
    with pytest.raises(StoreError, match="shape"):
        store.search("text", np.ones(DIMENSIONS + 1, np.float32), 5, 0.5)
    with pytest.raises(StoreError, match="needs a vector"):
        store.search("text", None, 5, 0.5)


def test_a_document_without_direction_does_not_disturb(address: str) -> None:
    store = open_store(address)
    entry = make_entry("zero", ["overnight"])
    store.replace([make_entry("a", ["text"]), type(entry)(entry.document, "1", entry.chunks, entry.vectors * 0)])
    hits = store.search("overnight", embed("text"), 5, 0.5)
    assert {hit.chunk.text for hit in hits} == {"overnight", "text"}
    assert {hit.chunk.text: hit.vector_score for hit in hits}["overnight"] == 0.0
