"""The example of a website: its pages are those of the index, and its visitors' questions leave the index alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from lore.convert import convert
from lore.declarations import load_declarations
from lore.settings import Settings
from lore.web.app import create_app
from lore.web.services import open_services
from lore.wiring.ingest import make_sync
from lore.wiring.sources import make_source

from examples.website.build import build
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "website"
BASE = "http://localhost:8766"
LORE = "http://localhost:8767"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("website") / "site"
    build(EXAMPLE / "content", EXAMPLE / "style.css", target, LORE)
    return target


def page_at(site: Path, address: str) -> str:
    return (site / address.strip("/") / "index.html").read_text(encoding="utf-8")


def test_addresses_of_the_index_are_pages_and_sections_of_the_site(site: Path) -> None:
    [declaration] = load_declarations(EXAMPLE / "sources").valid
    documents = [one for batch in make_source(declaration, Settings.of()).read(None) for one in batch.documents]
    assert len(documents) == len(list(site.rglob("index.html"))) == 8
    for document in documents:
        page = page_at(site, document.url.removeprefix(BASE))
        converted = convert(document)
        assert f"<title>{converted.title}</title>" in page
        assert f'<script src="{LORE}/widget.js"' in page


def test_no_link_of_the_site_is_broken(site: Path) -> None:
    links = {link for page in site.rglob("*.html") for link in re.findall(r'href="(/[^"]*)"', page.read_text("utf-8"))}
    assert {"/commissions", "/projects/tide-clock"} <= links
    for link in links - {"/style.css"}:
        assert page_at(site, link)


@contextmanager
def visitors(folder: Path) -> Iterator[TestClient]:
    settings = Settings.of(
        index_uri=str(folder / "index"),
        staging_uri=str(folder / "staging"),
        records_url=f"sqlite:///{folder}/records.db",
        sources_dir=EXAMPLE / "sources",
        assistant=EXAMPLE / "assistant.yaml",
    )
    [declaration] = load_declarations(settings.project.sources_dir).valid
    make_sync(declaration, settings).run()
    with open_services(settings) as services, TestClient(create_app(services)) as client:
        yield client


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
def test_visitors_get_answers_from_the_context_and_the_pages_and_write_nothing(tmp_path: Path, site: Path) -> None:
    with visitors(tmp_path) as client:
        before = contents(tmp_path / "index")

        def ask(question: str, history: list[dict[str, str]] | None = None) -> Any:
            return client.post("/api/ask", json={"question": question, "history": history or []}).json()

        easy = ask("When is the studio open?")
        assert "Tuesday to Friday" in easy["text"] and easy["citations"][0]["title"] == "Saltmarsh Studio assistant"
        hard = ask("How does the tide clock survive a power cut?")
        assert "supercapacitor" in hard["text"]
        address = hard["citations"][0]["url"].removeprefix(BASE)
        path, _, section = address.partition("#")
        assert section and f'id="{section}"' in page_at(site, path)
        turns = [{"role": "user", "content": hard["question"]}, {"role": "assistant", "content": hard["text"]}]
        follow_up = ask("And how long does it keep the time?", turns)
        assert "six days" in follow_up["text"]
        assert not ask("Who won the GraphQL championship?")["found"]
        assert contents(tmp_path / "index") == before
