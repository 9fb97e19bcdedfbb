"""Forty hostile texts through question, source and model, in a real browser: nothing runs, and nothing leaks."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from lore.web.app import WebOptions
from lore.web.render import TAGS

from tests.query.setup import PLAN
from tests.web.test_render import HOSTILE, Reader
from tests.web.world import SUGGESTION, World, served

SECRET = "safe"
ACTIVE = (
    "script, style, form:not(.reason), img, iframe, svg, math, base, object, embed, [onerror], [onload], [onclick], "
    "[onmouseover], [ontoggle], [href^='javascript' i], [href^='data' i], [style]"
)
RIGHT_TO_LEFT = "\u202e[Reset your password](https://evil.example)\u202c"
HUGE = "# " + "*_`[" * 15_000


def looked_at(chromium: Any, url: str, questions: list[str]) -> list[str]:
    """Ask on the page, and return the text of the answers; fails if anything runs or is fetched from elsewhere."""
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(30_000)
    told: list[str] = []
    page.on("dialog", lambda dialog: told.append(dialog.message))
    page.on("request", lambda sent: told.append(sent.url) if not sent.url.startswith((url, "data:")) else None)
    page.goto(f"{url}/")
    page.wait_for_selector("#known-list li")
    for number, question in enumerate(questions):
        page.fill("#question", question)
        page.press("#question", "Enter")
        page.locator(".turn").nth(number).locator(".actions").wait_for()
    assert page.locator("#conversation").locator(ACTIVE).count() == 0
    answers = page.locator(".turn .answer").all_inner_texts()
    page.reload()  # the permalink
    page.wait_for_selector(".turn .actions")
    assert page.locator("#conversation").locator(ACTIVE).count() == 0
    assert told == [] and page.url.startswith(url)
    context.close()
    return list(answers)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_hostile_questions_are_shown_as_they_are(chromium: Any, folder: Path) -> None:
    world = World(folder)
    with served(world) as running:
        looked_at(chromium, running.url, [f"API key {text}" for text in (*HOSTILE, RIGHT_TO_LEFT)])
    world.close()


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("part", range(4))
def test_hostile_sources_are_quoted_as_text(chromium: Any, folder: Path, part: int) -> None:
    texts = [*HOSTILE[part::4], RIGHT_TO_LEFT]
    text = "\n\n".join(f"Rotate the API key under Settings: {one}" for one in texts)
    world = World(folder, text=text)
    with served(world) as running:
        [answer] = looked_at(chromium, running.url, [SUGGESTION])
        assert "Rotate the API key" in answer and "\u202e" not in answer
        found = httpx.get(f"{running.url}/api/search", params={"q": SUGGESTION}).json()["hits"][0]["html"]
        assert {tag for tag, _ in Reader(found).elements} <= TAGS
    world.close()


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("part", range(4))
def test_hostile_output_of_a_model_is_shown_as_text(chromium: Any, folder: Path, part: int) -> None:
    written = "\n\n".join(f"Rotate the API key under Settings {one} [1]" for one in HOSTILE[part::4])
    world = World(folder, written=([PLAN], [written]))
    with served(world) as running:
        [answer] = looked_at(chromium, running.url, [SUGGESTION])
        assert "API key" in answer
    world.close()


def test_hostile_requests_get_an_error_and_reach_nothing(folder: Path) -> None:
    world = World(folder, options=WebOptions(hosts=("127.0.0.1",), metrics_token=""))
    assert world.records
    keys = world.records.api_keys()
    revoked, text = keys.create("Gone", ["board"], 0)
    keys.revoke(revoked.id)
    ask = {"question": "Where is the API key of the board?"}
    chat = {"model": "lore:minutes", "messages": [{"role": "user", "content": ask["question"]}]}
    read = {"name": "read_document", "arguments": {"document": "minutes:1"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": read}
    as_json = {"Content-Type": "application/json"}
    surrogate = {"question": "\x00\ud800".encode("utf-8", "surrogatepass").decode("latin-1")}
    with served(world) as running:
        attempts: list[tuple[str, str, dict[str, Any], set[int]]] = [
            ("POST", "/api/ask", {"json": {**ask, "audiences": ["board"]}}, {422}),
            ("POST", "/api/ask", {"json": {**ask, "sources": ["minutes"]}}, {200, 422}),
            ("POST", "/api/ask", {"json": {"question": HUGE}}, {413, 422}),
            ("POST", "/api/ask", {"json": surrogate}, {200, 422}),
            ("POST", "/api/ask", {"json": ask, "headers": {"Authorization": f"Bearer {text}"}}, {401}),
            ("POST", "/api/ask", {"json": ask, "headers": {"X-Forwarded-User": "board", "X-Audience": "board"}}, {200}),
            ("POST", "/api/ask", {"json": ask, "headers": {"X-Forwarded-For": "10.0.0.1", "Via": "x"}}, {200}),
            ("POST", "/api/ask", {"json": ask, "headers": {"Cookie": "lore_session=forged; lore_reader=x"}}, {200}),
            ("POST", "/api/ask", {"json": ask, "headers": {"Origin": "https://evil.example"}}, {403}),
            ("POST", "/api/ask", {"json": ask, "headers": {"Sec-Fetch-Site": "cross-site"}}, {403}),
            ("POST", "/api/ask", {"json": ask, "headers": {"Host": "evil.example"}}, {421}),
            ("POST", "/api/ask", {"content": b"question=x", "headers": {"Content-Type": "text/plain"}}, {415}),
            ("POST", "/api/ask", {"content": b"[" * 60_000, "headers": as_json}, {400, 422}),
            ("POST", "/v1/chat/completions", {"json": chat}, {404}),
            ("POST", "/v1/chat/completions", {"json": {"model": "../lore", "messages": []}}, {400}),
            ("POST", "/mcp", {"json": call}, {400, 406}),
            ("GET", "/static/%2e%2e/access.py", {}, {404}),
            ("GET", "/static/..%2faccess.py", {}, {404}),
            ("GET", "/static/..%5caccess.py", {}, {404}),
            ("GET", "/static/%2e%2e%2f%2e%2e%2fstemming.py", {}, {404}),
            ("GET", "/static//etc/passwd", {}, {404}),
            ("GET", "/a/%0d%0aSet-Cookie:%20x=y", {}, {200, 404}),
            ("GET", "/metrics", {}, {403}),
            ("GET", "/api/index", {}, {404}),
            ("GET", "/login?to=//evil.example", {}, {404}),
            ("GET", "/docs", {}, {404}),
        ]
        assert _as_written(running.url, "/static/../access.py") == _as_written(running.url, "/static/../../x") == 404
        for method, path, sent, expected in attempts:
            response = httpx.request(method, f"{running.url}{path}", **sent, timeout=30)
            assert response.status_code in expected, (path, response.status_code, response.text[:200])
            assert SECRET not in response.text and "Traceback" not in response.text, path
            assert "evil.example" not in str(response.headers) and "x=y" not in response.headers.get("set-cookie", "")
            assert response.headers["x-content-type-options"] == "nosniff"
    world.close()


def _as_written(url: str, path: str) -> int:
    """Return the status of a path that no client has normalized."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return int(connection.recv(64).split()[1])
