"""Websites that are down, slow or wrong: no page is lost, and none is taken for deleted."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest
from lore.errors import SourceError

from tests.contracts.source import failed, ids
from tests.servers.site import Fault, Resource, SiteServer, links, page, sitemap
from tests.sources.site.sites import documents, keys, read, small_site, source_of

BOMB = gzip.compress(b"\0" * 30_000_000, mtime=0)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("/c", status=500),
        Fault("/c", status=503, headers={"Retry-After": "1"}),
        Fault("/c", cut=True),
        Fault("/c", claim=100),
        Fault("/c", headers={"Content-Encoding": "gzip"}),
        Fault("/c", drip=0.05),
    ],
)
def test_what_fails_for_the_moment_is_tried_again(fault):
    waits: list[float] = []
    with SiteServer(small_site(), faults=[fault]) as site:
        assert "/c" in keys(source_of(site, waits=waits, timeout=0.6))
    assert len(waits) == 1


@pytest.mark.parametrize("fault", [Fault("/c", status=502), Fault("/c", cut=True), Fault("/c", claim=9)])
def test_a_page_that_stays_broken_fails_alone_and_is_not_gone(fault):
    with SiteServer(small_site()) as site:
        _, cursor = read(source_of(site))
        site.faults = [replace(fault, times=99)]
        site.pages["/c"] = page("C, changed")
        source = source_of(site)
        batches = list(source.read(cursor))
        assert (ids(batches), failed(batches)) == ([], ["docs:/c"])
        (reason,) = [failure.reason for batch in batches for failure in batch.failures]
        assert reason.startswith(f"{site.url}/c") and reason.count(site.url) == 1
        assert "docs:/c" in list(source.list_ids())
        site.faults = []
        assert keys(source_of(site), batches[-1].cursor) == {"/c"}


@pytest.mark.parametrize("first", ["/", "/a"])
def test_a_server_that_is_down_is_no_empty_site(first):
    with SiteServer(small_site()) as site:
        _, cursor = read(source_of(site))
        site.faults = [Fault(first, status=503, times=999)]
        site.faults += [Fault(f"/{name}", status=503, times=999) for name in "bcdefgh"]
        source = source_of(site)
        with pytest.raises(SourceError) as caught:
            documents(source, cursor)
        assert caught.value.retryable
        with pytest.raises(SourceError):
            list(source.list_ids())


def test_a_server_that_is_not_there_is_an_error():
    with SiteServer() as site:
        pass
    with pytest.raises(SourceError, match="failed 2 times") as caught:
        documents(source_of(site))
    assert caught.value.retryable


def test_waits_that_the_server_asks_for_are_waited_or_end_the_run():
    waits: list[float] = []
    with SiteServer(small_site(), faults=[Fault("/c", status=429, headers={"Retry-After": "7"})]) as site:
        assert len(documents(source_of(site, waits=waits))) == 9
        assert waits == [7.0]
        site.faults = [Fault("/c", status=429, headers={"Retry-After": "3600"})]
        with pytest.raises(SourceError, match="asks to wait until") as caught:
            documents(source_of(site))
        assert caught.value.retryable
        site.faults = [Fault("/c", status=429, times=99)]
        with pytest.raises(SourceError, match="HTTP 429") as caught:
            documents(source_of(site))
        assert caught.value.retryable


def test_a_page_that_is_refused_is_missed_where_it_was_read_before():
    with SiteServer(small_site()) as site:
        site.pages["/d"] = replace(site.pages["/d"], status=403)
        found, cursor = read(source_of(site))
        assert "/d" not in found
        site.pages["/c"] = replace(site.pages["/c"], status=403)
        source = source_of(site)
        batches = list(source.read(cursor))
        assert failed(batches) == ["docs:/c"]
        assert "docs:/c" in list(source.list_ids())
        site.pages["/"] = replace(site.pages["/"], status=401)
        with pytest.raises(SourceError, match="HTTP 401"):
            documents(source_of(site), cursor)


def test_a_server_that_says_unchanged_without_being_asked_is_not_believed():
    with SiteServer(small_site(), faults=[Fault("/c", status=304)]) as site:
        assert failed(list(source_of(site).read(None))) == ["docs:/c"]


def test_pages_that_are_deleted_or_added_while_the_site_is_read():
    pages = small_site()

    def shift(path: str) -> None:
        if path == "/b":
            pages_now = site.pages
            pages_now.pop("/f", None)
            pages_now["/h"] = page("H", links("/late"))
            pages_now["/late"] = page("Late")

    with SiteServer(pages, before=shift) as site:
        source = source_of(site)
        found = documents(source)
        assert set(found) == {"/", *(f"/{name}" for name in "abcdegh"), "/late"}
        assert set(source.list_ids()) == {f"docs:{key}" for key in found}


def test_a_page_that_a_sitemap_lists_may_be_gone():
    with SiteServer(small_site()) as site:
        site.pages["/sitemap.xml"] = sitemap(f"{site.url}/a", f"{site.url}/gone", "http://other.example/b", "nonsense")
        source = source_of(site)
        assert keys(source) == {"/a"}
        assert list(source.list_ids()) == ["docs:/a"]


def test_a_page_that_is_too_large_fails_alone():
    with SiteServer(small_site()) as site:
        site.pages["/c"] = Resource(b"<p>" + b"word " * 2_100_000)
        batches = list(source_of(site).read(None))
        assert failed(batches) == ["docs:/c"]
        assert "larger than 10,000,000 bytes" in batches[-1].failures[0].reason
        assert "/c" in keys(source_of(site, max_bytes=12_000_000))


def test_packed_pages_are_unpacked_up_to_the_limit():
    with SiteServer(small_site()) as site:
        site.pages["/a"] = replace(page("Packed"), zipped=True)
        site.pages["/b"] = Resource(BOMB, headers={"Content-Encoding": "gzip"})
        site.pages["/c"] = Resource(b"?", headers={"Content-Encoding": "br"})
        batches = list(source_of(site).read(None))
        assert set(failed(batches)) == {"docs:/b", "docs:/c"}
        packed = next(one for batch in batches for one in batch.documents if one.id == "docs:/a")
        assert packed.data == page("Packed").body
