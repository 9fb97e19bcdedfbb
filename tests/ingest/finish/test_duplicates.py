"""Pages that are there twice, at the seam: what is shown and hidden after each sync, and what that cost."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any, ClassVar

import pytest
from lore.declarations import Duplicates
from lore.errors import ConfigurationError, LoreError, RemovalFloorError
from lore.ingest.baseline.baseline import Baseline
from lore.ingest.finish.duplicates import originals_of
from lore.ingest.finish.similarity import signature
from lore.ingest.finish.visibility import as_hidden, as_shown, is_hidden
from lore.ingest.report import SyncReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.ingest.versions import VersionBuilder, outdated_ids
from lore.protocols import Store, Versions
from lore.redact.redactor import Redactor
from lore.stores.lancedb.folder import VersionTables
from lore.stores.lancedb.store import LanceStore
from lore.stores.lancedb.versions import LanceVersions
from lore.types import Batch, Chunk, Document, DocumentInfo, Recipe

from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.syncs import make_sync

BUDGET = 300
VOCABULARY = [f"word{number}" for number in range(3_000)]
LANGUAGES = Duplicates(prefer=("/en/",), variants=("/(en|de|fr)/",))
VERSIONS = Duplicates(prefer=("/stable/",), variants=(r"/(stable|v?\d+\.\d+)/",))
TEXTS = Duplicates()


def prose(seed: int, words: int = 300) -> str:
    return " ".join(random.Random(seed).choices(VOCABULARY, k=words))


def page(name: str, text: str | int, **changes: object) -> Document:
    """A page at an address; its text is told by a number, or given."""
    return make_document(name, prose(text) if isinstance(text, int) else text, **changes)


def near(seed: int, change: str = "changed") -> str:
    """Nearly the text of that number."""
    words = prose(seed).split()
    words[200] = change
    return " ".join(words)


class House:
    """An index with several versions, and a source that is synced under changing declarations."""

    def __init__(self, folder: Path, store: type[LanceStore] = LanceStore) -> None:
        self.folder = folder
        self.embedder = FakeEmbedder()
        uri = str(folder / "index")
        self.store: Store = store(uri, self.recipe(BUDGET))
        self.versions: Versions = LanceVersions(uri)
        self.converted: list[str] = []

    def recipe(self, budget: int) -> Recipe:
        return Recipe(self.embedder.name, self.embedder.dimensions, MarkdownSplitter(budget).name)

    def builders(self) -> list[VersionBuilder | LoreError]:
        there = self.versions.all()
        return [
            VersionBuilder(
                version,
                self.versions.open(version.number),
                self.embedder,
                MarkdownSplitter(int(version.recipe.splitter.rpartition(":")[2])),
            )
            for version in (there if len(there) > 1 else ())
        ]

    def new_sync(self, rule: Duplicates | None, documents: Sequence[Document], **changes: Any) -> Sync:
        def convert(document: Document) -> Document:
            self.converted.append(document.id)
            return document

        source = changes.pop("source", None) or FakeSource([Batch(tuple(documents))])
        values = {"staging_uri": str(self.folder / "staging"), "versions": self.builders, **changes}
        splitter = values.pop("splitter", MarkdownSplitter(BUDGET))
        return make_sync(source, self.store, self.embedder, splitter, convert, duplicates=rule, **values)

    def sync(self, rule: Duplicates | None, *documents: Document, **changes: Any) -> SyncReport:
        self.embedder.embedded.clear()
        self.converted.clear()
        report = self.new_sync(rule, documents, **changes).run()
        self.check()
        return report

    def check(self) -> None:
        """Assert that each version holds the passages of what is shown, and only these."""
        kept = self.store.document_fingerprints()
        for number in [version.number for version in self.versions.all()]:
            store = self.versions.open(number)
            assert not outdated_ids(store)
            counts = store.count()
            assert counts.chunks == counts.recorded_chunks
            for name, mark in kept.items():
                assert bool(store.chunks(name)) != is_hidden(mark), name

    def shown(self) -> set[str]:
        return {
            name.partition(":")[2]
            for name, mark in self.store.document_fingerprints("fake").items()
            if not is_hidden(mark)
        }

    def duplicates(self) -> dict[str, str]:
        """Hidden page → page in its place, as the kept documents say."""
        marks = self.store.document_fingerprints("fake")
        return {
            document.id.partition(":")[2]: document.metadata["duplicate_of"].partition(":")[2]
            for document in self.store.documents("fake")
            if is_hidden(marks[document.id])
        }

    def content(self) -> dict[str, Any]:
        """All that is held, to be compared."""
        marks = self.store.fingerprints()
        return {
            document.id: (document, marks[document.id], [chunk.id for chunk in self.store.chunks(document.id)])
            for document in self.store.documents()
        }


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


# -------------------------------------------------------------------------------------------- what counts as one


def test_two_versions_of_a_page_are_one(house: House) -> None:
    report = house.sync(VERSIONS, page("1.10/setup", 1), page("stable/setup", 2), page("1.10/only-here", 3))
    assert house.duplicates() == {"1.10/setup": "stable/setup"}
    assert house.shown() == {"stable/setup", "1.10/only-here"}
    assert (report.status, report.new, report.duplicates.hidden, report.duplicates.newly_hidden) == ("ok", 3, 1, 1)
    hits = house.store.search("word1 word2 word3", house.embedder.embed_query(prose(1)), 100, 0.5)
    assert {hit.chunk.document_id for hit in hits} == {"fake:stable/setup", "fake:1.10/only-here"}


def test_two_languages_of_a_page_are_one_whatever_their_text(house: House) -> None:
    house.sync(LANGUAGES, page("de/setup", "Einrichten."), page("en/setup", "Setting up."), page("en/other", "Other."))
    assert house.duplicates() == {"de/setup": "en/setup"}


def test_the_first_language_may_have_no_part_of_its_own(house: House) -> None:
    rule = Duplicates(variants=("/((?:de|fr)/)",))
    house.sync(rule, page("setup", 1), page("de/setup", 2), page("fr/setup", 3), page("fr/more", 4))
    assert house.duplicates() == {"de/setup": "setup", "fr/setup": "setup"}


def test_languages_and_versions_together(house: House) -> None:
    rule = Duplicates(prefer=("/stable/", "/en/"), variants=("/(en|de)/", r"/(stable|\d+\.\d+)/"))
    names = ("de/1.9/a", "en/1.9/a", "de/stable/a", "en/stable/a", "de/stable/b", "en/1.9/b", "de/1.9/c", "de/1.10/c")
    house.sync(rule, *(page(name, number) for number, name in enumerate(names)))
    assert house.shown() == {"en/stable/a", "de/stable/b", "de/1.10/c"}


def test_nearly_equal_texts_are_one(house: House) -> None:
    house.sync(Duplicates(prefer=("/guide/",)), page("copy", near(1)), page("guide/long-name", 1), page("other", 2))
    assert house.duplicates() == {"copy": "guide/long-name"}


def test_a_copy_is_hidden_behind_what_its_translation_stands_behind(house: House) -> None:
    rule = replace_rule(LANGUAGES, prefer=("/new/", "/en/"))
    house.sync(rule, page("new/en/a", 1), page("en/a-copy", near(1)), page("de/a-copy", 2))
    assert house.duplicates() == {"en/a-copy": "new/en/a", "de/a-copy": "new/en/a"}


def test_short_pages_are_one_only_when_they_are_equal(house: House) -> None:
    stub, other = "Coming soon, in the next release of it.", "Coming soon, in the next version of it."
    house.sync(
        TEXTS,
        page("a", stub, title="A"),
        page("b", stub, title="B"),
        page("c", other, title="A"),
        page("d", stub + "!", title="A"),
    )
    assert house.duplicates() == {"d": "a"}


def test_empty_pages_are_never_one(house: House) -> None:
    house.new_sync(TEXTS, [page("a", "", title=""), page("b", " \n", title="")]).run()
    assert not any(map(is_hidden, house.store.document_fingerprints().values()))


def test_texts_are_not_compared_where_that_is_declared(house: House) -> None:
    house.sync(replace_rule(VERSIONS, similarity=None), page("a", 1), page("b", 1), page("stable/c", 1))
    assert house.duplicates() == {}
    assert all("text_signature" not in document.metadata for document in house.store.documents())


def test_readers_of_different_audiences_keep_their_pages(house: House) -> None:
    pages = [page("en/a", 1, audiences=("staff",)), page("de/a", 1), page("de/b", 2), page("en/b", 3)]
    house.sync(LANGUAGES, *pages)
    assert house.duplicates() == {"de/b": "en/b"}


@pytest.mark.parametrize("expression", ["/((?:x|x)+)/y", "/((?:x|xx)+)/y"])
def test_an_expression_that_would_never_end_is_an_error_that_says_so(expression: str) -> None:
    pages = [outline(f"{'x' * 100}/{number}") for number in range(3)]
    with pytest.raises(ConfigurationError, match="takes too long") as caught:
        originals_of(pages, Duplicates(variants=(expression,)), {}, variants_seconds=0.05)
    assert expression in caught.value.message


def test_however_many_stars_a_piece_has_an_address_is_gone_through_once() -> None:
    rule = Duplicates(prefer=("*/".join("/" for _ in range(60)) + "z", "/*/a/*b", "b*a"))
    pages = [outline("/" * 2_000), outline("x/a/b", text=prose(1)), outline("longer/x/b", text=prose(1))]
    assert originals_of(pages, rule, {}) == {"fake:longer/x/b": "fake:x/a/b"}


def test_equal_addresses_are_not_variants(house: House) -> None:
    url = "https://docs.example.com/en/list"
    house.sync(LANGUAGES, page("one", 1, url=url), page("two", 2, url=url))
    assert house.duplicates() == {}


def test_pages_without_an_address_are_told_by_their_ids(house: House) -> None:
    house.sync(LANGUAGES, page("de/a.md", 1, url=""), page("en/a.md", 2, url=""))
    assert house.duplicates() == {"de/a.md": "en/a.md"}


def test_without_the_key_nothing_is_hidden_or_signed(house: House) -> None:
    report = house.sync(None, page("en/a", 1), page("de/a", 1))
    assert house.duplicates() == {} and "hidden" not in report.summary()
    assert all(document.metadata == {} for document in house.store.documents())


# ----------------------------------------------------------------------------------------------- which one is shown


def replace_rule(rule: Duplicates, **changes: Any) -> Duplicates:
    return Duplicates(**{**rule.model_dump(), **changes})


def outline(name: str, text: str = "", **changes: Any) -> DocumentInfo:
    values = {"url": f"https://docs.example.com/{name}", "title": "", "audiences": ("public",)}
    metadata = {"text_signature": signature("", text)} if text else {}
    return DocumentInfo(id=f"fake:{name}", metadata=metadata, **(values | changes))


@pytest.mark.parametrize(
    ("names", "best"),
    [
        (("1.9/a", "1.10/a"), "1.10/a"),
        (("1.10/a", "1.10.2/a", "1.9/a"), "1.10.2/a"),
        (("v1/a", "v3/a", "v2/a"), "v3/a"),
        (("a", "v3/a"), "a"),
        (("a-long-name", "name"), "name"),
        (("b", "a"), "a"),
    ],
)
def test_ties_are_decided_by_version_length_and_alphabet(names: tuple[str, ...], best: str) -> None:
    for order in permutations(names):
        winners = originals_of([outline(name, prose(1)) for name in order], TEXTS, {})
        assert winners == {f"fake:{name}": f"fake:{best}" for name in names if name != best}


def test_preferred_pieces_are_no_patterns_but_for_the_star() -> None:
    rule = Duplicates(prefer=("/a.b/*/(x)",))
    names = ("aab/en/(x)", "a.b/en/(x)/and/so/on", "s")
    winners = originals_of([outline(name, prose(1)) for name in names], rule, {})
    assert set(winners.values()) == {"fake:a.b/en/(x)/and/so/on"}


def test_small_differences_do_not_add_up() -> None:
    """A is like B and B like C, but A is not like C: A and C are shown, in whatever order they come."""
    words = prose(1, 400).split()
    later, last = list(words), list(words)
    for place in (50, 100, 150):
        later[place] = last[place] = "changed"
    for place in (250, 300, 350):
        last[place] = "changed"
    rule = Duplicates(similarity=0.9)
    texts = {"aa": " ".join(words), "bbb": " ".join(later), "cccc": " ".join(last)}
    for order in permutations(texts):
        assert originals_of([outline(name, texts[name]) for name in order], rule, {}) == {"fake:bbb": "fake:aa"}
    preferring = replace_rule(rule, prefer=("/bbb",))
    assert originals_of([outline(name, texts[name]) for name in texts], preferring, {}) == {
        "fake:aa": "fake:bbb",
        "fake:cccc": "fake:bbb",
    }


def test_the_decision_does_not_depend_on_the_order(tmp_path: Path) -> None:
    names = [(part, number) for number in range(20) for part in ("en", "de", "1.2", "x")]
    outlines = [outline(f"{part}/p{number}", near(number, part)) for part, number in names]
    expected = originals_of(outlines, LANGUAGES, {})
    assert len(expected) == 60 and not expected.keys() & set(expected.values())
    for seed in range(10):
        random.Random(seed).shuffle(outlines)
        assert originals_of(outlines, LANGUAGES, {}) == expected


def test_pages_of_different_shards_are_compared(house: House) -> None:
    pages = [page(f"{part}/p{number}", f"{part} {number}.") for part in ("en", "de") for number in range(200)]
    sync = house.new_sync(LANGUAGES, pages)
    assert len(sync.shards(sync.extract("counted"))) == 2
    assert sync.run().duplicates.hidden == 200
    assert house.duplicates() == {f"de/p{number}": f"en/p{number}" for number in range(200)}


# --------------------------------------------------------------------------------------------------- later syncs


def test_an_unchanged_sync_converts_and_embeds_nothing(house: House) -> None:
    pages = [page("en/a", 1), page("de/a", 2), page("copy-of-the-other", near(3)), page("other", 3)]
    house.sync(LANGUAGES, *pages)
    before = house.content()
    report = house.sync(LANGUAGES, *pages)
    assert (report.unchanged, report.changed, report.embedded_texts, report.embedding_calls) == (4, 0, 0, 0)
    assert house.converted == [] and house.embedder.embedded == [] and house.content() == before
    assert (report.duplicates.hidden, report.duplicates.newly_hidden, report.duplicates.shown_again) == (2, 0, 0)
    assert house.new_sync(LANGUAGES, pages).run().chunks == 0


def test_another_preference_switches_without_asking_the_source(house: House) -> None:
    pages = [page("en/a", 1), page("de/a", 2)]
    house.sync(LANGUAGES, *pages)
    german = replace_rule(LANGUAGES, prefer=("/de/",))
    report = house.sync(german, source=FakeSource([], listing=[document.id for document in pages]))
    assert house.duplicates() == {"en/a": "de/a"} and house.converted == []
    assert (report.duplicates.newly_hidden, report.duplicates.shown_again, report.changed) == (1, 1, 0)
    assert set(house.embedder.embedded) == {
        chunk.embedded_text for chunk in MarkdownSplitter(BUDGET).split(pages[1])
    }, "its vectors went with its passages"
    assert "duplicate_of" not in house.store.document("fake:de/a").metadata  # type: ignore[union-attr]
    assert "1 hidden as duplicates, 1 shown again" in report.summary()


def test_a_page_is_shown_again_when_the_one_in_its_place_is_gone(house: House) -> None:
    pages = [page("en/a", 1), page("de/a", 2), page("en/b", 3)]
    house.sync(LANGUAGES, *pages)
    report = house.sync(LANGUAGES, *pages[1:])
    assert house.shown() == {"de/a", "en/b"} and house.converted == []
    assert (report.removed, report.duplicates.hidden, report.duplicates.shown_again) == (1, 0, 1)


def test_the_shown_page_and_its_twin_may_go_together(house: House) -> None:
    house.sync(LANGUAGES, page("en/a", 1), page("de/a", 2), page("fr/a", 3), page("en/b", 4), page("en/c", 5))
    report = house.sync(LANGUAGES, page("fr/a", 3), page("en/b", 4), page("en/c", 5))
    assert (report.removed, report.duplicates.shown_again) == (2, 1)
    assert house.shown() == {"fr/a", "en/b", "en/c"} and house.duplicates() == {}


@pytest.mark.parametrize("rule", [LANGUAGES, replace_rule(TEXTS, prefer=("/en/",))])
def test_a_page_that_becomes_private_gives_its_place_back(house: House, rule: Duplicates) -> None:
    """Nobody may lose a page behind one that only others see, nor see one of theirs in its place."""
    private = page("en/a", 1, audiences=("staff",))
    house.sync(rule, page("en/a", 1), page("de/a", 1))
    assert house.duplicates() == {"de/a": "en/a"}
    house.sync(rule, private, page("de/a", 1))
    assert house.shown() == {"en/a", "de/a"}
    assert {chunk.audiences for chunk in house.store.chunks("fake:en/a")} == {("staff",)}
    assert {chunk.audiences for chunk in house.store.chunks("fake:de/a")} == {("public",)}
    house.sync(rule, private, page("de/a", 1, audiences=("staff",)))
    assert house.duplicates() == {"de/a": "en/a"}
    house.sync(rule, private, page("de/a", 1))
    assert house.shown() == {"en/a", "de/a"}


def test_hidden_pages_do_not_count_as_removed(house: House) -> None:
    pages = [page(f"{part}/a", 1) for part in ("en", "de", "fr")]
    house.sync(LANGUAGES, *pages, max_removed_share=0.0)
    assert house.sync(LANGUAGES, *pages, max_removed_share=0.0).removed == 0
    with pytest.raises(RemovalFloorError, match="lose 1 of its 3"):
        house.sync(LANGUAGES, *pages[1:], max_removed_share=0.0)
    assert house.shown() == {"en/a"}, "nothing was removed, and so nothing else takes its place"


def test_what_is_edited_while_hidden_is_not_embedded_as_long_as_it_stays_so(house: House) -> None:
    english, german = page("en/a", 1), page("de/a", 2)
    house.sync(LANGUAGES, english, german)
    report = house.sync(LANGUAGES, english, replace(german, text=prose(5)))
    assert house.duplicates() == {"de/a": "en/a"} and house.converted == ["fake:de/a"]
    assert (report.changed, report.embedded_texts) == (1, 0)
    assert house.store.document("fake:de/a").text == prose(5)  # type: ignore[union-attr]


@pytest.mark.parametrize("edit", ["a", "copy"])
def test_a_page_is_shown_again_when_either_is_edited_to_be_another(house: House, edit: str) -> None:
    pages = {"a": page("a", 1), "copy": page("copy", near(1))}
    house.sync(TEXTS, *pages.values())
    assert house.duplicates() == {"copy": "a"}
    pages[edit] = replace(pages[edit], text=prose(7))
    house.sync(TEXTS, *pages.values())
    assert house.shown() == {"a", "copy"} and house.converted == [f"fake:{edit}"]
    assert house.store.search(prose(7)[:50], None, 5, 0.0)[0].chunk.document_id == f"fake:{edit}"


def test_an_incremental_source_need_not_give_the_pages_again(house: House) -> None:
    pages = [page("en/a", 1), page("de/a", 2), page("en/b", 3)]
    house.sync(LANGUAGES, *pages)
    listing = [document.id for document in pages[1:]]
    house.sync(LANGUAGES, source=FakeSource([Batch((page("en/c", 4),), "two")], listing=[*listing, "fake:en/c"]))
    assert house.shown() == {"de/a", "en/b", "en/c"}


def test_the_key_is_turned_on_and_off_without_conversion(house: House) -> None:
    pages = [page("a", 1), page("copy", near(1)), page("other", 2)]
    house.sync(None, *pages)
    report = house.sync(TEXTS, *pages)
    assert house.duplicates() == {"copy": "a"} and house.converted == house.embedder.embedded == []
    assert (report.unchanged, report.changed) == (3, 0)
    assert house.sync(TEXTS, *pages).chunks == 0, "the signatures are kept now"
    report = house.sync(None, *pages)
    assert house.duplicates() == {} and house.shown() == {"a", "copy", "other"} and house.converted == []
    assert report.duplicates.shown_again == 1


def test_what_a_page_says_of_itself_decides_nothing(house: House) -> None:
    forged = {"duplicate_of": "fake:b", "text_signature": signature("", prose(2))}
    pages = [page("a-longer-name", 1, metadata=forged), page("b", 2)]
    for rule in (None, TEXTS, TEXTS):
        house.sync(rule, *pages)
        assert house.shown() == {"a-longer-name", "b"}


def test_a_document_that_fails_later_can_be_shown_again(house: House) -> None:
    pages = [page("en/a", 1), page("de/a", 2), *(page(f"en/f{number}", 10 + number) for number in range(30))]
    house.sync(LANGUAGES, *pages)

    def failing(document: Document) -> Document:
        raise ZeroDivisionError

    changed = [replace(pages[1], text="Now unreadable."), *pages[2:]]
    sync = house.new_sync(LANGUAGES, changed)
    sync._preparer._convert = failing
    assert sync.run().status == "warning"
    house.check()
    assert "de/a" in house.shown()


class FailingSplitter(MarkdownSplitter):
    """Fails at the German page."""

    def split(self, document: Document) -> list[Chunk]:
        if document.id == "fake:de/a":
            raise ZeroDivisionError
        return super().split(document)


def test_nothing_is_hidden_behind_a_page_whose_passages_cannot_be_made(house: House) -> None:
    pages = [page("en/a", 1), page("de/a", 2)]
    house.sync(LANGUAGES, *pages)
    german, failing = replace_rule(LANGUAGES, prefer=("/de/",)), FailingSplitter(BUDGET)
    report = house.sync(german, *pages, splitter=failing, max_failed_share=1.0)
    assert report.status == "warning" and [failure.document_id for failure in report.failures] == ["fake:de/a"]
    assert house.shown() == {"en/a"}
    house.sync(german, *pages)
    assert house.shown() == {"de/a"}


def test_a_hidden_page_that_is_gone_costs_nothing(house: House) -> None:
    pages = [page("en/a", 1), page("de/a", 2)]
    house.sync(LANGUAGES, *pages)
    report = house.sync(LANGUAGES, pages[0])
    assert (report.removed, report.chunks, report.embedding_calls) == (1, 0, 0)
    assert house.store.count().documents == 1


def test_sources_are_apart(house: House) -> None:
    house.sync(LANGUAGES, page("en/a", 1))
    other = make_document("de/a", prose(1), source_id="other", url="https://docs.example.com/de/a")
    house.sync(LANGUAGES, source=FakeSource([Batch((other,))], id="other"))
    assert not any(map(is_hidden, house.store.document_fingerprints().values()))


# -------------------------------------------------------------------------------------- versions and baselines


def test_versions_hide_and_show_by_themselves(house: House) -> None:
    hide_and_show_in_two_versions(house)


def hide_and_show_in_two_versions(house: House) -> None:
    """Every change of what is shown, with another version of the index beside the live one."""
    pages = [page("en/a", 1), page("de/a", 2), page("en/b", 3)]
    house.sync(LANGUAGES, *pages)
    version = house.versions.create(house.recipe(700))
    builder = next(one for one in house.builders() if isinstance(one, VersionBuilder) and one.version.number == 2)
    builder.catch_up()
    house.versions.save(replace(version, status="ready"))
    house.check()
    house.sync(replace_rule(LANGUAGES, prefer=("/de/",)), *pages)
    house.sync(LANGUAGES, *pages[1:])
    house.sync(None, *pages)
    assert house.shown() == {"en/a", "de/a", "en/b"}


@pytest.mark.parametrize("redaction", ["secrets", "secrets+contacts"])
def test_hidden_pages_go_through_a_baseline(tmp_path: Path, redaction: str) -> None:
    houses = []
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        houses.append(House(tmp_path / name))
    old, new = houses
    pages = [page("en/a", 1), page("de/a", 2), page("other", 3), page("the-other-one", near(3))]
    old.sync(LANGUAGES, *pages)

    def baseline(house: House, redaction: str) -> Baseline:
        staging = str(house.folder / "staging")
        redactor = Redactor(redaction)  # type: ignore[arg-type]
        return Baseline(house.store, house.embedder, MarkdownSplitter(BUDGET), staging_uri=staging, redactor=redactor)

    file = tmp_path / "baseline.parquet"
    baseline(old, "secrets").export(file)
    report = baseline(new, redaction).load(file)
    assert report.embedded_texts == 0 and report.documents == 4
    new.check()
    assert new.duplicates() == old.duplicates() == {"de/a": "en/a", "the-other-one": "other"}
    synced = new.sync(LANGUAGES, *pages, redactor=Redactor(redaction))  # type: ignore[arg-type]
    assert synced.duplicates.hidden == 2 and synced.duplicates.newly_hidden == 0 and synced.embedded_texts == 0
    assert new.duplicates() == old.duplicates()


def test_marks_keep_their_strategy() -> None:
    for mark in ("abc", "abc+summary-1:4000:x~y", "imported:abc"):
        assert not is_hidden(mark) and is_hidden(as_hidden(mark)) and as_hidden(as_hidden(mark)) == as_hidden(mark)
        assert as_shown(as_hidden(mark)) == as_shown(mark) == mark
        assert as_hidden(mark).partition("+")[2] == mark.partition("+")[2]


# ------------------------------------------------------------------------------------------------------ reports


def test_the_report_names_what_was_hidden_now_before_the_rest(house: House) -> None:
    pages = [page(f"{part}/p{number}", f"{part} {number}.") for part in ("en", "de") for number in range(60)]
    house.new_sync(LANGUAGES, pages).run()
    report = house.new_sync(LANGUAGES, [*pages, page("en/zz", 100), page("fr/zz", 101)]).run()
    assert report.duplicates.hidden == 61 and report.duplicates.newly_hidden == 1
    assert list(report.duplicates.lines(10)) == ["fake:fr/zz is hidden as a duplicate of fake:en/zz"]
    assert "0 failed, 61 hidden as duplicates; " in report.summary()
    state = house.store.state("fake")
    assert state is not None and state.report["duplicates"]["hidden"] == 61
    first = house.new_sync(LANGUAGES, [*pages, *(page(f"fr/p{number}", f"fr {number}.") for number in range(60))]).run()
    assert len(list(first.duplicates.lines(10))) == 11
    assert first.duplicates.hidden == 120 and len(first.duplicates.named) == 100


# -------------------------------------------------------------------------------------------------------- kills


class CutOff(Exception):
    """Stands for a kill: nothing in Lore catches it."""


class MortalTable:
    """A table that dies before its write after `left[0]` are done."""

    def __init__(self, table: Any, left: list[int]) -> None:
        self._table, self._left = table, left

    def __getattr__(self, name: str) -> Any:
        if name in ("merge_insert", "delete", "update", "add"):
            if self._left[0] <= 0:
                raise CutOff
            self._left[0] -= 1
        return getattr(self._table, name)


class MortalStore(LanceStore):
    """Dies between any two of the commits that its writes are made of."""

    left: ClassVar[list[int]] = [10**9]

    def _writable(self) -> VersionTables:
        tables = super()._writable()
        names = ("state", "documents", "indexed", "chunks")
        return replace(tables, **{name: MortalTable(getattr(tables, name), self.left) for name in names})


PAGES = [page("en/a", 1), page("de/a", 2), page("en/b", 3), page("de/b", 4), page("c", 5), page("c-copy", near(5))]
SCENES: list[tuple[str, Duplicates | None, Callable[[], Sequence[Document]]]] = [
    ("hides", LANGUAGES, lambda: PAGES),
    ("switches", replace_rule(LANGUAGES, prefer=("/de/",)), lambda: PAGES),
    ("loses the winners", LANGUAGES, lambda: PAGES[1:2] + PAGES[3:]),
    ("is turned off", None, lambda: PAGES),
]


@pytest.mark.parametrize(
    ("name", "rule", "pages"),
    [
        pytest.param(*scene, id=scene[0], marks=[pytest.mark.slow] if number else [])
        for number, scene in enumerate(SCENES)
    ],
)
def test_a_run_that_is_cut_off_anywhere_is_completed_by_the_next(
    tmp_path: Path, name: str, rule: Duplicates | None, pages: Callable[[], Sequence[Document]]
) -> None:
    """The second run is given nothing new, as by a source that is read from a cursor."""
    before = None if name == "hides" else LANGUAGES
    (tmp_path / "undisturbed").mkdir()
    undisturbed = House(tmp_path / "undisturbed")
    undisturbed.sync(before, *PAGES)
    undisturbed.sync(rule, *pages())
    expected = undisturbed.content()
    (tmp_path / "before").mkdir()
    House(tmp_path / "before").new_sync(before, PAGES).run()
    for number in range(100):
        house = House(shutil.copytree(tmp_path / "before", tmp_path / str(number)), MortalStore)
        MortalStore.left[0] = number
        try:
            house.new_sync(rule, pages()).run()
        except CutOff:
            pass
        else:
            break
        finally:
            MortalStore.left[0] = 10**9
        for group in (("en/a", "de/a"), ("en/b", "de/b"), ("c", "c-copy")):
            assert any(house.store.chunks(f"fake:{one}") for one in group), f"{group} is missing after {number} commits"
        house.new_sync(rule, [], source=FakeSource([], listing=[document.id for document in pages()])).run()
        assert house.content() == expected, f"cut off after {number} commits"
    assert number >= 5
