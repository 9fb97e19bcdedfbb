"""What is remembered of a site, and how much room it takes."""

from __future__ import annotations

import random

import pytest
from lore.sources.site.records import MAX_CURSOR, PageRecord, PageRecords, PageState

ORIGIN = "https://docs.example.com"


def pages_of(count: int, etag_digits: int = 32) -> PageRecords:
    rng = random.Random(1)
    pages = PageRecords(1_700_000_000)
    for number in range(count):
        key = f"/docs/section-{number % 97}/a-page-with-a-name-{number}.html"
        etag = f'"{rng.getrandbits(4 * etag_digits):x}"'
        digest = f"{rng.getrandbits(72):018x}"[:12]
        pages.entries[key] = PageRecord(ORIGIN + key, PageState.DOCUMENT, number % 5, etag, digest, done=True)
    return pages


def test_a_cursor_gives_back_what_it_was_made_of():
    pages = pages_of(3)
    pages.entries["/a"] = PageRecord(f"{ORIGIN}/a/", PageState.ALIAS, 2, 'W/"x"', "abc", alias="/b", done=True)
    pages.entries["/b"] = PageRecord(f"{ORIGIN}/b", PageState.DOCUMENT, twin=f"{ORIGIN}/b.md")
    pages.entries["/ü"] = PageRecord(f"{ORIGIN}/%C3%BC")
    read = PageRecords.from_cursor(pages.to_cursor("s", ORIGIN), "s", ORIGIN)
    assert read is not None
    assert read.started == pages.started
    assert read.entries == pages.entries
    assert PageRecords.from_cursor(pages.to_cursor("s", ORIGIN), "t", ORIGIN) is None


def test_a_page_that_failed_is_tried_again_when_the_round_goes_on():
    pages = PageRecords(1)
    pages.entries["/a"] = PageRecord(f"{ORIGIN}/a", PageState.FAILED, done=True)
    read = PageRecords.from_cursor(pages.to_cursor("s", ORIGIN), "s", ORIGIN)
    assert read is not None
    assert not read.entries["/a"].done


def test_five_thousand_pages_take_a_few_hundred_kilobytes():
    assert len(pages_of(5000).to_cursor("s", ORIGIN)) < 350_000


def test_a_cursor_has_a_bound():
    cursor = pages_of(30_000, etag_digits=190).to_cursor("s", ORIGIN)
    assert len(cursor) <= MAX_CURSOR
    read = PageRecords.from_cursor(cursor, "s", ORIGIN)
    assert read is not None
    assert len(read.entries) == 30_000
    assert 0 < sum(bool(entry.conditions) for entry in read.entries.values()) < 30_000


@pytest.mark.parametrize(
    ("validator", "conditions"),
    [
        ('"x"', {"If-None-Match": '"x"'}),
        ('W/"x"', {"If-None-Match": 'W/"x"'}),
        ("Wed, 01 May 2024 10:00:00 GMT", {"If-Modified-Since": "Wed, 01 May 2024 10:00:00 GMT"}),
        ("", {}),
    ],
)
def test_conditions(validator, conditions):
    assert PageRecord(ORIGIN, PageState.DOCUMENT, validator=validator).conditions == conditions
    assert PageRecord(ORIGIN, PageState.GONE, validator=validator).conditions == {}
