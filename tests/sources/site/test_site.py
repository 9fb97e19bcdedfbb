"""Documentation sites, read from a local web server: what is found, what is one page, and what later runs cost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from lore.convert import convert
from lore.declarations import SiteDeclaration
from lore.errors import SourceError
from pydantic import ValidationError

from tests.contracts.source import SourceContract, failed, ids, last_cursor
from tests.servers.site import Resource, SiteServer, links, page, redirect, sitemap, text
from tests.sources.site.sites import NOW, declare, documents, keys, read, source_of


def linked_site() -> dict[str, Resource]:
    """130 pages that are found over links only."""
    pages = {"/": page("Home", links(*(f"/chapter-{number}/" for number in range(10))))}
    for number in range(10):
        inside = [f"part-{part}.html" for part in range(12)]
        pages[f"/chapter-{number}/"] = page(f"Chapter {number}", links("/", *inside))
        for part in range(12):
            pages[f"/chapter-{number}/part-{part}.html"] = page(f"Part {number}.{part}", links("./", "../"))
    return pages


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


# ------------------------------------------------------------------------------------------------------ later runs


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


# ------------------------------------------------------------------------------------------------- one page, once


def test_all_addresses_of_a_page_are_one_document():
    with SiteServer(
        {"/": page("Home", links("/a/", "/a", "/a/index.html", "/a?utm_source=x", "/a#part", "//a"))}
    ) as site:
        for path in ("/a/", "/a", "/a/index.html", "/a?utm_source=x"):
            site.pages[path] = page("A")
        found = documents(source_of(site))
        assert set(found) == {"/", "/a"}
        assert found["/a"].url == f"{site.url}/a/"
        assert len(site.bodies()) == 2


def test_redirects_lead_to_the_page_and_are_none_themselves():
    pages = {
        "/": page("Home", links("/old", "/elsewhere", "/slash", "/one")),
        "/old": redirect("/new"),
        "/new": page("New"),
        "/elsewhere": redirect("https://other.example/x"),
        "/slash": redirect("/slash/"),
        "/slash/": page("Slash"),
        "/one": redirect("/two", 302),
        "/two": redirect("/one", 307),
    }
    with SiteServer(pages) as site:
        found, cursor = read(source_of(site))
        assert set(found) == {"/", "/new", "/slash"}
        assert found["/slash"].url == f"{site.url}/slash/"
        site.requests.clear()
        assert documents(source_of(site), cursor) == {}
        assert site.bodies() == []


def test_the_first_page_may_lead_into_the_site_but_not_out_of_it():
    with SiteServer({"/docs/": redirect("stable/"), "/docs/stable/": page("Docs")}) as site:
        assert keys(source_of(site, "/docs")) == {"/docs/stable"}
        site.pages["/docs/"] = redirect("https://docs.example.com/")
        with pytest.raises(SourceError, match="outside `url`"):
            documents(source_of(site, "/docs"))


def test_a_page_that_refreshes_to_another_one_is_that_one():
    moved = page("Moved", head='<meta http-equiv="Refresh" content="0; URL=stable/intro.html">')
    with SiteServer({"/": moved, "/stable/intro.html": page("Intro")}) as site:
        assert keys(source_of(site)) == {"/stable/intro.html"}


def canonical(address: str) -> str:
    return f'<link rel="canonical" href="{address}">'


def test_the_canonical_address_stands_for_a_page():
    with SiteServer() as site:
        site.pages |= {
            "/": page("Home", links("/a?page=1", "/print/a", "/abroad", "/b"), canonical("/")),
            "/a": page("A", "", canonical("/a")),
            "/a?page=1": page("A", "again", canonical(f"{site.url}/a")),
            "/print/a": page("A to print", "", canonical("/a")),
            "/abroad": page("Abroad", "", canonical("https://other.example/abroad")),
            "/b": page("B", "", canonical("/")),  # as badly set up sites have it on every page
        }
        found, cursor = read(source_of(site))
        assert set(found) == {"/", "/a", "/abroad", "/b"}
        site.requests.clear()
        assert documents(source_of(site), cursor) == {}
        assert site.bodies() == []


def test_a_canonical_address_that_leads_nowhere_loses_no_page():
    with SiteServer() as site:
        site.pages |= {
            "/": page("Home", links("/a", "/b", "/c")),
            "/a": page("A", "", canonical("/missing")),
            "/b": page("B", "", canonical("/c")),
            "/c": page("C", "", canonical("/b")),
        }
        found, cursor = read(source_of(site))
        assert {"/", "/a"} < set(found)
        assert len(set(found) & {"/b", "/c"}) == 1
        assert documents(source_of(site), cursor) == {}
        site.pages["/missing"] = page("Here again")
        source = source_of(site)
        assert keys(source, cursor) == {"/missing"}


def test_the_same_body_at_two_addresses_is_one_document_until_they_differ():
    with SiteServer({"/": page("Home", links("/a", "/b")), "/a": page("Same"), "/b": page("Same")}) as site:
        found, cursor = read(source_of(site))
        assert set(found) == {"/", "/a"}
        assert documents(source_of(site), cursor) == {}
        site.pages["/a"] = page("Different")
        source = source_of(site)
        found, cursor = read(source, cursor)
        assert set(found) == {"/a", "/b"}
        assert set(source.list_ids()) == {"docs:/", "docs:/a", "docs:/b"}
        assert documents(source_of(site), cursor) == {}


def test_one_version_is_read_of_several():
    names = ["stable", "1.10", "v2.0.1", "latest", "main"]
    pages = {"/docs/": page("Docs", links(*(f"{name}/guide.html" for name in names), "about.html"))}
    pages |= {f"/docs/{name}/guide.html": page(f"Guide of {name}", links("api/1.2/x")) for name in names}
    pages |= {"/docs/about.html": page("About")}
    with SiteServer(pages) as site:
        assert keys(source_of(site, "/docs", version="stable")) == {
            "/docs",
            "/docs/stable/guide.html",
            "/docs/about.html",
        }
        assert keys(source_of(site, "/docs", version="1.10")) == {"/docs", "/docs/1.10/guide.html", "/docs/about.html"}
        assert not any("/latest/" in path for path in site.paths())


# ----------------------------------------------------------------------------------------------------- what is read


def test_only_what_lies_below_the_address_is_read():
    pages = {
        "/docs/": page("Docs", links("a", "/blog", "/docsearch", "../docs/b", "/docs/%2e%2e/blog", "//127.0.0.1/x"))
    }
    pages |= {"/docs/a": page("A"), "/docs/b": page("B"), "/blog": page("Blog"), "/docsearch": page("Search")}
    with SiteServer(pages) as site:
        assert keys(source_of(site, "/docs")) == {"/docs", "/docs/a", "/docs/b"}
        assert set(site.paths()) <= {"/robots.txt", "/docs/sitemap.xml", "/sitemap.xml", "/docs/", "/docs/a", "/docs/b"}


def test_include_and_exclude():
    pages = {"/": page("Home", links("/guide/a", "/guide/old/b", "/blog/c"))}
    pages |= {path: page(path, links("/guide/d")) for path in ("/guide/a", "/guide/old/b", "/blog/c", "/guide/d")}
    with SiteServer(pages) as site:
        options = {"include": ["guide/*"], "exclude": ["*/old/*"]}
        assert keys(source_of(site, **options)) == {"/guide/a", "/guide/d"}
        assert "/guide/old/b" not in site.paths()


def test_a_page_that_does_not_want_to_be_found_is_left_out():
    pages = {
        "/": page("Home", links("/a", "/b", "/c", "/d", "/e")),
        "/a": page("A", "", '<meta name="robots" content="NOINDEX, follow">'),
        "/b": replace(page("B"), headers={"X-Robots-Tag": "otherbot: index, lore: noindex"}),
        "/c": replace(page("C"), headers={"X-Robots-Tag": "otherbot: noindex"}),
        "/d": page("D", links("/secret"), '<meta name="robots" content="nofollow">'),
        "/e": page("E", '<a rel="nofollow" href="/edit">edit</a>'),
        "/secret": page("Secret"),
        "/edit": page("Edit"),
    }
    with SiteServer(pages) as site:
        assert keys(source_of(site)) == {"/", "/c", "/d", "/e"}


def test_only_text_is_read():
    pages = {
        "/": page("Home", links("/guide.md", "/notes.txt", "/logo.png", "/data", "/manual.pdf", "/feed", "/empty")),
        "/guide.md": text("# Guide\n\nText.", "application/octet-stream"),
        "/notes.txt": text("Notes."),
        "/data": text(b"\0" * 100_000, "application/zip"),
        "/manual.pdf": text(b"%PDF-1.4", "application/pdf"),
        "/feed": text("<rss/>", "application/rss+xml"),
    }
    with SiteServer(pages) as site:
        found, cursor = read(source_of(site))
        assert {key: one.format for key, one in found.items()} == {
            "/": "html",
            "/guide.md": "markdown",
            "/notes.txt": "text",
            "/manual.pdf": "pdf",
        }
        assert "/logo.png" not in site.paths()
        assert documents(source_of(site), cursor) == {}


def test_markdown_twins_are_read_instead_of_pages():
    pages = {
        "/": page("Home", links("/a", "/b/", "/c.html")),
        "/a": page("A"),
        "/a.md": text("# A\n\nAs Markdown. [B](b.md) [D](/d)", "text/markdown"),
        "/b/": page("B"),
        "/b.md": page("No Markdown at all"),
        "/c.html": page("C"),
        "/c.html.md": text("# C as Markdown", "text/plain"),
        "/d": page("D"),
    }
    with SiteServer(pages) as site:
        found, cursor = read(source_of(site, markdown_twins=True))
        formats = {key: one.format for key, one in found.items()}
        assert formats == {"/": "html", "/a": "markdown", "/b": "html", "/c.html": "markdown", "/d": "html"}
        assert found["/a"].url == f"{site.url}/a"
        site.requests.clear()
        assert documents(source_of(site, markdown_twins=True), cursor) == {}
        assert len(site.paths(304)) == 5
        assert not site.bodies()
        del site.pages["/a.md"]
        again = documents(source_of(site, markdown_twins=True), cursor)
        assert {key: one.format for key, one in again.items()} == {"/a": "html"}


def test_the_date_of_a_twin_is_not_that_of_the_page():
    dated = {"Last-Modified": "Wed, 01 May 2024 10:00:00 GMT"}
    twin = replace(text("# A as Markdown", "text/markdown"), etag=False, headers=dated)
    with SiteServer({"/": replace(page("A"), etag=False, headers=dated), "/index.md": twin}) as site:
        found, cursor = read(source_of(site, markdown_twins=True))
        assert found["/"].format == "markdown"
        del site.pages["/index.md"]
        assert documents(source_of(site, markdown_twins=True), cursor)["/"].format == "html"


def test_llms_txt_lists_the_pages():
    listing = "# Docs\n\n- [A](/docs/a.md): first\n- [B](b.md)\n- [Elsewhere](https://other.example/c.md)\n"
    pages = {"/docs/llms.txt": text(listing), "/docs/a.md": text("# A", "text/markdown"), "/docs/b.md": text("# B")}
    with SiteServer(pages) as site:
        found = documents(source_of(site, "/docs", discovery="llms_txt"))
        assert {key: one.format for key, one in found.items()} == {"/docs/a.md": "markdown", "/docs/b.md": "markdown"}
        twins = documents(source_of(site, "/docs", discovery="llms_txt", markdown_twins=True))
        assert {one.url for one in twins.values()} == {f"{site.url}/docs/a", f"{site.url}/docs/b"}


CYRILLIC = (
    "<html><head>{meta}<title>Проверка</title></head>"
    "<body><main><p>Съешь же ещё этих мягких французских булок.</p></main></body></html>"
)


@pytest.mark.parametrize(
    ("charset", "header", "meta"),
    [
        ("utf-8", "text/html", ""),
        ("utf-8", "text/html; charset=windows-1251", ""),  # the header is wrong
        ("cp1251", "text/html; charset=windows-1251", ""),
        ("cp1251", 'text/html; charset="WINDOWS-1251"', '<meta charset="utf-8">'),
        ("cp1251", "text/html", '<meta charset="windows-1251">'),
        ("cp1251", "text/html; charset=utf-8", '<meta charset="windows-1251">'),
        ("cp1251", "text/html; charset=iso-8859-1", '<meta charset="windows-1251">'),
        ("cp1251", "text/html; charset=no-such-thing", '<meta charset="windows-1251">'),
        ("koi8-r", "text/html; charset=koi8-r", ""),
        ("utf-16", "text/html", ""),
    ],
)
def test_the_charset_is_that_of_the_header_the_page_or_the_bytes(charset, header, meta):
    body = CYRILLIC.format(meta=meta).encode(charset)
    with SiteServer({"/": Resource(body, header)}) as site:
        converted = convert(documents(source_of(site))["/"])
    assert converted.title == "Проверка"
    assert "Съешь же ещё этих мягких французских булок." in converted.text


def test_documents_say_where_and_when():
    with SiteServer({"/a": page("A"), "/ü b": page("B")}) as site:
        site.pages["/sitemap.xml"] = sitemap(f"{site.url}/a", lastmod="2024-05-01T10:00:00+02:00")
        site.pages["/robots.txt"] = text(f"Sitemap: {site.url}/sitemap.xml\nSitemap: {site.url}/more.txt")
        site.pages["/more.txt"] = text(f"{site.url}/%c3%bc%20b\n{site.url}/a")
        site.pages["/%C3%BC%20b"] = site.pages["/ü b"]
        found = documents(source_of(site, audiences=["team"]))
        assert found["/a"].updated_at == datetime(2024, 5, 1, 8, tzinfo=UTC)
        assert found["/a"].audiences == ("team",)
        assert found["/%C3%BC%20b"].url == f"{site.url}/%C3%BC%20b"


def test_a_clock_that_is_ahead_gives_no_date():
    dated = {"Last-Modified": "Wed, 01 May 2999 10:00:00 GMT"}
    with SiteServer({"/": replace(page("Home"), etag=False, headers=dated)}) as site:
        found, cursor = read(source_of(site))
        assert found["/"].updated_at is None
        assert documents(source_of(site), cursor) == {}
        assert site.paths(304) == ["/"]


# ------------------------------------------------------------------------------------------------------------ limits


def test_pages_over_the_limit_are_reported():
    with SiteServer(linked_site()) as site:
        source = source_of(site, max_pages=60)
        batches = list(source.read(None))
        assert len(ids(batches)) == 60
        assert len(failed(batches)) == 1
        assert "max_pages" in batches[-1].failures[0].reason
        assert set(source.list_ids()) == {*ids(batches), *failed(batches)}


def test_links_are_followed_down_to_a_depth():
    with SiteServer({"/": page("Home", links("/1"))}, otherwise=lambda path: deeper(path)) as site:
        assert keys(source_of(site, max_depth=3)) == {"/", "/1", "/11", "/111"}


def deeper(path: str) -> Resource:
    return page(path, links(f"{path}1")) if path.strip("/1") == "" else Resource(b"", status=404)


def test_an_endless_calendar_ends():
    def calendar(path: str) -> Resource:
        if not path.startswith("/calendar"):
            return Resource(b"", status=404)
        month = int(path.partition("=")[2] or 0)
        return page(f"Month {month}", links(f"/calendar?month={month + 1}", "deeper/calendar?month=0"))

    with SiteServer(
        {"/": page("Home", links("/calendar?month=0", "/guide")), "/guide": page("Guide")}, otherwise=calendar
    ) as site:
        batches = list(source_of(site, max_pages=100, max_depth=1000).read(None))
        assert len(ids(batches)) == 99  # and one address that was asked for is no page
        assert len(failed(batches)) == 1
        assert "docs:/guide" in ids(batches)
        site.requests.clear()
        assert keys(source_of(site, query_parameters=[], max_depth=1000)) >= {"/", "/guide", "/calendar"}
        assert len(site.requests) < 20


def test_a_limit_of_time_or_bytes_stops_and_the_next_run_goes_on():
    with SiteServer(linked_site()) as site:
        batches = []
        with pytest.raises(SourceError, match="max_total_bytes") as caught:
            batches.extend(source_of(site, max_total_bytes=30_000).read(None))
        assert caught.value.retryable
        assert 0 < len(ids(batches)) < 131
        rest = list(source_of(site).read(last_cursor(batches)))
        assert {*ids(batches), *ids(rest)} == set(ids(list(source_of(site).read(None))))
        with pytest.raises(SourceError, match="max_seconds"):
            list(source_of(site, max_seconds=0.001).read(None))


def test_a_site_without_a_page_is_an_error():
    with SiteServer({"/": page("Home", "", '<meta name="robots" content="none">')}) as site:
        with pytest.raises(SourceError, match="no page to index"):
            documents(source_of(site))
        assert declare(site).kind == "site"


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"url": "https://docs.example.com/?page=1"}, "url"),
        ({"url": "ftp://docs.example.com"}, "url"),
        ({"allow_hosts": ["https://docs.example.com"]}, "allow_hosts"),
        ({"allow_hosts": ["docs.example.com:8080"]}, "allow_hosts"),
        ({"allow_hosts": ["*"]}, "allow_hosts"),
        ({"discovery": "crawl"}, "discovery"),
        ({"max_pages": 0}, "max_pages"),
        ({"max_bytes": 10**9}, "max_bytes"),
        ({"delay_seconds": -1}, "delay_seconds"),
    ],
)
def test_a_declaration_that_cannot_be_meant(options, key):
    with pytest.raises(ValidationError, match=key):
        SiteDeclaration.model_validate({"id": "docs", "url": "https://docs.example.com"} | options)
