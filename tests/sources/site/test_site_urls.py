"""Which addresses belong to a site, and which mean one page."""

from __future__ import annotations

import pytest
from lore.declarations import SiteDeclaration
from lore.sources.site.urls import Scope

BASE = "https://docs.example.com/guide/intro"


def scope(url: str = "https://docs.example.com", **options: object) -> Scope:
    return Scope(SiteDeclaration.model_validate({"id": "docs", "url": url} | options))


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        ("setup", "/guide/setup"),
        ("./setup#install", "/guide/setup"),
        ("../setup/", "/setup/"),
        ("/../../setup", "/setup"),
        ("//docs.example.com/a", "/a"),
        ("HTTPS://DOCS.EXAMPLE.COM:443/a", "/a"),
        ("http://docs.example.com/a", "/a"),  # sitemaps of sites that moved to https still say so
        ("/a b/%7euser/%c3%a9/ü", "/a%20b/~user/%C3%A9/%C3%BC"),
        ("/a/%2e%2e/b", "/b"),
        ("/a%2Fb", "/a%2Fb"),
        ("/a//b/./c", "/a/b/c"),
        (" /a\n/b ", "/a/b"),
        ("\\a\\b", "/a/b"),
        ("/a;jsessionid=123/b;jsessionid=4", "/a/b"),
        ("?b=2&a=1", "/guide/intro?a=1&b=2"),
        ("?utm_source=x&UTM_Campaign=y&gclid=1&fbclid=2&a=1", "/guide/intro?a=1"),
        ("?print=1", "/guide/intro"),
        ("?format=print", "/guide/intro"),
        ("?highlight=dag", "/guide/intro"),
        ("?a", "/guide/intro?a="),
        ("", "/guide/intro"),
        ("#top", "/guide/intro"),
    ],
)
def test_one_spelling(reference, address):
    assert scope().address(reference, BASE) == f"https://docs.example.com{address}"


@pytest.mark.parametrize(
    "reference",
    [
        "https://other.example/a",
        "https://docs.example.com.evil.example/",
        "https://docs.example.com:8443/a",
        "https://user:password@docs.example.com/a",
        "mailto:a@docs.example.com",
        "javascript:void(0)",
        "ftp://docs.example.com/a",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://[",
        "https://docs.example.com:port/",
        "/logo.png",
        "/_static/app.JS?v=1",
        "/archive.tar.gz",
        "/_print/guide/",
        "/a/" * 50,
        "/a/b/a/b/a/b/a/b",
        "/" + "x" * 3000,
        "/\ud800" * 900,
    ],
)
def test_not_asked_for(reference):
    assert scope().address(reference, BASE) is None


@pytest.mark.parametrize(
    "addresses",
    [
        ["/a", "/a/", "/a/index.html", "/a/index.htm", "/a/INDEX.HTML", "/a/index.php"],
        ["/", "/index.html"],
        ["/a?x=1", "/a/?x=1", "/a/index.html?x=1"],
    ],
)
def test_one_page(addresses):
    one = scope()
    assert len({one.key(one.origin + address) for address in addresses}) == 1


@pytest.mark.parametrize("name", ["home.html", "default.html", "default.aspx", "home"])
def test_pages_called_home_or_default_are_pages_of_their_own(name):
    assert scope().key(f"https://docs.example.com/a/{name}") == f"/a/{name}"
    assert scope(f"https://docs.example.com/docs/{name}").address(f"/docs/{name}", BASE)


@pytest.mark.parametrize("name", ["package.json", "compose.yaml", "robots.txt", "app.js", "feed.xml", "pyproject.toml"])
def test_an_address_that_ends_like_a_text_file_is_asked_for(name):
    assert scope().address(f"/files/{name}", BASE)


def test_an_address_that_ends_like_a_download_is_asked_for_where_a_sitemap_has_it():
    assert scope().address("/wiki/File:Logo.png", BASE) is None
    assert scope().address("/wiki/File:Logo.png", BASE, listed=True)


@pytest.mark.parametrize(("one", "other"), [("/a", "/a.html"), ("/a", "/A"), ("/a", "/a?x=1"), ("/a/index", "/a")])
def test_two_pages(one, other):
    assert scope().key(f"https://docs.example.com{one}") != scope().key(f"https://docs.example.com{other}")


@pytest.mark.parametrize(
    ("url", "starts", "inside", "outside"),
    [
        ("https://d.example", ["/"], ["/", "/a"], []),
        ("https://d.example/docs/", ["/docs/", "/docs"], ["/docs", "/docs/", "/docs/a"], ["/", "/docsearch"]),
        ("https://d.example/docs/index.html", ["/docs/index.html"], ["/docs/a"], ["/a"]),
        ("https://d.example/guide.html", ["/guide.html"], ["/guide.html"], ["/other.html"]),
        ("https://d.example/en/2.0", ["/en/2.0/", "/en/2.0"], ["/en/2.0/a"], ["/en/2.1/a"]),
    ],
)
def test_the_declared_address(url, starts, inside, outside):
    one = scope(url)
    assert [start.removeprefix(one.origin) for start in one.starts] == starts
    assert all(one.address(path, url) for path in inside)
    assert not any(one.address(path, url) for path in outside)


def test_a_port_and_an_international_name():
    one = scope("http://bücher.example:8080/docs")
    assert one.origin == "http://xn--bcher-kva.example:8080"
    assert one.address("http://BÜCHER.example:8080/docs/a", one.origin) == f"{one.origin}/docs/a"
    assert one.address("http://bücher.example/docs/a", one.origin) is None


def test_globs_are_read_below_the_address():
    one = scope("https://d.example/docs", include=["guide/*", "/faq"], exclude=["*.pdf", "guide/old/*"])
    wanted = {path: one.wants(f"https://d.example/docs{path}") for path in ("/guide/a/b", "/faq", "/blog", "/faq/x")}
    assert wanted == {"/guide/a/b": True, "/faq": True, "/blog": False, "/faq/x": False}
    assert one.address("/docs/guide/old/a", one.origin) is None
    assert one.address("/docs/guide/a.pdf", one.origin) is None


@pytest.mark.parametrize("version", ["stable", "2.10", "v3"])
def test_other_versions_are_left_out(version):
    one = scope(version=version)
    assert one.address(f"/en/{version}/a", BASE)
    assert one.address(f"/{version}/api/1.2/a", BASE)  # the first that looks like a version is the site's
    assert one.address("/en/about", BASE)
    for other in ("1.10", "latest", "main", "v2", "3.0.0rc1", "1.x", "dev"):
        assert one.address(f"/en/{other}/a", BASE) is None


def test_declared_parameters_are_kept_alone():
    assert scope(query_parameters=["page"]).address("?page=2&x=1&utm_source=y", BASE) == f"{BASE}?page=2"
    assert scope(query_parameters=[]).address("?page=2&x=1", BASE) == BASE
