"""What every store must do. A store's test inherits `StoreContract` and says how it is opened.

The openers are named, not passed, because some tests open the same index from other processes.
"""

from __future__ import annotations

import importlib
import random
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from lore.errors import ConfigurationError, IndexMismatchError, StoreError
from lore.protocols import Store, Versions
from lore.types import PUBLIC, Chunk, Counts, DocumentInfo, EmbeddedDocument, Failure, Hit, Recipe, SourceState

from tests.fakes import FakeEmbedder, make_document

DIMENSIONS = 64
EMBEDDER = FakeEmbedder(DIMENSIONS)
RECIPE = Recipe(EMBEDDER.name, DIMENSIONS)
OTHER_MODEL = Recipe("fake:other", DIMENSIONS, "fake:9", choices={"chunk_characters": 900})

HOSTILE = (
    "",
    "   \n\t ",
    "the and of",
    'say "unbalanced (',
    "AND OR NOT + - && || ! ( ) { } [ ] ^ ~ * ? : \\ /",
    "title:secret AND *",
    "'; DROP TABLE chunks; --",
    "it's \\' \\",
    "nul \0 byte",
    "lone \ud800 surrogate",
    "emoji 😀 👩‍👩‍👧 é 日本語 \u202e \u200b",
    "word " * 2_000,
    "x" * 10_000,
    " ".join(f"term{number}" for number in range(1_500)),
    "{{ template }} %s %(x)s $1 ? :name `tick` --",
)

MakeStore = Callable[..., Store]


def embed(text: str) -> np.ndarray:
    return EMBEDDER.embed_query(text)


def make_entry(
    name: str, texts: Sequence[str], *, source_id: str = "fake", fingerprint: str = "1", **changes: object
) -> EmbeddedDocument:
    """A document whose chunks are the given texts."""
    document = make_document(name, "\n".join(texts), source_id, **changes)
    chunks, start = [], 0
    for position, text in enumerate(texts):
        identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{document.id}\n{text}".encode("utf-8", "replace").decode())
        chunks.append(
            Chunk(
                id=str(identity),
                document_id=document.id,
                source_id=source_id,
                url=document.url,
                title=document.title,
                headings=("Guide", f"Part {position}"),
                text=text,
                position=position,
                start=start,
                end=start + len(text),
                audiences=document.audiences,
                updated_at=document.updated_at,
            )
        )
        start += len(text) + 1
    vectors = EMBEDDER.embed_documents([chunk.embedded_text for chunk in chunks])
    return EmbeddedDocument(document, fingerprint, tuple(chunks), vectors)


def held(store: Store, entries: Sequence[EmbeddedDocument]) -> None:
    """Assert that the store holds exactly these entries, to the letter and the bit."""
    assert {document.id: document for document in store.documents()} == {
        entry.document.id: entry.document for entry in entries
    }
    for entry in entries:
        name = entry.document.id
        assert store.document(name) == entry.document
        assert store.chunks(name) == list(entry.chunks)
        assert store.fingerprints(entry.document.source_id)[name] == entry.fingerprint
    vectors = store.vectors_for([chunk.content_hash for entry in entries for chunk in entry.chunks])
    for entry in entries:
        for chunk, vector in zip(entry.chunks, entry.vectors, strict=True):
            assert vectors[chunk.content_hash].dtype == np.float32
            assert vectors[chunk.content_hash].tobytes() == vector.tobytes()
    total = sum(len(entry.chunks) for entry in entries)
    assert store.count() == Counts(len(entries), total, total)


def texts(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk.text for hit in hits]


def open_named(opener: str, address: str, *arguments: object) -> Store:
    """Open a store by the name of a function, as another process does."""
    module, _, function = opener.partition(":")
    return getattr(importlib.import_module(module), function)(address, *arguments)


class StoreContract:
    """Inherit, set the openers and give the fixture `address` a fresh index each.

    `opener` is "module:function" of an address and a recipe (default: `RECIPE`), `versions_opener` of an address.
    """

    opener: str
    versions_opener: str

    @pytest.fixture
    def address(self) -> str:
        raise NotImplementedError

    @pytest.fixture
    def make_store(self, address: str) -> MakeStore:
        """Each call opens the same index once more, with a recipe if it is given one."""
        return lambda *recipe: open_named(self.opener, address, *recipe)

    @pytest.fixture
    def store(self, make_store: MakeStore) -> Store:
        return make_store()

    @pytest.fixture
    def versions(self, address: str) -> Versions:
        return open_named(self.versions_opener, address)  # type: ignore[return-value]

    # -------------------------------------------------------------------------------------------- what is written

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
        held(store, [full, bare])
        held(make_store(), [full, bare])

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
        held(store, entries)

    def test_a_replaced_document_keeps_no_chunk_of_before(self, store: Store) -> None:
        other = make_entry("other", ["Untouched."])
        store.replace([make_entry("a", ["kept", "changed", "dropped"]), other])
        for words in (["kept", "new"], ["quite", "another", "kept"], [], ["back again"]):
            entry = make_entry("a", words, fingerprint=str(words))
            store.replace([entry])
            held(store, [entry, other])
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
        held(store, entries[:1])

    def test_deleting_removes_documents_with_their_chunks(self, store: Store) -> None:
        a, b, c = (make_entry(name, [f"{name} one", f"{name} two"]) for name in "abc")
        store.replace([a, b, c])
        assert store.delete("fake", ["fake:a", "fake:c", "fake:unknown", "fake:a"]) == 2
        held(store, [b])
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
            held(store, [hidden, other])
            assert texts(store.search("lantern", None, 5, 0.0)) == []
            store.replace([shown])
            held(store, [shown, other])
            assert set(texts(store.search("lantern", None, 5, 0.0))) == {"lantern one", "lantern two"}

    def test_only_known_hashes_have_vectors(self, store: Store) -> None:
        entry = make_entry("a", ["one", "two"])
        store.replace([entry])
        known = entry.chunks[1].content_hash
        found = store.vectors_for([known, "f" * 64, "it's", known])
        assert list(found) == [known]
        assert np.array_equal(found[known], entry.vectors[1])

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

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_text_can_be_stored_found_and_removed(self, store: Store, text: str) -> None:
        bystander = make_entry("bystander", ["innocent"])
        entry = make_entry(text, [text], title=text, url=text, metadata={text: text}, fingerprint=text[:50])
        store.replace([entry, bystander])
        assert store.count() == Counts(2, 2, 2)
        document = store.document(entry.document.id)
        assert document is not None
        clean = text.replace("\ud800", "\ufffd")
        assert document.text == document.title == clean
        assert document.metadata == {text: text}
        assert [chunk.text for chunk in store.chunks(entry.document.id)] == [clean]
        assert store.delete("fake", [entry.document.id]) == 1
        held(store, [bystander])

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

    # --------------------------------------------------------------------------------------------- what is found

    @pytest.fixture(params=["fresh", "optimized", "half"])
    def library(self, store: Store, request: pytest.FixtureRequest) -> Store:
        """Thirty documents, not indexed yet, all indexed, or some of each."""
        entries = [
            make_entry(f"d{number:02}", [f"filler{number} common", f"topic{number} common words"])
            for number in range(28)
        ]
        entries += [make_entry("walk", ["Deployments were running overnight"]), make_entry("cafe", ["Café terraces"])]
        store.replace(entries[:20])
        if request.param == "half":
            store.optimize()
        store.replace(entries[20:])
        if request.param == "optimized":
            store.optimize()
        return store

    def test_by_vector_the_ranking_is_that_of_the_cosines(self, library: Store) -> None:
        query = embed("topic3 common words filler7")
        everything = {
            chunk.id: float(embed(chunk.embedded_text) @ query)
            for document in library.documents()
            for chunk in library.chunks(document.id)
        }
        hits = library.search("ignored", query, 10, 1.0)
        best = sorted(everything.values(), reverse=True)[:10]
        assert [hit.vector_score for hit in hits] == pytest.approx(best, abs=1e-5)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        for hit in hits:
            assert hit.vector_score == pytest.approx(everything[hit.chunk.id], abs=1e-5)

    @pytest.mark.parametrize("query", ["deployment run", "DEPLOYED", "overnight?", "(running)"])
    def test_keywords_match_by_their_stem_in_any_case(self, library: Store, query: str) -> None:
        hits = library.search(query, None, 5, 0.0)
        assert texts(hits) == ["Deployments were running overnight"]
        assert hits[0].keyword_score is not None
        assert hits[0].keyword_score > 0
        assert hits[0].vector_score is None

    def test_keywords_are_read_from_title_and_headings_too(self, store: Store) -> None:
        entry = make_entry("a", ["body"], title="Kubernetes operator")
        store.replace([entry, make_entry("b", ["body"], title="Else")])
        assert {hit.chunk.document_id for hit in store.search("kubernetes", None, 5, 0.0)} == {"fake:a"}
        assert {hit.chunk.document_id for hit in store.search("guide", None, 5, 0.0)} == {"fake:a", "fake:b"}

    def test_rarer_words_count_more(self, library: Store) -> None:
        hits = library.search("common topic5", None, 10, 0.0)
        assert texts(hits)[0] == "topic5 common words"
        assert len(hits) == 10

    def test_stop_words_alone_find_nothing_by_keyword(self, library: Store) -> None:
        assert library.search("were the of", None, 5, 0.0) == []

    def test_fusion_takes_from_both_and_prefers_what_both_find(self, store: Store) -> None:
        store.replace(
            [
                make_entry("both", ["alpha beta gamma"], title="t"),
                make_entry("word", ["alpha " + "noise " * 40], title="t"),
                make_entry("near", ["beta gamma"], title="t"),
                make_entry("faint", ["alpha " + "noise " * 90], title="t"),
                *(make_entry(f"far{number}", [f"else{number} " * 20], title="t") for number in range(20)),
            ]
        )
        query = embed("t Guide Part 0 alpha beta gamma")

        def best(alpha: float) -> list[str]:
            return [hit.chunk.document_id.removeprefix("fake:") for hit in store.search("alpha", query, 10, alpha)][:2]

        assert best(0.5)[0] == "both"
        assert best(0.99) == ["both", "near"]
        assert best(0.01) == ["both", "word"]

    @pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
    def test_every_hit_carries_its_vector_and_its_cosine(self, library: Store, alpha: float) -> None:
        query = embed("topic3 overnight")
        hits = library.search("overnight café topic3", query, 8, alpha)
        assert hits
        for hit in hits:
            assert hit.vector is not None
            assert hit.vector.tobytes() == embed(hit.chunk.embedded_text).tobytes()
            assert hit.vector_score == pytest.approx(float(hit.vector @ query), abs=1e-5)
        assert len({hit.chunk.id for hit in hits}) == len(hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        if alpha < 1:
            assert any(hit.keyword_score for hit in hits)

    @pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
    def test_the_limit_holds_and_may_be_larger_than_the_store(self, library: Store, alpha: float) -> None:
        query = embed("common")
        assert len(library.search("common", query, 7, alpha)) == 7
        assert len(library.search("common", query, 1_000, alpha)) == (56 if alpha == 0 else 58)
        assert library.search("common", query, 0, alpha) == []

    @pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
    def test_the_same_search_gives_the_same_order(self, library: Store, alpha: float) -> None:
        first = library.search("common words", embed("common words"), 30, alpha)
        again = library.search("common words", embed("common words"), 30, alpha)
        assert [(hit.chunk.id, hit.score) for hit in first] == [(hit.chunk.id, hit.score) for hit in again]
        assert first == sorted(first, key=lambda hit: (-hit.score, hit.chunk.id))

    @pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
    def test_filters_act_before_the_limit(self, store: Store, alpha: float) -> None:
        crowd = [make_entry(f"c{number}", ["needle"], source_id="crowd", title="needle") for number in range(40)]
        few = [make_entry(f"f{number}", ["needle among hay"], source_id="it's") for number in range(3)]
        store.replace([*crowd, *few])
        hits = store.search("needle", embed("needle"), 10, alpha, sources=["it's"])
        assert {hit.chunk.document_id for hit in hits} == {"it's:f0", "it's:f1", "it's:f2"}
        assert len(store.search("needle", embed("needle"), 50, alpha, sources=["it's", "crowd"])) == 43
        assert store.search("needle", embed("needle"), 10, alpha, sources=["unknown"]) == []

    @pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
    @pytest.mark.parametrize("optimized", [True, False])
    def test_nobody_sees_what_is_not_for_them(self, store: Store, alpha: float, optimized: bool) -> None:
        for name, audiences in {"p": (PUBLIC,), "a": ("team-a",), "ab": ("team-a", "o'b"), "none": ()}.items():
            store.replace([make_entry(name, ["secret plan"], audiences=audiences)])
        if optimized:
            store.optimize()

        def seen(*audiences: str) -> set[str]:
            hits = store.search("secret plan", embed("secret plan"), 10, alpha, audiences=audiences)
            return {hit.chunk.document_id.removeprefix("fake:") for hit in hits}

        assert seen(PUBLIC) == {"p"}
        assert seen("team-a") == {"a", "ab"}
        assert seen("o'b", PUBLIC) == {"ab", "p"}
        assert seen("nobody") == set()
        assert seen() == set()

    def test_a_hostile_query_is_plain_words(self, library: Store) -> None:
        for text in HOSTILE:
            for alpha in (0.0, 0.5, 1.0):
                library.search(text, embed(text.replace("\ud800", "")), 5, alpha)
            found = library.search(f"{text[:8_000]} overnight", None, 100, 0.0)
            assert "Deployments were running overnight" in texts(found)

    def test_optimizing_changes_nothing_that_is_held(self, store: Store) -> None:
        entries = [make_entry(f"d{number}", [f"text {number}", "more"]) for number in range(100)]
        store.replace(entries)
        store.optimize()
        store.delete("fake", [entry.document.id for entry in entries[50:]])
        store.replace([make_entry("d0", ["rewritten"], fingerprint="2")])
        store.optimize()
        store.optimize()
        held(store, [make_entry("d0", ["rewritten"], fingerprint="2"), *entries[1:50]])
        assert texts(store.search("rewritten", None, 5, 0.0)) == ["rewritten"]
        assert store.search("99", None, 5, 0.0) == []

    # -------------------------------------------------------------------------------------------------- together

    def test_another_handle_sees_what_was_written(self, make_store: MakeStore) -> None:
        reader, writer = make_store(), make_store()
        assert reader.count() == Counts(0, 0, 0)
        for number in range(3):
            writer.replace([make_entry(f"d{number}", [f"text{number}"])])
            assert reader.count() == Counts(number + 1, number + 1, number + 1)
            assert texts(reader.search(f"text{number}", None, 5, 0.0)) == [f"text{number}"]
        writer.optimize()
        writer.delete("fake", ["fake:d0"])
        assert reader.document("fake:d0") is None
        assert reader.search("text0", None, 5, 0.0) == []

    def test_threads_write_through_shared_and_separate_handles(self, store: Store, make_store: MakeStore) -> None:
        handles = [store, make_store()]

        def write(thread: int) -> None:
            store = handles[thread % 2]
            for number in range(3):
                store.replace([make_entry(f"t{thread}", [f"thread {thread} version {number}"]), make_entry("x", ["x"])])
                assert store.search("thread", embed("thread"), 10, 0.5)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        held(
            store,
            [
                *(make_entry(f"t{thread}", [f"thread {thread} version 2"]) for thread in range(4)),
                make_entry("x", ["x"]),
            ],
        )

    def test_the_fingerprint_is_the_last_thing_to_change(self, store: Store, make_store: MakeStore) -> None:
        """Whoever reads a fingerprint finds the document and chunks that it stands for, until the next one is there."""
        writer = make_store()
        versions = {str(number): make_entry("a", [f"v{number}"], fingerprint=str(number)) for number in range(15)}
        store.replace([versions["0"]])
        checked = 0
        seen = threading.Event()

        def write() -> None:
            for number in range(150):  # a slow machine may need many rounds until a reader comes in between
                if number >= len(versions) and seen.wait(0.02):
                    break
                writer.replace([versions[str(number % len(versions))]])
            writer.replace([versions["14"]])

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            while not writing.done():
                before = store.fingerprints("fake")["fake:a"]
                document, chunks = store.document("fake:a"), store.chunks("fake:a")
                if before and before == store.fingerprints("fake")["fake:a"]:
                    assert document == versions[before].document
                    assert chunks == list(versions[before].chunks)
                    checked += 1
                    seen.set()
            writing.result()
        assert checked
        held(store, [versions["14"]])

    def test_two_processes_write_the_same_documents(self, store: Store, address: str) -> None:
        """Nothing is doubled, and a reader meanwhile never misses a document that was there before."""
        stable = rewritten(0)
        store.replace(stable)
        missing: list[str] = []
        stop = threading.Event()

        def read() -> None:
            while not stop.is_set():
                for entry in stable:
                    name = entry.document.id
                    ids = {chunk.id for chunk in store.chunks(name)}
                    versions = [{chunk.id for chunk in stage[name]} for stage in STAGES]
                    if store.document(name) is None or not any(version <= ids for version in versions):
                        missing.append(name)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            with Workers(self.opener, address, count=2) as workers:
                for number in range(8):
                    workers.tell_all(f"rewrite {number % 4}")
                    workers.wait_all()
                    workers.tell_all(f"fresh {number}")
                    workers.wait_all()
        finally:
            stop.set()
            reader.join()
        assert missing == []
        held(store, [*rewritten(3), *(entry for number in range(8) for entry in fresh(number))])

    def test_a_killed_write_is_healed_by_writing_again(self, store: Store, address: str, make_store: MakeStore) -> None:
        old, new = rewritten(0), rewritten(1)
        moments = random.Random(3)
        with Workers(self.opener, address, count=5) as workers:
            for worker in range(5):
                store.replace(old)
                workers.tell(worker, "slowly 1")
                workers.wait(worker)  # it has begun
                time.sleep(moments.uniform(0.0, 0.12))
                workers.kill(worker)
                fingerprints = store.fingerprints("fake")
                for before, after in zip(old, new, strict=True):
                    name = after.document.id
                    chunks = {chunk.id for chunk in store.chunks(name)}
                    assert chunks >= {chunk.id for chunk in before.chunks} or chunks >= {c.id for c in after.chunks}
                    if fingerprints[name] == after.fingerprint:
                        assert store.document(name) == after.document
                        assert store.chunks(name) == list(after.chunks)
                store.replace(new)
                held(store, new)
                store.optimize()
        held(make_store(), new)

    # -------------------------------------------------------------------------------------------------- versions

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
        held(store, entries)
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
        """Whatever was remembered of the versions for the questions before it."""

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
        held(make_store(), [entry])

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


# ------------------------------------------------------------------------------------------------- other processes


def rewritten(stage: int) -> list[EmbeddedDocument]:
    """Twelve documents that differ from stage to stage, sharing some chunks, and at stage 0 with other lengths."""
    return [
        make_entry(
            f"d{number}",
            [
                "kept",
                *(f"stage {stage} passage {position} of {number}" for position in range(1 + (stage + number) % 4)),
            ],
            fingerprint=f"stage {stage}",
        )
        for number in range(12)
    ]


def fresh(number: int) -> list[EmbeddedDocument]:
    """Documents that were never there before."""
    return [make_entry(f"fresh {number} {copy}", [f"passage {copy}"]) for copy in range(6)]


STAGES = [{entry.document.id: entry.chunks for entry in rewritten(stage)} for stage in range(4)]


class Workers:
    """Processes that each hold the store open and write when told to."""

    def __init__(self, opener: str, address: str, count: int) -> None:
        command = [sys.executable, "-m", "tests.contracts.store", opener, address]
        self._processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]

    def __enter__(self) -> Workers:
        self.wait_all()  # each says that it has opened the store
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()

    def tell(self, worker: int, command: str) -> None:
        stdin = self._processes[worker].stdin
        assert stdin is not None
        stdin.write(command + "\n")
        stdin.flush()

    def wait(self, worker: int) -> None:
        stdout = self._processes[worker].stdout
        assert stdout is not None
        assert stdout.readline() == "done\n"

    def tell_all(self, command: str) -> None:
        for worker in range(len(self._processes)):
            self.tell(worker, command)

    def wait_all(self) -> None:
        for worker in range(len(self._processes)):
            self.wait(worker)

    def kill(self, worker: int) -> None:
        self._processes[worker].kill()
        self._processes[worker].wait()


def work(opener: str, address: str, commands: Iterator[str]) -> None:
    """Obey lines: "rewrite 2" writes the documents of that stage, "fresh 2" new ones, "slowly 2" one by one."""
    store = open_named(opener, address)
    store.count()
    print("done", flush=True)
    for command in commands:
        kind, number = command.split()
        if kind == "slowly":
            print("done", flush=True)
            for entry in rewritten(int(number)):
                store.replace([entry])
        else:
            store.replace(fresh(int(number)) if kind == "fresh" else rewritten(int(number)))
            print("done", flush=True)


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], iter(sys.stdin))
