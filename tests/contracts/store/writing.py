"""Writes, which come back unchanged, and deletions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from lore.errors import StoreError
from lore.protocols import Store
from lore.types import PUBLIC, Counts, DocumentInfo, EmbeddedDocument, Failure, SourceState

from tests.contracts.store.base import StoreFixtures
from tests.contracts.store.entries import (
    DIMENSIONS,
    HOSTILE,
    MakeStore,
    assert_holds,
    embed,
    make_entry,
    texts,
)


class WritingContract(StoreFixtures):
    def test_a_store_that_was_never_written_to_is_empty(self, store: Store) -> None:
        assert store.count() == store.count("fake") == Counts(0, 0, 0)
        assert store.search("anything", embed("anything"), 10, 0.5) == []
        assert store.document("fake:a") is None
        assert store.chunks("fake:a") == []
        assert list(store.documents()) == []
        assert store.fingerprints("fake") == {}
        assert store.vectors_for(["0" * 64]) == {}
        assert store.state("fake") is None
        assert store.states() == {}
        assert store.delete("fake", ["fake:a"]) == 0
        store.optimize()
        store.replace([])
        assert store.count() == Counts(0, 0, 0)

    def test_everything_comes_back_as_it_was_given(self, store: Store, make_store: MakeStore) -> None:
        full = make_entry(
            "full",
            ["First passage.", "Second, with\n\n```\ncode\n```"],
            title='A "quoted" title — with 日本語',
            format="markdown",
            updated_at=datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC),
            metadata={"labels": ["bug", "p1"], "votes": 3, "nested": {"open": True, "none": None, "float": 0.1}},
            audiences=("team-a", PUBLIC),
        )
        summarized = replace(full.chunks[0], summary="What is embedded.", strategy="summary")
        full = replace(full, chunks=(summarized, full.chunks[1]))
        bare = make_entry("bare", [], url="", title="")
        store.replace([full, bare])
        assert_holds(store, [full, bare])
        assert_holds(make_store(), [full, bare])

    def test_a_moment_in_another_zone_is_the_same_moment(self, store: Store) -> None:
        moment = datetime(2024, 6, 1, 9, 0, tzinfo=timezone(timedelta(hours=5, minutes=30)))
        store.replace([make_entry("a", ["Text."], updated_at=moment)])
        document = store.document("fake:a")
        assert document is not None
        assert document.updated_at == moment
        assert document.updated_at.utcoffset() == timedelta(0)

    def test_writing_the_same_again_changes_nothing(self, store: Store) -> None:
        entries = [make_entry(name, [f"{name} one", f"{name} two"]) for name in "abc"]
        store.replace(entries)
        store.replace(entries)
        assert_holds(store, entries)

    def test_a_replaced_document_keeps_no_chunk_of_before(self, store: Store) -> None:
        other = make_entry("other", ["Untouched."])
        store.replace([make_entry("a", ["kept", "changed", "dropped"]), other])
        for words in (["kept", "new"], ["quite", "another", "kept"], [], ["back again"]):
            entry = make_entry("a", words, fingerprint=str(words))
            store.replace([entry])
            assert_holds(store, [entry, other])
            found = store.search("dropped changed", embed("dropped changed"), 50, 0.5)
            assert {chunk.id for chunk in (*entry.chunks, *other.chunks)} == {hit.chunk.id for hit in found}

    def test_many_entries_in_one_call(self, store: Store) -> None:
        entries = [make_entry(f"d{number}", [f"text {number}"]) for number in range(600)]
        store.replace(entries)
        assert store.count() == Counts(600, 600, 600)
        assert store.fingerprints("fake") == {entry.document.id: "1" for entry in entries}
        assert len(list(store.documents())) == 600
        assert len(store.vectors_for([entry.chunks[0].content_hash for entry in entries])) == 600
        assert store.delete("fake", [entry.document.id for entry in entries[1:]]) == 599
        assert_holds(store, entries[:1])

    def test_deleting_removes_documents_with_their_chunks(self, store: Store) -> None:
        a, b, c = (make_entry(name, [f"{name} one", f"{name} two"]) for name in "abc")
        store.replace([a, b, c])
        assert store.delete("fake", ["fake:a", "fake:c", "fake:unknown", "fake:a"]) == 2
        assert_holds(store, [b])
        assert store.delete("fake", ["fake:a"]) == 0
        assert store.vectors_for([a.chunks[0].content_hash]) == {}

    def test_sources_are_kept_apart(self, store: Store) -> None:
        mine = make_entry("a", ["shared words"], source_id="mine")
        theirs = make_entry("a", ["shared words", "more"], source_id="theirs")
        store.replace([mine, theirs])
        assert store.count("mine") == Counts(1, 1, 1)
        assert store.count("theirs") == Counts(1, 2, 2)
        assert store.count() == Counts(2, 3, 3)
        assert store.fingerprints("mine") == {"mine:a": "1"}
        assert list(store.documents("theirs")) == [theirs.document]
        assert store.delete("mine", ["theirs:a"]) == 0
        assert store.count() == Counts(2, 3, 3)

    def test_outlines_are_all_documents_of_a_source_without_their_texts(self, store: Store) -> None:
        assert list(store.document_infos("fake")) == []
        a = make_entry("a", ["text"], metadata={"labels": ["ä", 1, None]}, audiences=("staff", "public"))
        b = make_entry("b", ["text"], url="", title="")
        store.replace([a, b, make_entry("a", ["text"], source_id="other")])
        documents = (a.document, b.document)
        expected = [DocumentInfo(one.id, one.url, one.title, one.audiences, one.metadata) for one in documents]
        assert sorted(store.document_infos("fake"), key=lambda outline: outline.id) == expected

    def test_a_document_can_be_without_chunks_for_a_time(self, store: Store) -> None:
        shown = make_entry("a", ["lantern one", "lantern two"], fingerprint="1")
        nothing = np.zeros((0, DIMENSIONS), dtype=np.float32)
        metadata = {"duplicate_of": "fake:b"}
        hidden = EmbeddedDocument(replace(shown.document, metadata=metadata), "1~", (), nothing)
        other = make_entry("b", ["beacon"])
        store.replace([shown, other])
        for _ in range(2):
            store.replace([hidden])
            assert_holds(store, [hidden, other])
            assert texts(store.search("lantern", None, 5, 0.0)) == []
            store.replace([shown])
            assert_holds(store, [shown, other])
            assert set(texts(store.search("lantern", None, 5, 0.0))) == {"lantern one", "lantern two"}

    def test_only_known_hashes_have_vectors(self, store: Store) -> None:
        entry = make_entry("a", ["one", "two"])
        store.replace([entry])
        known = entry.chunks[1].content_hash
        found = store.vectors_for([known, "f" * 64, "it's", known])
        assert list(found) == [known]
        assert np.array_equal(found[known], entry.vectors[1])

    def test_a_state_can_be_removed(self, store: Store) -> None:
        store.remove_state("nothing is there yet")
        for source_id in ("it's", "other"):
            store.save_state(SourceState(source_id, cursor="c"))
        store.remove_state("it's")
        store.remove_state("unknown")
        assert list(store.states()) == ["other"]
        assert store.state("it's") is None

    def test_states_are_remembered(self, store: Store, make_store: MakeStore) -> None:
        state = SourceState(
            "it's",
            cursor='{"page": 3}',
            status="warning",
            synced_at=datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=UTC),
            failures=(Failure("it's:x", "no charset fits"),),
            report={"new": 3, "seconds": 1.5, "by kind": {"html": 2}},
        )
        store.save_state(SourceState("it's", cursor="old"))
        store.save_state(state)
        store.save_state(SourceState("other"))
        assert make_store().state("it's") == state
        assert store.states() == {"it's": state, "other": SourceState("other")}
        assert store.state("unknown") is None

    def test_any_text_can_be_stored_found_and_removed(self, store: Store) -> None:
        bystander = make_entry("bystander", ["innocent"])
        store.replace([bystander])
        for text in HOSTILE:
            entry = make_entry(text, [text], title=text, url=text, metadata={text: text}, fingerprint=text[:50])
            store.replace([entry])
            assert store.count() == Counts(2, 2, 2), text
            document = store.document(entry.document.id)
            assert document is not None, text
            clean = text.replace("\ud800", "\ufffd")
            assert document.text == document.title == clean
            assert document.metadata == {text: text}
            assert [chunk.text for chunk in store.chunks(entry.document.id)] == [clean]
            assert store.delete("fake", [entry.document.id]) == 1, text
            assert_holds(store, [bystander])

    @pytest.mark.parametrize("spoil", ["chunk twice", "document twice", "shape", "count", "not finite", "metadata"])
    def test_what_cannot_be_stored_is_refused_before_anything_is_written(self, store: Store, spoil: str) -> None:
        good, bad = make_entry("good", ["good"]), make_entry("bad", ["one", "two"])
        match spoil:
            case "chunk twice":
                bad = replace(bad, chunks=(bad.chunks[0], replace(bad.chunks[1], id=bad.chunks[0].id)))
            case "document twice":
                good = replace(make_entry("bad", ["other"]))
            case "shape":
                bad = replace(bad, vectors=bad.vectors[:, :-1])
            case "count":
                bad = replace(bad, vectors=bad.vectors[:1])
            case "not finite":
                bad = replace(bad, vectors=np.full_like(bad.vectors, np.nan))
            case "metadata":
                bad = replace(bad, document=replace(bad.document, metadata={"when": datetime(2024, 1, 1, tzinfo=UTC)}))
        with pytest.raises(StoreError, match="bad"):
            store.replace([good, bad])
        assert store.count() == Counts(0, 0, 0)
