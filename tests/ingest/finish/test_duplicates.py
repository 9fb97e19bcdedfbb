"""Duplicate pages: versions, languages, nearly equal texts, and who is shown."""

from __future__ import annotations

import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from lore.declarations import Duplicates
from lore.errors import ConfigurationError
from lore.ingest.finish.duplicates import originals_of
from lore.ingest.finish.similarity import signature
from lore.ingest.finish.visibility import is_hidden
from lore.types import DocumentInfo

from tests.ingest.finish.duplicates_setup import LANGUAGES, TEXTS, VERSIONS, House, near, page, prose, replace_rule


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


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
