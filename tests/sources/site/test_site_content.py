"""What is read of a page, and limits on pages, time and bytes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from lore.convert import convert
from lore.declarations import SiteDeclaration
from lore.errors import SourceError
from pydantic import ValidationError

from tests.contracts.source import failed, ids, last_cursor
from tests.servers.site import Resource, SiteServer, links, page, sitemap, text
from tests.sources.site.sites import declare, documents, keys, linked_site, read, source_of


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
