"""Duplicates from sync to sync: pages that come, change and go, baselines, and runs that are cut off."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from lore.declarations import Duplicates
from lore.errors import RemovalFloorError
from lore.ingest.baseline.baseline import Baseline
from lore.ingest.finish.similarity import signature
from lore.ingest.finish.visibility import as_hidden, as_shown, is_hidden
from lore.ingest.split.splitter import MarkdownSplitter
from lore.redact.redactor import Redactor
from lore.stores.lancedb.folder import VersionTables
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Chunk, Document

from tests.fakes import FakeSource, make_document
from tests.ingest.finish.duplicates_setup import (
    BUDGET,
    LANGUAGES,
    TEXTS,
    House,
    hide_and_show_in_two_versions,
    near,
    page,
    prose,
    replace_rule,
)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_pages_of_different_shards_are_compared(house: House) -> None:
    pages = [page(f"{part}/p{number}", f"{part} {number}.") for part in ("en", "de") for number in range(200)]
    sync = house.new_sync(LANGUAGES, pages)
    assert len(sync.shards(sync.extract("counted"))) == 2
    assert sync.run().duplicates.hidden == 200
    assert house.duplicates() == {f"de/p{number}": f"en/p{number}" for number in range(200)}


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


def test_versions_hide_and_show_by_themselves(house: House) -> None:
    hide_and_show_in_two_versions(house)


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
