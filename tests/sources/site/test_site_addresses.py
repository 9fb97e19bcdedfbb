"""Addresses that are one page, and pages that are left out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lore.errors import SourceError

from tests.servers.site import SiteServer, links, page, redirect
from tests.sources.site.sites import documents, keys, read, source_of


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
