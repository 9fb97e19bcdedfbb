"""robots.txt, sitemaps, and addresses that a site must not lead to."""

from __future__ import annotations

import gzip
import time
from functools import partial

import pytest
from lore.errors import SourceError
from lore.sources.site.fetch import Fetcher
from lore.sources.site.guard import ForbiddenAddressError
from lore.sources.site.source import SiteSource

from tests.contracts.source import failed, ids
from tests.servers.site import Fault, Resource, SiteServer, links, page, redirect, sitemap, text
from tests.sources.site.sites import declare, documents, keys, read, small_site, source_of


def test_robots_txt_is_obeyed():
    rules = "User-agent: *\nDisallow: /\n\nUser-agent: Lore\nDisallow: /b\nDisallow: /*.old$\nAllow: /b/good\n"
    with SiteServer(small_site()) as site:
        site.pages |= {"/robots.txt": text(rules), "/": page("Home", links("/a", "/b", "/b/good", "/c.old", "/c.old2"))}
        site.pages |= {path: page(path) for path in ("/b/good", "/c.old", "/c.old2")}
        assert keys(source_of(site)) == {"/", "/a", "/b/good", "/c.old2"}
        assert not {"/b", "/c.old"} & set(site.paths())


def test_robots_txt_that_forbids_everything_is_an_error():
    with SiteServer(small_site()) as site:
        site.pages["/robots.txt"] = text("User-agent: *\nDisallow: /\n")
        with pytest.raises(SourceError, match="no page to index"):
            documents(source_of(site))
        assert site.paths() == ["/robots.txt", "/sitemap.xml"]


def test_robots_txt_that_cannot_be_had_closes_the_site():
    with SiteServer(small_site(), faults=[Fault("/robots.txt", status=503, times=99)]) as site:
        with pytest.raises(SourceError, match=r"robots\.txt") as caught:
            documents(source_of(site))
        assert caught.value.retryable
        assert set(site.paths()) == {"/robots.txt"}


@pytest.mark.parametrize("robots", [redirect("/other.txt"), Resource(b"x", status=403), Resource(b"x", status=404)])
def test_robots_txt_may_be_elsewhere_or_missing(robots):
    with SiteServer(small_site()) as site:
        site.pages |= {"/robots.txt": robots, "/other.txt": text("User-agent: *\nDisallow: /c\n")}
        assert ("/c" in keys(source_of(site))) == (robots.status != 301)


def test_a_huge_robots_txt_is_read_at_its_beginning():
    rules = "User-agent: *\nDisallow: /c\n" + "Disallow: /*a*a*a*a*b$\n" * 200_000 + "Disallow: /a\n"
    with SiteServer(small_site()) as site:
        site.pages["/robots.txt"] = text(rules)
        assert keys(source_of(site)) == {"/", *(f"/{name}" for name in "abdefgh")}


def test_pauses_are_kept_and_robots_txt_may_ask_for_longer_ones():
    waits: list[float] = []
    clock = iter(range(10_000))

    def source(**options: object) -> SiteSource:
        fetcher = partial(Fetcher, sleep=waits.append, clock=lambda: next(clock) / 1000)
        return SiteSource(declare(site, **options), timeout=5.0, max_retries=0, fetcher=fetcher)

    with SiteServer(small_site()) as site:
        documents(source(delay_seconds=2))
        assert len(waits) == len(site.requests) - 1
        assert all(1.9 < wait <= 2 for wait in waits)
        waits.clear()
        site.pages["/robots.txt"] = text("User-agent: lore\nCrawl-delay: 5\n")
        documents(source(delay_seconds=2))
        assert all(4.9 < wait <= 5 for wait in waits)
        waits.clear()
        site.pages["/robots.txt"] = text("User-agent: lore\nRequest-rate: 1/9s\n")
        documents(source())
        assert all(8.9 < wait <= 9 for wait in waits)
        site.pages["/robots.txt"] = text("User-agent: lore\nCrawl-delay: 90000\n")
        with pytest.raises(SourceError, match="max_seconds"):
            documents(source())


def test_packed_sitemaps_and_indexes_that_circle():
    with SiteServer(small_site()) as site:
        site.pages |= {
            "/robots.txt": text(f"Sitemap: {site.url}/index.xml\nSitemap: file:///etc/passwd\nSitemap: nonsense"),
            "/index.xml": sitemap(f"{site.url}/index.xml", f"{site.url}/more.xml.gz", kind="sitemap"),
        }
        inner = sitemap(f"{site.url}/index.xml", f"{site.url}/pages.xml.gz", kind="sitemap").body
        pages = sitemap(f"{site.url}/a", f"{site.url}/b").body
        site.pages["/more.xml.gz"] = text(gzip.compress(inner), "application/gzip")
        site.pages["/pages.xml.gz"] = text(gzip.compress(pages), "application/octet-stream")
        assert keys(source_of(site)) == {"/a", "/b"}


BILLION_LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY f SYSTEM "file:///etc/passwd">]>
<urlset><url><loc>URL/a</loc></url><url><loc>URL/b&a;</loc></url><url><loc>URL/&d;&f;</loc></url></urlset>"""


def test_entities_of_a_sitemap_are_not_expanded():
    with SiteServer(small_site()) as site:
        site.pages["/sitemap.xml"] = text(BILLION_LAUGHS.replace(b"URL", site.url.encode()), "text/xml")
        assert "/a" in keys(source_of(site))
        assert not [path for path in site.paths() if "aaaa" in path or "root" in path]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<urlset><url><loc>http://127.0.0.1/a</loc></url><url><lo", "truncated"),
        (b"<!DOCTYPE html><html><body>We will be back soon.</body></html>", "not a sitemap"),
        (b"We will be back soon.", "not a sitemap"),
        (gzip.compress(b"<urlset></urlset>", mtime=0)[:-5], "truncated"),
        (gzip.compress(b"\0" * 70_000_000, mtime=0), "larger than"),
    ],
)
def test_a_list_that_cannot_be_read_whole_is_an_error(body, reason):
    with SiteServer(small_site()) as site:
        site.pages |= {"/robots.txt": text(f"Sitemap: {site.url}/map"), "/map": text(body, "application/xml")}
        with pytest.raises(SourceError, match=reason):
            documents(source_of(site))
        site.pages |= {"/robots.txt": text(""), "/sitemap.xml": text(body, "application/xml")}
        if reason == "not a sitemap":
            assert len(documents(source_of(site))) == 9  # we guessed its place, and wrongly


@pytest.mark.parametrize("status", [403, 500])
def test_a_list_that_is_refused_is_an_error(status):
    with SiteServer(small_site()) as site:
        site.pages["/map.xml"] = Resource(b"", "application/xml", status)
        with pytest.raises(SourceError, match=f"HTTP {status}"):
            documents(source_of(site, sitemaps=[f"{site.url}/map.xml"]))
        with pytest.raises(SourceError, match="HTTP 404"):
            documents(source_of(site, sitemaps=[f"{site.url}/missing.xml"]))


def test_a_private_address_is_not_reached_unless_it_is_allowed():
    with SiteServer(small_site()) as site:
        with pytest.raises(ForbiddenAddressError, match=r"127\.0\.0\.1") as caught:
            documents(source_of(site, allow_hosts=[]))
        assert "allow_hosts" in caught.value.remedy
        assert not caught.value.retryable
        assert site.requests == []


def test_a_name_is_resolved_once_and_what_was_looked_at_is_what_is_connected_to():
    answers = ["127.0.0.1", "192.0.2.1", "192.0.2.1"]
    asked = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return [answers[len(asked) - 1]]

    with SiteServer(small_site()) as site:
        url = f"http://docs.example.com:{site.port}"
        fetcher = partial(Fetcher, resolve=resolve)
        source = SiteSource(
            declare(site, url=url, allow_hosts=["docs.example.com"]), timeout=5.0, max_retries=0, fetcher=fetcher
        )
        assert len(documents(source)) == 9
        assert asked == ["docs.example.com"]
        assert {request.headers["host"] for request in site.requests} == {f"docs.example.com:{site.port}"}


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.8", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fe80::1%1"]
)
def test_a_public_name_with_a_private_address_is_refused(address):
    with SiteServer(small_site()) as site:
        fetcher = partial(Fetcher, resolve=lambda host, port: ["8.8.8.8", address])
        declaration = declare(site, url=f"http://docs.example.com:{site.port}", allow_hosts=[])
        with pytest.raises(ForbiddenAddressError, match=r"docs\.example\.com"):
            documents(SiteSource(declaration, timeout=5.0, max_retries=0, fetcher=fetcher))
        assert site.requests == []


def test_redirects_and_links_to_other_servers_are_not_followed():
    with SiteServer({"/": page("Secret")}) as other, SiteServer(small_site()) as site:
        site.pages |= {
            "/a": redirect(other.url),
            "/b": redirect(f"//127.0.0.1:{other.port}/"),
            "/c": page("C", "", f'<link rel="canonical" href="{other.url}">'),
            "/d": page("D", links(other.url, "file:///etc/passwd", "gopher://127.0.0.1/", "http://[::1]/", "http://[")),
            "/e": page("E", "", f'<meta http-equiv="refresh" content="0;url={other.url}">'),
            "/f": page("F", links("x"), f'<base href="{other.url}/">'),
            "/g": redirect("http://["),
            "/h": redirect("\\\\127.0.0.1\\x"),
        }
        assert keys(source_of(site)) == {"/", "/c", "/d", "/f"}
        assert other.requests == []


def test_a_sitemap_or_robots_txt_elsewhere_is_guarded_too():
    with SiteServer(small_site()) as site:
        site.pages["/robots.txt"] = text(f"Sitemap: http://localhost:{site.port}/sitemap.xml")
        site.pages["/sitemap.xml"] = sitemap(f"{site.url}/a")
        with pytest.raises(ForbiddenAddressError, match="localhost"):
            documents(source_of(site))
        assert keys(source_of(site, allow_hosts=["127.0.0.1", "localhost"])) == {"/a"}
        site.pages["/robots.txt"] = redirect(f"http://localhost:{site.port}/robots2.txt")
        with pytest.raises(ForbiddenAddressError, match="localhost"):
            documents(source_of(site))


def test_a_slow_answer_ends_in_time():
    with SiteServer(small_site(), faults=[Fault("/c", drip=0.02, times=99)]) as site:
        started = time.monotonic()
        assert failed(list(source_of(site, timeout=0.3).read(None))) == ["docs:/c"]
        assert time.monotonic() - started < 5


def test_a_page_that_redirects_to_itself_fails_and_a_site_that_does_so_is_an_error():
    with SiteServer(small_site()) as site:
        site.pages["/c"] = redirect("/c/")
        site.pages["/c/"] = redirect(f"https://127.0.0.1:{site.port}/c")
        batches = list(source_of(site).read(None))
        assert failed(batches) == ["docs:/c"]
        assert "redirects to itself" in batches[-1].failures[0].reason
        site.pages["/"] = redirect(f"https://127.0.0.1:{site.port}/")
        with pytest.raises(SourceError, match="redirects to itself") as caught:
            documents(source_of(site))
        assert "https" in caught.value.remedy


def test_what_was_read_before_the_end_is_given():
    with SiteServer(small_site(), faults=[Fault("/c", status=429, headers={"Retry-After": "900"}, times=2)]) as site:
        batches = []
        with pytest.raises(SourceError, match="asks to wait"):
            batches.extend(source_of(site).read(None))
        assert ids(batches) == ["docs:/", "docs:/a", "docs:/b"]
        rest = []
        with pytest.raises(SourceError, match="asks to wait"):
            rest.extend(source_of(site).read(batches[-1].cursor))
        assert rest == []
        assert len(documents(source_of(site), batches[-1].cursor)) == 6


def test_a_refresh_to_a_page_that_is_gone_is_no_page():
    with SiteServer({"/": page("Home", links("/a")), "/a": page("A", "", REFRESH)}) as site:
        found, cursor = read(source_of(site))
        assert set(found) == {"/"}
        site.requests.clear()
        assert documents(source_of(site), cursor) == {}
        assert site.bodies() == []


REFRESH = '<meta http-equiv="refresh" content="0; url=/missing">'
