"""Documentation sites, read from a local web server: what is sent again, and what is gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from lore.errors import SourceError

from tests.contracts.source import SourceContract, ids
from tests.servers.site import SiteServer, links, page, redirect, sitemap, text
from tests.sources.site.sites import NOW, documents, keys, linked_site, read, source_of


class TestContractByLinks(SourceContract):
    @pytest.fixture
    def site(self):
        with SiteServer(linked_site()) as site:
            yield site

    @pytest.fixture
    def source(self, site):
        return source_of(site)

    @pytest.fixture
    def change(self, site):
        def change():
            site.pages["/chapter-3/part-1.html"] = page("Part 3.1, written anew")
            return "docs:/chapter-3/part-1.html"

        return change


class TestContractBySitemap(TestContractByLinks):
    @pytest.fixture
    def site(self):
        with SiteServer(linked_site()) as site:
            site.pages["/robots.txt"] = text(f"Sitemap: {site.url}/index.xml")
            site.pages["/index.xml"] = sitemap(f"{site.url}/a.xml", f"{site.url}/b.xml", kind="sitemap")
            addresses = [site.url + path for path, resource in site.pages.items() if "html" in resource.content_type]
            site.pages["/a.xml"] = sitemap(*addresses[:70], lastmod="2024-05-01")
            site.pages["/b.xml"] = sitemap(*addresses[70:])
            yield site


class TestContractWithoutValidators(TestContractByLinks):
    """A server that sends every body every time."""

    @pytest.fixture
    def site(self):
        with SiteServer({path: replace(resource, etag=False) for path, resource in linked_site().items()}) as site:
            yield site


def test_an_unchanged_site_sends_no_body_twice():
    with SiteServer(linked_site()) as site:
        source = source_of(site)
        found, cursor = read(source)
        assert len(found) == len(site.bodies()) == 131
        site.requests.clear()
        again, after = read(source, cursor)
        assert (again, site.bodies()) == ({}, [])
        assert after == cursor
        assert len(list(source.list_ids())) == 131


def test_a_date_will_do_where_there_is_no_etag():
    dated = {"Last-Modified": "Wed, 01 May 2024 10:00:00 GMT"}
    with SiteServer({"/": replace(page("Home"), etag=False, headers=dated)}) as site:
        found, cursor = read(source_of(site))
        assert found["/"].updated_at == datetime(2024, 5, 1, 10, tzinfo=UTC)
        site.requests.clear()
        assert documents(source_of(site), cursor) == {}
        assert site.paths(304) == ["/"]


def test_a_server_without_validators_sends_bodies_again_and_nothing_is_given_twice():
    with SiteServer({path: replace(resource, etag=False) for path, resource in linked_site().items()}) as site:
        _, cursor = read(source_of(site))
        site.requests.clear()
        assert documents(source_of(site), cursor) == {}
        assert len(site.bodies()) == 131


def test_an_edit_an_addition_and_a_deletion():
    with SiteServer(linked_site()) as site:
        _, cursor = read(source_of(site))
        site.pages["/chapter-1/"] = page("Chapter 1", links("/chapter-1/part-0.html", "/new"))
        site.pages["/new"] = page("New")
        del site.pages["/chapter-2/part-5.html"]
        site.requests.clear()
        source = source_of(site)
        found, _ = read(source, cursor)
        assert set(found) == {"/chapter-1", "/new"}
        assert sorted(site.bodies()) == ["/chapter-1/", "/new"]
        listed = set(source.list_ids())
        assert "docs:/chapter-2/part-5.html" not in listed
        assert len(listed) == 131


def test_a_page_that_came_back_is_found_without_a_change_of_what_links_to_it():
    with SiteServer({"/": page("Home", links("/a"))}) as site:
        found, cursor = read(source_of(site))
        assert set(found) == {"/"}
        site.pages["/a"] = page("A")
        assert keys(source_of(site), cursor) == {"/a"}


def test_what_a_sitemap_no_longer_lists_is_gone():
    with SiteServer({"/a": page("A"), "/b": page("B")}) as site:
        site.pages["/sitemap.xml"] = sitemap(f"{site.url}/a", f"{site.url}/b")
        _, cursor = read(source_of(site))
        site.pages["/sitemap.xml"] = sitemap(f"{site.url}/a")
        source = source_of(site)
        documents(source, cursor)
        assert list(source.list_ids()) == ["docs:/a"]


def test_a_list_without_a_read_reads_the_site_and_so_does_a_second_one():
    with SiteServer(linked_site()) as site:
        source = source_of(site)
        documents(source)
        site.requests.clear()
        assert len(list(source.list_ids())) == 131
        assert site.requests == []
        del site.pages["/chapter-2/part-5.html"]
        assert len(list(source.list_ids())) == 130


def test_a_cut_run_goes_on_where_it_was():
    with SiteServer(linked_site()) as site:
        batches = source_of(site).read(None)
        first = next(batches)
        batches.close()
        done = len(site.bodies())
        assert done == 50
        site.requests.clear()
        rest = list(source_of(site).read(first.cursor))
        assert len(site.bodies()) == 131 - done
        assert len({*ids([first]), *ids(rest)}) == 131


def test_a_cut_run_goes_on_to_where_redirects_led():
    pages = {f"/{number}": page(f"Page {number}") for number in range(60)}
    with SiteServer(pages | {"/old": redirect("/new"), "/new": page("New")}) as site:
        site.pages["/sitemap.xml"] = sitemap(f"{site.url}/old", *(site.url + path for path in pages))
        batches = source_of(site).read(None)
        first = next(batches)
        batches.close()
        assert "/new" not in site.paths()
        assert "/new" in keys(source_of(site), first.cursor)


def test_a_run_that_was_cut_long_ago_begins_anew():
    with SiteServer(linked_site()) as site:
        first = next(source_of(site).read(None))
        site.requests.clear()
        documents(source_of(site, now=NOW + 8 * 86_400), first.cursor)
        assert len(site.paths(304)) == 50
        assert len(site.bodies()) == 81


def test_another_selection_reads_everything_anew():
    with SiteServer({"/": page("Home", links("/a")), "/a": page("A")}) as site:
        _, cursor = read(source_of(site))
        assert keys(source_of(site, audiences=["team"]), cursor) == {"/", "/a"}
        assert keys(source_of(site, max_pages=99, delay_seconds=0), cursor) == set()


@pytest.mark.parametrize("cursor", ["", "x", "eJw=", "AAAA", "2024-01-01"])
def test_a_cursor_that_is_none_is_refused(cursor):
    with SiteServer({"/": page("Home")}) as site:
        if cursor:
            with pytest.raises(SourceError, match="cursor"):
                documents(source_of(site), cursor)
        else:
            assert keys(source_of(site), cursor) == {"/"}
