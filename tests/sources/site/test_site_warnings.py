"""What a read of a site leaves out and says so: pages without content, and sitemaps that lead to nothing."""

from __future__ import annotations

import pytest
from lore.errors import SourceError

from tests.contracts.source import failed
from tests.servers.site import Resource, SiteServer, links, page, sitemap, text
from tests.sources.site.sites import keys, read, source_of

LOGIN = Resource(b"<h1>Sign in</h1><form><input type=password></form>")
EMPTY = Resource(b"<html><head><title>App</title></head><body><div id=root></div></body></html>")
MISSING = Resource(b"<html><head><title>404 | Docs</title></head><body><h1>Page not found</h1></body></html>")


def warnings(source, since=None) -> list[str]:
    return [warning for batch in source.read(since) for warning in batch.warnings]


def site_with(**pages: Resource) -> SiteServer:
    paths = {f"/{name}": one for name, one in pages.items()}
    good = {f"/good-{number}": page(f"Good {number}") for number in range(4)}
    return SiteServer({"/": page("Home", links(*paths, *good)), **good, **paths})


def test_pages_without_content_are_warnings_and_no_documents():
    with site_with(login=LOGIN, app=EMPTY, lost=MISSING, blank=text("\n ")) as site:
        assert keys(source_of(site)) == {"/", "/good-0", "/good-1", "/good-2", "/good-3"}
        (warning,) = warnings(source_of(site))
        assert failed(list(source_of(site).read(None))) == []
    for said in ("/login is a login form", "/app has no text", "/lost says that the page", "/blank has no text"):
        assert said in warning


def test_many_pages_without_content_are_counted():
    with site_with(**{f"app-{number}": EMPTY for number in range(9)}) as site:
        (warning,) = warnings(source_of(site))
    assert warning.count("has no text") == 5 and "and 4 more" in warning


def test_a_page_that_loses_its_content_is_kept_and_one_that_says_it_is_gone_is_not():
    with site_with(a=page("A"), b=page("B"), c=page("C")) as site:
        source = source_of(site)
        _, cursor = read(source)
        site.pages |= {"/a": EMPTY, "/b": LOGIN, "/c": MISSING}
        batches = list(source.read(cursor))
        assert failed(batches) == ["docs:/a", "docs:/b"]
        assert {"docs:/a", "docs:/b"} <= set(source.list_ids()) and "docs:/c" not in set(source.list_ids())


def test_a_page_that_was_empty_when_it_was_indexed_is_no_outage():
    with site_with(a=page("A")) as site:
        source = source_of(site)
        _, cursor = read(source)
        assert warnings(source, cursor) == []


@pytest.mark.parametrize("space", [b"\n", b"\r\n\r\n  \t", b"\xef\xbb\xbf\n \n"])
@pytest.mark.parametrize("kind", ["xml", "text"])
def test_a_sitemap_may_begin_with_blank_lines(space: bytes, kind: str):
    with SiteServer({"/a": page("A"), "/b": page("B"), "/": page("Home")}) as site:
        addresses = [f"{site.url}/a", f"{site.url}/b"]
        body = sitemap(*addresses).body if kind == "xml" else "\n".join(addresses).encode()
        site.pages["/sitemap.xml"] = Resource(space + body, "application/xml")
        assert keys(source_of(site)) == {"/a", "/b"}


def test_a_sitemap_of_another_host_is_a_warning():
    with SiteServer({"/": page("Home", links("/a")), "/a": page("A")}) as site:
        site.pages["/sitemap.xml"] = sitemap("https://staging.example.com/a", "https://staging.example.com/b")
        assert keys(source_of(site)) == {"/", "/a"}
        (warning,) = warnings(source_of(site))
        assert "names 2 pages, such as https://staging.example.com/a, but none of them could be read" in warning
        assert warnings(source_of(site, discovery="links")) == []


def test_a_sitemap_of_missing_pages_is_a_warning():
    with SiteServer({"/": page("Home", links("/a")), "/a": page("A")}) as site:
        site.pages["/sitemap.xml"] = sitemap(f"{site.url}/x", f"{site.url}/y")
        (warning,) = warnings(source_of(site, discovery="both"))
        assert "none of them could be read" in warning
        with pytest.raises(SourceError, match="no page to index") as caught:
            warnings(source_of(site))
        assert "none of them could be read" in caught.value.remedy
        site.pages["/x"] = page("X")
        assert warnings(source_of(site, discovery="both")) == []


def test_an_address_that_ends_like_a_file_is_what_its_content_type_says():
    pages = {
        "/files/package.json": page("package.json"),
        "/files/compose.yaml": page("compose.yaml"),
        "/data/list.json": text('{"a": 1}', "application/json"),
        "/data/raw.yaml": text("a: 1"),
        "/app.js": text("go()", "text/javascript"),
        "/feed.xml": text("<rss/>", "application/rss+xml"),
        "/nothing.csv": text("a,b", ""),
    }
    with SiteServer({"/": page("Home", links(*pages)), **pages}) as site:
        assert keys(source_of(site)) == {"/", "/files/package.json", "/files/compose.yaml"}


def test_pages_called_home_and_default_are_read_beside_the_first_page():
    pages = {"/guide/home.html": page("At home"), "/guide/default.html": page("The default")}
    first = page("Guide", links(*pages))
    with SiteServer({"/guide/": first, **pages}) as site:
        assert keys(source_of(site, "/guide")) == {"/guide", "/guide/home.html", "/guide/default.html"}
        site.pages["/guide/home.html"] = first
        assert keys(source_of(site, "/guide")) == {"/guide", "/guide/default.html"}
