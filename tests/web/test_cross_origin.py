"""Sites that show the widget may ask, and no other site."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from lore.errors import ConfigurationError
from lore.web.access import allowed_sites
from lore.web.app import STATIC, WebOptions

from tests.web.world import SUGGESTION, World

SITE = "https://www.example.com"
OTHERS = ("https://evil.example", "null", "https://www.example.com.evil.example", "http://www.example.com", "https://x")
ALLOWED = "access-control-allow-origin"
WIDGET = ("widget.js", "widget_panel.js", "widget_style.js", "safe_html.js", "api.js", "ago.js")
MOST_BYTES = 30_000


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, options=WebOptions(sites=(SITE,)))
    yield made
    made.close()


@pytest.fixture
def client(world: World) -> Iterator[TestClient]:
    with TestClient(world.app) as opened:
        yield opened


def sent_from(origin: str) -> dict[str, str]:
    return {"Origin": origin, "Sec-Fetch-Site": "cross-site"}


def test_an_allowed_site_asks_judges_and_reads_what_is_refused(client: TestClient, world: World) -> None:
    headers = sent_from(SITE)
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    asked_first = client.options("/api/ask", headers=headers | preflight)
    assert (asked_first.status_code, asked_first.headers[ALLOWED]) == (200, SITE)
    answer = client.post("/api/ask", json={"question": SUGGESTION}, headers=headers)
    assert answer.status_code == 200 and answer.headers[ALLOWED] == SITE
    assert "access-control-allow-credentials" not in answer.headers
    judged = client.post(f"/api/answers/{answer.json()['id']}/feedback", json={"helpful": True}, headers=headers)
    assert judged.status_code == 204
    refused = client.post("/api/ask", json={"question": ""}, headers=headers)
    assert (refused.status_code, refused.headers[ALLOWED]) == (422, SITE)
    assert len(world.pipeline.questions) == 1


@pytest.mark.parametrize("origin", OTHERS)
def test_another_site_neither_asks_nor_reads(client: TestClient, world: World, origin: str) -> None:
    preflight = client.options("/api/ask", headers=sent_from(origin) | {"Access-Control-Request-Method": "POST"})
    assert preflight.status_code == 400 and ALLOWED not in preflight.headers
    assert client.post("/api/ask", json={"question": SUGGESTION}, headers=sent_from(origin)).status_code == 403
    assert ALLOWED not in client.get("/api/sources", headers=sent_from(origin)).headers
    assert world.pipeline.questions == []


def test_without_sites_nobody_else_asks(tmp_path: Path) -> None:
    world = World(tmp_path)
    with TestClient(world.app) as client:
        assert client.post("/api/ask", json={"question": SUGGESTION}, headers=sent_from(SITE)).status_code == 403
    world.close()


def test_every_site_may_load_the_script_and_only_allowed_ones_its_panel(client: TestClient) -> None:
    script = client.get("/widget.js", headers={"Origin": SITE})
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.headers["cross-origin-resource-policy"] == "cross-origin"
    panel = "/static/widget_panel.js"
    assert client.get(panel, headers={"Origin": SITE}).headers[ALLOWED] == SITE
    assert ALLOWED not in client.get(panel, headers={"Origin": OTHERS[0]}).headers


def test_the_widget_is_small() -> None:
    assert sum(len(gzip.compress((STATIC / name).read_bytes())) for name in WIDGET) < MOST_BYTES


def test_sites_are_origins() -> None:
    assert allowed_sites(" https://A.example/, http://localhost:8766,") == (
        "https://a.example",
        "http://localhost:8766",
    )
    for wrong in ("*", "null", "www.example.com", "https://a.example/blog", "https://*.example.com", "file://x"):
        with pytest.raises(ConfigurationError, match="LORE_WEB_SITES"):
            allowed_sites(wrong)
