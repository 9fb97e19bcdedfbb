"""A documentation site of real pages, as Sphinx makes it, crawled whole: nothing lost, doubled or taken from around."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import lxml.html
import pytest
from lore.convert import convert
from lore.ingest.report import SyncReport
from lore.ingest.split.splitter import MarkdownSplitter
from lore.stores.lancedb.store import LanceStore
from lore.types import Chunk, Recipe

from tests.fakes import FakeEmbedder
from tests.servers.site import SiteServer
from tests.servers.sphinx import DOCS, build, find_sphinx, served
from tests.sources.site.sites import source_of
from tests.syncs import make_sync

PAGES = ("index.rst", "core-concepts/**", "tutorial/**", "authoring-and-scheduling/**")
"""Enough for every kind of page, and built in seconds."""
AROUND = {
    "alabaster": ("Table of Contents", "Related Topics", "Documentation overview", "Powered by Sphinx", "Page source"),
    "classic": ("Quick search", "Previous topic", "Next topic", "This Page", "Show Source", "Created using Sphinx"),
}
"""What each theme writes around the text."""
LISTS = ("/genindex.html", "/search.html", "/py-modindex.html")


@dataclass(frozen=True)
class Crawled:
    """A site after its first sync, what that said and left, and what a second one said."""

    folder: Path
    theme: str
    server: SiteServer
    store: LanceStore
    first: SyncReport
    bodies: list[str]
    second: SyncReport
    bodies_again: list[str]

    def chunks(self) -> Iterator[Chunk]:
        for document in self.store.documents("docs"):
            yield from self.store.chunks(document.id)


@pytest.fixture(scope="module")
def read(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("sphinx")


@pytest.fixture(scope="module", params=AROUND)
def crawled(request, shared_data, read, tmp_path_factory) -> Iterator[Crawled]:
    program = find_sphinx()
    if program is None:
        pytest.skip("no sphinx-build; `make sphinx` installs one, or point LORE_TEST_SPHINX_BUILD at one")
    if not (shared_data / DOCS / "index.rst").is_file():
        pytest.skip(f"the shared test data has no {DOCS}")
    folder = build(program, shared_data / DOCS, read, request.param, PAGES)
    index = tmp_path_factory.mktemp("index")
    embedder = FakeEmbedder()
    store = LanceStore(str(index / "index"), Recipe(embedder.name, embedder.dimensions))
    with served(folder) as server:

        def sync() -> tuple[SyncReport, list[str]]:
            server.requests.clear()
            source = source_of(server, max_retries=0)
            staging = str(index / "staging")
            report = make_sync(source, store, embedder, MarkdownSplitter(800), convert, staging_uri=staging).run()
            return report, server.bodies()

        yield Crawled(folder, request.param, server, store, *sync(), *sync())


def linked_pages(folder: Path) -> set[str]:
    """The pages that links lead to from the first one on, by a walk of our own."""
    found, waiting = {"/index.html"}, ["/index.html"]
    while waiting:
        here = waiting.pop()
        for link in lxml.html.parse(str(folder / here[1:])).iter("a"):
            target = urlsplit(urljoin(f"http://site{here}", urldefrag(link.get("href") or "").url))
            path = target.path
            if (
                target.netloc == "site"
                and path.endswith(".html")
                and path not in found
                and (folder / path[1:]).exists()
            ):
                found.add(path)
                waiting.append(path)
    return found


def around(folder: Path) -> set[str]:
    """The lines that stand outside of the text on most pages."""
    lines: Counter[str] = Counter()
    pages = [path for path in folder.rglob("*.html") if f"/{path.relative_to(folder)}" not in LISTS]
    for path in pages:
        root = lxml.html.parse(str(path)).getroot()
        for body in root.xpath("//div[@role='main']"):
            body.drop_tree()
        for script in root.xpath("//script | //style | //title"):
            script.drop_tree()
        lines.update({line.strip() for line in root.text_content().splitlines()} - {""})
    return {line for line, count in lines.items() if count > len(pages) / 2}


@pytest.mark.slow
def test_every_page_is_there_once_and_none_is_lost(crawled):
    expected = {page for page in linked_pages(crawled.folder) if page not in LISTS}
    assert len(expected) > 35
    assert (crawled.first.new, len(crawled.first.failures)) == (len(expected), 0)
    held = {document.url.removeprefix(crawled.server.url) for document in crawled.store.documents("docs")}
    assert {"/index.html" if url == "/" else url for url in held} == expected
    assert max(Counter(crawled.bodies).values()) == 1


@pytest.mark.slow
def test_a_second_crawl_fetches_no_body_and_embeds_nothing(crawled):
    report = crawled.second
    assert (report.new, report.changed, report.removed, report.embedded_texts) == (0, 0, 0, 0)
    assert crawled.bodies_again == []


@pytest.mark.slow
def test_what_stands_around_the_text_reaches_no_passage(crawled):
    lines: Counter[str] = Counter()
    words = around(crawled.folder)
    assert words.intersection(AROUND[crawled.theme]), "the theme writes around its text what we look for"
    for chunk in crawled.chunks():
        lines.update({line.strip(" *#-|") for line in chunk.text.splitlines()} - {""})
        for phrase in AROUND[crawled.theme]:
            assert phrase not in chunk.text
    repeated = [line for line, _ in lines.most_common(10)]
    assert not words.intersection(repeated)


@pytest.mark.slow
def test_citations_lead_to_sections_that_the_pages_have(crawled):
    anchored = 0
    names: dict[str, set[str]] = {}
    for chunk in crawled.chunks():
        address, fragment = urldefrag(chunk.url)
        path = urlsplit(address).path.lstrip("/") or "index.html"
        if path not in names:
            root = lxml.html.parse(str(crawled.folder / path)).getroot()
            names[path] = set(root.xpath("//@id"))
        assert not fragment or fragment in names[path]
        anchored += bool(fragment)
    assert anchored > crawled.store.count("docs").chunks / 2
