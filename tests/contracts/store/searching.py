"""Search results, filters and audiences."""

from __future__ import annotations

import pytest
from lore.protocols import Store
from lore.types import PUBLIC

from tests.contracts.store.base import StoreFixtures
from tests.contracts.store.entries import (
    HOSTILE,
    assert_holds,
    embed,
    make_entry,
    texts,
)


class SearchContract(StoreFixtures):
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

    def test_keywords_match_in_the_language_of_the_text(self, store: Store) -> None:
        passages = {
            "de": "Die Sicherungen werden bei uns für 35 Tage aufbewahrt.",
            "ja": "有給休暇は年に28日です。サーバーの停止はできません。",
            "zh": "请重启服务器。",
            "en": "Backups are kept for a month.",
        }
        store.replace([make_entry(name, [text], title="t") for name, text in passages.items()])
        for query, found in (
            ("Wie lange wird eine Sicherung aufbewahrt?", {"fake:de"}),
            ("Sicherungen", {"fake:de"}),
            ("休暇は何日ですか？", {"fake:ja"}),
            ("が", set()),
            ("サーバー", {"fake:ja"}),
            ("服务器", {"fake:zh"}),
            ("Wo finde ich den Backup?", {"fake:en"}),
        ):
            assert {hit.chunk.document_id for hit in store.search(query, None, 5, 0.0)} == found, query

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

    def test_filters_act_before_the_limit(self, store: Store) -> None:
        crowd = [make_entry(f"c{number}", ["needle"], source_id="crowd", title="needle") for number in range(40)]
        few = [make_entry(f"f{number}", ["needle among hay"], source_id="it's") for number in range(3)]
        store.replace([*crowd, *few])
        for alpha in (0.0, 0.5, 1.0):
            hits = store.search("needle", embed("needle"), 10, alpha, sources=["it's"])
            assert {hit.chunk.document_id for hit in hits} == {"it's:f0", "it's:f1", "it's:f2"}
            assert len(store.search("needle", embed("needle"), 50, alpha, sources=["it's", "crowd"])) == 43
            assert store.search("needle", embed("needle"), 10, alpha, sources=["unknown"]) == []

    def test_nobody_sees_what_is_not_for_them(self, store: Store) -> None:
        for name, audiences in {"p": (PUBLIC,), "a": ("team-a",), "ab": ("team-a", "o'b"), "none": ()}.items():
            store.replace([make_entry(name, ["secret plan"], audiences=audiences)])

        def seen(alpha: float, *audiences: str) -> set[str]:
            hits = store.search("secret plan", embed("secret plan"), 10, alpha, audiences=audiences)
            return {hit.chunk.document_id.removeprefix("fake:") for hit in hits}

        for _ in ("before", "after"):
            for alpha in (0.0, 0.5, 1.0):
                assert seen(alpha, PUBLIC) == {"p"}
                assert seen(alpha, "team-a") == {"a", "ab"}
                assert seen(alpha, "o'b", PUBLIC) == {"ab", "p"}
                assert seen(alpha, "nobody") == set()
                assert seen(alpha) == set()
            store.optimize()

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
        assert_holds(store, [make_entry("d0", ["rewritten"], fingerprint="2"), *entries[1:50]])
        assert texts(store.search("rewritten", None, 5, 0.0)) == ["rewritten"]
        assert store.search("99", None, 5, 0.0) == []
