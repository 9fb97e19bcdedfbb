"""A site that is down and says so with status 200: it changes nothing, and neither does what it says later."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from lore.convert import convert
from lore.errors import LoreError, SourceError
from lore.ingest.options import DocumentSteps, SyncTarget
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.redact.redactor import Redactor
from lore.stores.lancedb.store import LanceStore
from lore.types import Recipe

from tests.fakes import FakeEmbedder
from tests.servers.site import Resource, SiteServer, links, page, sitemap
from tests.sources.site.sites import source_of

LONG_AGO, TODAY = "Mon, 05 Jan 2026 08:00:00 GMT", "Tue, 06 Jan 2026 09:00:00 GMT"
PAGES = [f"/page-{number}" for number in range(1, 6)]


def html(body: str, status: int = 200) -> Resource:
    return Resource(f"<!DOCTYPE html><html>{body}</html>".encode(), status=status)


APOLOGY = "<head><title>Maintenance</title></head><body><h1>We will be back soon</h1><p>Thank you for waiting.</p>"
LOGIN = (
    "<body><h1>Sign in</h1><form method=post><input name=user><input type=password name=p><button>Go</button></form>"
)
OUTAGES: dict[str, Callable[[str], Resource]] = {
    "apology": lambda path: html(APOLOGY),
    "apology with a time and a request's id": lambda path: html(
        f"{APOLOGY}<p>2026-01-06 09:00:{len(path):02}, request 7f3a9c{abs(hash(path)):x}</p>"
    ),
    "apology in the site's frame": lambda path: html(
        f"<head><title>Docs</title></head><body><nav>{links('/', *PAGES)}</nav><main>Back soon.</main>"
    ),
    "login form": lambda path: html(LOGIN),
    "login form that says where it leads": lambda path: html(
        f'<head><title>Sign in to {path}</title></head>{LOGIN}<input type=hidden name=next value="{path}">'
    ),
    "redirect to a login form": lambda path: (
        html(LOGIN) if path == "/login" else Resource(b"", status=302, headers={"Location": "/login"}, etag=False)
    ),
    "not found": lambda path: html("<head><title>404 | Docs</title></head><body><h1>Page not found</h1>"),
    "empty body": lambda path: Resource(b""),
    "empty page": lambda path: html("<body></body>"),
    "an app without its text": lambda path: html(
        "<head><title>Docs</title></head><body><noscript>Please enable JavaScript.</noscript><div id=root></div>"
    ),
    "empty text": lambda path: Resource(b"\n", "text/plain"),
    "HTTP 500": lambda path: html(APOLOGY, 500),
    "HTTP 503": lambda path: html(APOLOGY, 503),
    "HTTP 403": lambda path: html(LOGIN, 403),
    "HTTP 404": lambda path: html(APOLOGY, 404),
    "HTTP 404 below a home page that apologizes": lambda path: html(APOLOGY, 200 if path == "/" else 404),
    "redirect to a home page that apologizes": lambda path: (
        html(APOLOGY) if path == "/" else Resource(b"", status=302, headers={"Location": "/"}, etag=False)
    ),
}


@pytest.fixture
def validators(request) -> str:
    return getattr(request, "param", "date")


@pytest.fixture
def site(request, validators: str):
    paths = PAGES[: getattr(request, "param", len(PAGES) + 1) - 1]
    pages = {"/": page("Home", links(*paths)), **{path: page(f"Text of {path}") for path in paths}}
    with SiteServer({path: validated(one, validators, LONG_AGO) for path, one in pages.items()}) as site:
        yield site


def validated(resource: Resource, validators: str, date: str) -> Resource:
    headers = {**resource.headers, "Last-Modified": date} if validators == "date" else resource.headers
    return replace(resource, headers=headers, etag=validators == "tag" and resource.etag)


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    return LanceStore(str(tmp_path / "index"), Recipe("fake:words", 64))


@pytest.fixture
def sync(site: SiteServer, store: LanceStore, tmp_path: Path):
    def run(**options: object):
        source = source_of(site, max_retries=0, **options)
        target = SyncTarget(store, FakeEmbedder())
        steps = DocumentSteps(convert, MarkdownSplitter(800), Redactor())
        return Sync(source, target, steps, staging_uri=str(tmp_path / "staging")).run()

    return run


def texts(store: LanceStore) -> dict[str, tuple[str, str, str]]:
    return {one.id: (one.title, one.url, one.text) for one in store.documents("docs")}


@pytest.mark.parametrize(
    "outage",
    [pytest.param(one, marks=[pytest.mark.slow] if number % 4 else []) for number, one in enumerate(OUTAGES)],
)
def test_after_an_outage_the_index_is_as_it_was(site, store, sync, validators, outage):
    survive(site, store, sync, validators, outage)


@pytest.mark.slow
@pytest.mark.parametrize("outage", OUTAGES)
@pytest.mark.parametrize("site", [2, len(PAGES) + 1], indirect=True)
@pytest.mark.parametrize("validators", ["tag", "date", "none"], indirect=True)
@pytest.mark.parametrize("listed", [False, True])
def test_so_it_is_with_any_site(site, store, sync, validators, outage, listed):
    if outage.startswith(("HTTP 404 below", "redirect to a home")) and len(site.pages) == 2:
        pytest.skip("one page of two may change, and the other may go")
    survive(site, store, sync, validators, outage, listed=listed)


def survive(site, store, sync, validators, outage, *, listed=False) -> None:
    """Two syncs in an outage and one after it leave the index as it was, and the next edit is seen."""
    options = {}
    if listed:
        options = {"discovery": "sitemap", "sitemaps": [f"{site.url}/sitemap.xml"]}
        site.pages["/sitemap.xml"] = sitemap(*(site.url + path for path in list(site.pages)))
    assert sync(**options).status == "ok"
    before, pages = texts(store), dict(site.pages)
    site.otherwise = lambda path: validated(OUTAGES[outage](path), validators, TODAY)
    for _ in range(2):
        site.pages = {path: one for path, one in pages.items() if path == "/sitemap.xml"}
        with suppress(LoreError):
            sync(**options)
        assert texts(store) == before
    site.pages, site.otherwise = pages, None
    sync(**options)
    assert texts(store) == before
    assert sync(**options).status == "ok"
    site.pages["/page-1"] = validated(page("Text of page 1, edited"), validators, TODAY)
    sync(**options)
    assert {name for name, text in texts(store).items() if text != before[name]} == {"docs:/page-1"}


@pytest.mark.parametrize("outage", ["apology", "login form"])
def test_an_outage_is_named(site, store, sync, outage):
    sync()
    site.pages, site.otherwise = {}, OUTAGES[outage]
    with pytest.raises(SourceError, match=r"answers 6 of 6 addresses with the same text") as caught:
        sync()
    assert not caught.value.retryable
    assert store.state("docs").status == "failed"
    assert "same text" in store.state("docs").report["reason"]


def test_a_site_that_is_down_at_first_is_not_indexed(site, store, sync):
    site.pages, site.otherwise = {}, lambda path: html(f"<body>{links('/', *PAGES)}<h1>We will be back soon</h1>")
    with pytest.raises(SourceError, match="same text"):
        sync()
    assert texts(store) == {}
