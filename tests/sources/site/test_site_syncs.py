"""Whole syncs of a site: the first, an unchanged one, one with changes, and ones that are cut off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lore.convert import convert
from lore.errors import RemovalFloorError, SourceError
from lore.ingest.report import SyncReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.stores.lancedb.store import LanceStore
from lore.types import Recipe

from tests.fakes import FakeEmbedder
from tests.servers.site import Fault, Resource, SiteServer, links, page, redirect
from tests.sources.site.sites import source_of
from tests.syncs import make_sync

COUNT = 120


@pytest.fixture
def site():
    pages = {f"/page-{number}": page(f"Page {number}", links("/", "/old")) for number in range(1, COUNT)}
    pages |= {"/": page("Home", links(*pages)), "/old": redirect("/page-1")}
    with SiteServer(pages) as site:
        yield site


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    return LanceStore(str(tmp_path / "index"), Recipe("fake:words", 64))


@pytest.fixture
def sync(site: SiteServer, store: LanceStore, tmp_path: Path) -> Callable[..., SyncReport]:
    embedder = FakeEmbedder()

    def run(**options: object) -> SyncReport:
        site.requests.clear()
        source = source_of(site, max_retries=0, **options)
        staging = str(tmp_path / "staging")
        return make_sync(source, store, embedder, MarkdownSplitter(800), convert, staging_uri=staging).run()

    return run


def counts(report: SyncReport) -> tuple[int, int, int, int, int]:
    return report.new, report.changed, report.unchanged, report.removed, len(report.failures)


def test_first_unchanged_and_changed(site, sync):
    assert counts(sync()) == (COUNT, 0, 0, 0, 0)
    assert len(site.bodies()) == COUNT
    unchanged = sync()
    assert counts(unchanged) == (0, 0, 0, 0, 0)
    assert (unchanged.embedding_calls, unchanged.embedded_texts) == (0, 0)
    assert site.bodies() == []
    site.pages["/page-7"] = page("Page 7, edited", links("/new"))
    site.pages["/new"] = page("New")
    del site.pages["/page-9"]
    changed = sync()
    assert counts(changed) == (1, 1, 0, 1, 0)
    assert changed.embedded_texts == 2
    assert sorted(site.bodies()) == ["/new", "/page-7"]
    assert counts(sync()) == (0, 0, 0, 0, 0)
    assert site.bodies() == []


def test_only_what_failed_is_sent_again(site, store, sync):
    site.pages["/page-5"] = Resource(b"no PDF at all", "application/pdf")
    site.faults = [Fault("/page-77", status=500, times=99)]
    first = sync()
    assert (first.status, len(first.failures), first.new) == ("warning", 2, COUNT - 2)
    again = sync()
    assert (again.status, len(again.failures)) == ("warning", 2)
    assert site.bodies() == ["/page-5"]
    site.faults = []
    site.pages["/page-5"] = page("Page 5, in HTML")
    assert counts(sync()) == (2, 0, 0, 0, 0)
    assert sorted(site.bodies()) == ["/page-5", "/page-77"]
    assert store.count().documents == COUNT


def test_pages_over_the_limit_come_once_it_is_raised(site, sync):
    first = sync(max_pages=60)
    assert (first.status, first.new) == ("warning", 60)
    assert counts(sync(max_pages=60))[:3] == (0, 0, 60)
    assert counts(sync())[:3] == (COUNT - 60, 0, 60)
    assert counts(sync()) == (0, 0, 0, 0, 0)


def test_a_sync_that_an_outage_cuts_goes_on_the_next_time(site, store, sync):
    site.faults = [Fault("/page-8", status=503, times=99), Fault("/page-9", status=503, times=99)]
    with pytest.raises(SourceError):
        sync(discovery="links")
    kept = store.count().documents
    assert 0 < kept < COUNT
    site.faults = []
    rest = sync(discovery="links")
    assert counts(rest)[:2] == (COUNT - kept, 0)
    assert store.count().documents == COUNT
    assert counts(sync(discovery="links")) == (0, 0, 0, 0, 0)
    assert site.bodies() == []


def test_an_outage_or_an_empty_site_removes_nothing(site, store, sync):
    sync()
    site.faults = [Fault("/", status=503, times=999)]
    with pytest.raises(SourceError):
        sync()
    site.faults = []
    site.pages = {"/": page("Home, after an accident")} | {path: redirect("/") for path in site.pages if path != "/"}
    with pytest.raises(RemovalFloorError):
        sync()
    assert store.count().documents == COUNT


def test_a_page_that_fails_stays_as_it_was(site, store, sync):
    sync()
    site.pages["/page-119"] = page("Page 119, edited")
    site.faults = [Fault("/page-119", status=500, times=99)]
    assert counts(sync()) == (0, 0, 0, 0, 1)
    assert store.count().documents == COUNT
    site.faults = []
    assert counts(sync()) == (0, 1, 0, 0, 0)
