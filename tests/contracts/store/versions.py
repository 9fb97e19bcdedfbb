"""Versions that are built, promoted, read and dropped side by side."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from lore.errors import ConfigurationError, IndexMismatchError, StoreError
from lore.protocols import Store, Versions
from lore.types import Counts, Recipe, SourceState

from tests.contracts.store.base import StoreFixtures
from tests.contracts.store.entries import (
    DIMENSIONS,
    OTHER_MODEL,
    RECIPE,
    MakeStore,
    assert_holds,
    embed,
    make_entry,
    texts,
)


class VersionsContract(StoreFixtures):
    def test_there_are_no_versions_before_the_first_write(self, versions: Versions, store: Store) -> None:
        assert versions.all() == []
        assert versions.live() is None
        with pytest.raises(StoreError, match="no index") as caught:
            versions.create(RECIPE)
        assert "lore sync --all" in caught.value.remedy
        assert store.count() == store.snapshot().count() == Counts(0, 0, 0)
        assert store.version() is store.snapshot().version() is None

    def test_the_first_write_makes_version_one(self, versions: Versions, store: Store) -> None:
        store.save_state(SourceState("fake"))
        (version,) = versions.all()
        assert (version.number, version.recipe, version.status) == (1, RECIPE, "ready")
        assert version.promoted_at is not None
        assert versions.live() == 1

    def test_a_version_is_built_of_the_kept_documents(self, versions: Versions, store: Store) -> None:
        entries = [make_entry(name, [f"{name} one", f"{name} two"]) for name in "abc"]
        store.replace(entries)
        created = versions.create(OTHER_MODEL)
        assert (created.number, created.recipe, created.status) == (2, OTHER_MODEL, "building")
        assert versions.all()[1] == created
        assert versions.live() == 1
        second = versions.open(2)
        assert second.count() == Counts(0, 0, 0)
        assert second.fingerprints() == {}
        assert (
            second.document_fingerprints() == store.document_fingerprints() == {f"fake:{name}": "1" for name in "abc"}
        )
        assert {document.id for document in second.documents()} == {f"fake:{name}" for name in "abc"}
        assert [document.id for document in second.documents(ids=["fake:b", "fake:x"])] == ["fake:b"]
        assert second.vectors_for([entries[0].chunks[0].content_hash]) == {}

        whole = make_entry("a", ["a, whole"])
        assert second.replace_chunks([whole, make_entry("b", ["b"], fingerprint="older"), make_entry("x", ["x"])]) == 1
        assert second.fingerprints("fake") == second.fingerprints() == {"fake:a": "1"}
        assert second.fingerprints(ids=["fake:b", "fake:a", "fake:x", "fake:a"]) == {"fake:a": "1"}
        assert (
            second.document_fingerprints("fake", ids=["fake:b", "fake:x"])
            == second.document_fingerprints(ids=["fake:b"])
            == {"fake:b": "1"}
        )
        assert second.document_fingerprints("other", ids=["fake:b"]) == second.document_fingerprints(ids=[]) == {}
        assert second.fingerprints("other") == {}
        assert second.chunks("fake:a") == list(whole.chunks)
        assert second.count() == second.count("fake") == Counts(1, 1, 1)
        assert texts(second.search("whole", None, 5, 0.0)) == ["a, whole"]
        assert_holds(store, entries)
        assert texts(store.search("whole", None, 5, 0.0)) == []

    def test_writing_one_version_leaves_the_other_behind(self, versions: Versions, store: Store) -> None:
        store.replace([make_entry("a", ["first"])])
        versions.create(OTHER_MODEL)
        second = versions.open(2)
        second.replace_chunks([make_entry("a", ["first, too"])])
        changed = make_entry("a", ["changed"], fingerprint="2")
        store.replace([changed])
        assert store.fingerprints() == store.document_fingerprints() == {"fake:a": "2"}
        assert second.fingerprints() == {"fake:a": "1"}
        assert second.document("fake:a") == changed.document
        second.replace([make_entry("b", ["second only"])])
        assert store.document_fingerprints() == {"fake:a": "2", "fake:b": "1"}
        assert store.fingerprints() == {"fake:a": "2"}
        assert store.count() == Counts(1, 1, 1)

    def test_what_is_deleted_is_gone_from_every_version(self, versions: Versions, store: Store) -> None:
        entries = [make_entry(name, [f"{name} text"]) for name in "ab"]
        store.replace(entries)
        versions.create(OTHER_MODEL)
        second = versions.open(2)
        second.replace_chunks([make_entry("a", ["a text", "a more"]), make_entry("b", ["b text"])])
        assert store.delete("fake", ["fake:a"]) == 1
        for held_by in (store, second):
            assert held_by.document_fingerprints() == held_by.fingerprints() == {"fake:b": "1"}
            assert held_by.count() == Counts(1, 1, 1)
            assert held_by.chunks("fake:a") == []
        second.remove_chunks(["fake:b", "fake:a"])  # still kept, so it stays
        assert second.count() == Counts(1, 1, 1)
        assert second.delete("fake", ["fake:b"]) == 1
        assert store.count() == second.count() == Counts(0, 0, 0)

    def test_a_promotion_is_seen_by_all_but_a_question_that_is_under_way(
        self, versions: Versions, store: Store, make_store: MakeStore
    ) -> None:
        store.replace([make_entry("a", ["common one"])])
        versions.create(RECIPE)
        versions.open(2).replace_chunks([make_entry("a", ["common two"])])
        reader, asking = make_store(), store.snapshot()
        for number, other in ((2, 1), (1, 2), (2, 1)):
            versions.promote(number)
            assert versions.live() == number
            words = {1: ["common one"], 2: ["common two"]}
            assert asking.version() == 1
            for index in (store, reader, make_store(), store.snapshot(), versions.open(number)):
                assert index.version() == number
                assert texts(index.search("common", embed("common"), 5, 0.5)) == words[number]
            assert texts(versions.open(other).search("common", embed("common"), 5, 0.5)) == words[other]
            assert texts(asking.search("common", embed("common"), 5, 0.5)) == words[1]
            assert asking.document("fake:a") == store.document("fake:a")

    @pytest.mark.slow
    def test_questions_during_promotions_are_answered_from_one_version(
        self, versions: Versions, store: Store, make_store: MakeStore
    ) -> None:
        store.replace([make_entry(f"d{number}", ["common one"]) for number in range(20)])
        versions.create(RECIPE)
        versions.open(2).replace_chunks([make_entry(f"d{number}", ["common two"]) for number in range(20)])
        stop, seen = threading.Event(), [0] * 8

        def ask(asker: int) -> None:
            index = make_store() if asker % 2 else store
            while not stop.is_set():
                pinned = index.snapshot()
                answers = [texts(pinned.search(words, embed(words), 100, 0.5)) for words in ("common", "one", "two")]
                found = {text for answer in answers for text in answer}
                assert found in ({"common one"}, {"common two"})
                assert len(set(texts(index.search("common", embed("common"), 100, 0.5)))) == 1
                seen[asker] += 1

        with ThreadPoolExecutor(len(seen)) as pool:
            asking = [pool.submit(ask, asker) for asker in range(len(seen))]
            for flip in range(20):
                versions.promote(2 - flip % 2)
                target = sum(seen) + len(seen)
                while sum(seen) < target and not any(question.done() for question in asking):
                    time.sleep(0.001)
            stop.set()
            for question in asking:
                question.result()
        assert sum(seen) >= 20 * len(seen)

    def test_a_question_that_begins_sees_what_became_of_the_versions_just_before(
        self, versions: Versions, store: Store
    ) -> None:
        """Whatever the store cached about versions for earlier questions."""

        def answered(index: Store) -> list[str]:
            return texts(index.snapshot().search("common", embed("common"), 5, 0.5))

        store.replace([make_entry("a", ["common 1"])])
        assert answered(versions.open(1)) == answered(store) == ["common 1"]
        for number, recipe in ((2, RECIPE), (3, OTHER_MODEL)):
            versions.create(recipe)
            versions.open(number).replace_chunks([make_entry("a", [f"common {number}"])])
            assert answered(versions.open(number)) == [f"common {number}"]
        versions.promote(3)
        assert answered(store) == ["common 1"]  # its settings fit both, and only this one was ever live
        versions.promote(2)
        versions.promote(3)
        assert answered(store) == ["common 2"]
        versions.drop(2)
        assert answered(store) == ["common 1"]
        with pytest.raises(ConfigurationError, match="no version 2"):
            versions.open(2).snapshot()

    @pytest.mark.parametrize(
        ("name", "dimensions", "difference"),
        [
            ("other:model", DIMENSIONS, ("fake:words", "other:model")),
            ("fake:words", 32, (f"dimensions {DIMENSIONS}", "dimensions 32")),
        ],
        ids=["embedder", "dimensions"],
    )
    def test_an_index_of_another_embedder_is_refused_and_left_alone(
        self, make_store: MakeStore, name: str, dimensions: int, difference: tuple[str, ...]
    ) -> None:
        entry, other = make_entry("a", ["text"]), Recipe(name, dimensions)
        early = make_store(other)  # there is nothing yet to disagree with
        make_store().replace([entry])
        with pytest.raises(IndexMismatchError) as caught:
            make_store(other)
        for part in (*difference, "LORE_EMBEDDER", "lore index build"):
            assert part in str(caught.value)
        with pytest.raises(IndexMismatchError):
            early.replace([make_entry("b", [])])
        with pytest.raises(IndexMismatchError):
            early.count()
        assert_holds(make_store(), [entry])

    def test_a_splitter_of_another_version_of_the_code_is_not_called_a_choice(
        self, store: Store, make_store: MakeStore
    ) -> None:
        store.replace([make_entry("a", ["common one"])])
        with pytest.raises(IndexMismatchError, match="This version of Lore splits documents differently") as caught:
            make_store(replace(RECIPE, splitter=f"newer:{RECIPE.splitter.partition(':')[2]}"))
        assert "lore index build" in caught.value.remedy and "LORE_" not in caught.value.remedy

    def test_settings_of_before_a_promotion_go_on_with_the_version_of_before(
        self, versions: Versions, store: Store, make_store: MakeStore
    ) -> None:
        store.replace([make_entry("a", ["common one"])])
        versions.create(OTHER_MODEL)
        with pytest.raises(IndexMismatchError, match="fake:other") as caught:
            make_store(OTHER_MODEL)  # it is there, and nobody has promoted it
        assert "lore index promote 2" in caught.value.remedy
        versions.open(2).replace_chunks([make_entry("a", ["common two"])])
        versions.promote(2)
        new = make_store(OTHER_MODEL)
        for old in (store, make_store()):
            assert texts(old.search("common", embed("common"), 5, 0.5)) == ["common one"]
        assert texts(new.search("common", embed("common"), 5, 0.5)) == ["common two"]
        with pytest.raises(IndexMismatchError, match="fake:10"):
            make_store(replace(OTHER_MODEL, splitter="fake:10"))
        assert make_store(replace(OTHER_MODEL, splitter="")).count() == Counts(1, 1, 1)  # reads only
        versions.drop(1)
        with pytest.raises(IndexMismatchError) as caught:
            store.search("common", embed("common"), 5, 0.5)
        for part in ("fake:other", "fake:words", "LORE_EMBEDDER", "lore index build"):
            assert part in str(caught.value)
        for equal in ("dimensions", "strategy", "schema"):
            assert equal not in caught.value.message
        with pytest.raises(IndexMismatchError):
            store.replace([make_entry("b", ["text"])])
        assert new.document_fingerprints() == {"fake:a": "1"}

    def test_a_dropped_version_leaves_nothing(self, versions: Versions, store: Store) -> None:
        store.replace([make_entry("a", ["text"])])
        versions.create(OTHER_MODEL)
        versions.open(2).replace_chunks([make_entry("a", ["text"])])
        with pytest.raises(ConfigurationError, match="live"):
            versions.drop(1)
        with pytest.raises(ConfigurationError, match="no version 3"):
            versions.drop(3)
        versions.drop(2)
        assert [version.number for version in versions.all()] == [1]
        for act in (versions.promote, versions.open):
            with pytest.raises(ConfigurationError, match="no version 2"):
                act(2)
        again = versions.create(RECIPE)
        assert versions.open(again.number).count() == Counts(0, 0, 0)
        assert versions.live() == 1
        assert store.count() == Counts(1, 1, 1)

    def test_the_manifest_remembers_what_is_said_of_a_version(self, versions: Versions, store: Store) -> None:
        store.replace([make_entry("a", ["text"])])
        created = versions.create(OTHER_MODEL)
        versions.promote(2)
        told = replace(
            created,
            status="ready",
            ready_at=datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=UTC),
            counts=Counts(1, 2, 2),
            scores={"ndcg_at_10": 0.5, "verdict": {"questions": ["ü"]}},
        )
        versions.save(told)
        first, second = versions.all()
        assert replace(second, promoted_at=None) == told
        assert second.promoted_at is not None
        assert first.promoted_at is not None
        assert second.promoted_at > first.promoted_at
        with pytest.raises(ConfigurationError, match="no version 7"):
            versions.save(replace(told, number=7))
