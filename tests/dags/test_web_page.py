"""The page in a real Airflow below a base path: logged out, as a viewer, as an administrator; asking and the index."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from lore.orchestration.environment import airflow_environment

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

START_SECONDS = 120.0
QUESTIONS = "".join(
    f"- question: {question}\n  pages: [handbook:page.md]\n"
    for question in (
        "How do I rotate the API key?",
        "Where is the API key rotated?",
        "How long does the old key work?",
        "What happens to the old key?",
        "Does the old API key still work?",
    )
)
ACCEPT_PAGE = {"Accept": "text/html"}


@dataclass(frozen=True)
class Site:
    """An API server of Airflow, and what its users may do."""

    url: str
    passwords: dict[str, str]

    def token(self, user: str) -> str:
        body = {"username": user, "password": self.passwords[user]}
        return str(httpx.post(f"{self.url}/auth/token", json=body).json()["access_token"])

    def client(self, user: str) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.token(user)}"}, timeout=60)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    texts = {
        "handbook": ("Rotate the API key under Settings. The old key works for a day.", ""),
        "minutes": ("The safe of the board is behind the picture.", "audiences: [board]\n"),
    }
    (folder / "sources").mkdir()
    for name, (text, audiences) in texts.items():
        (folder / name).mkdir()
        (folder / name / "page.md").write_text(f"# {name.title()}\n\n{text}\n")
        (folder / "sources" / f"{name}.yaml").write_text(f"kind: files\npath: ../{name}\n{audiences}")
    (folder / "handbook" / "broken.ipynb").write_text("{ no notebook")
    (folder / "sources" / "handbook.yaml").write_text("kind: files\npath: ../handbook\nmax_failed_share: 0.9\n")
    (folder / "access.yaml").write_text("groups:\n  admin: [board]\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/airflow"
    environ = {
        **os.environ,
        **airflow_environment(folder / "airflow", port=port, log_level="WARNING"),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin,vera:viewer",
        "LORE_SOURCES_DIR": str(folder / "sources"),
        "LORE_ACCESS": str(folder / "access.yaml"),
        "LORE_INDEX_URI": str(folder / "index"),
        "LORE_STAGING_URI": str(folder / "staging"),
        "LORE_RECORDS_URL": f"sqlite:///{folder}/records.db",
    }

    def run(*command: str) -> None:
        subprocess.run([sys.executable, "-m", *command], cwd=folder, env=environ, check=True, capture_output=True)

    run("lore.cli", "sync", "--all")
    run("lore.cli", "index", "build", "--chunk-characters", "500")
    (folder / "questions.yaml").write_text(QUESTIONS)
    run("lore.cli", "index", "judge", "2", "--questions", "questions.yaml")
    run("lore.cli", "index", "promote", "2", "--force")
    run("airflow", "db", "migrate")
    run("airflow", "dags", "reserialize")
    with (folder / "server.log").open("wb") as log:
        command = [sys.executable, "-m", "airflow", "api-server", "--port", str(port), "--host", "127.0.0.1"]
        environ["LORE_CHUNK_CHARACTERS"] = "500"
        server = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)
        try:
            _wait_for(f"{url}/api/v2/monitor/health", server)
            passwords = json.loads((folder / "airflow" / "passwords.json").read_text())
            yield Site(url, passwords)
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(20)
            shutil.rmtree(folder / "airflow" / "logs", ignore_errors=True)


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        assert server.poll() is None and time.monotonic() < until
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.3)


def test_nobody_asks_without_a_login(site: Site) -> None:
    paths = (
        "/lore/",
        "/lore/index",
        "/lore/api/sources",
        "/lore/static/page.js",
        "/lore/openapi.json",
        "/lore/metrics",
    )
    for path in paths:
        for headers in ({}, {"Authorization": "Bearer forged"}, {"Cookie": "_token=forged"}):
            assert httpx.get(f"{site.url}{path}", headers=headers).status_code == 401
        page = httpx.get(f"{site.url}{path}", headers=ACCEPT_PAGE)
        assert page.status_code == 307 and "/auth/login?next=%2Fairflow%2Flore" in page.headers["location"]
    assert httpx.post(f"{site.url}/lore/api/ask", json={"question": "key"}).status_code == 401


def test_users_read_for_their_roles_and_other_sites_never_ask(site: Site) -> None:
    question = {"question": "Where is the safe of the board?"}
    with site.client("vera") as viewer, site.client("admin") as admin:
        assert "picture" in admin.post("/lore/api/ask", json=question).json()["text"]
        assert "picture" not in viewer.post("/lore/api/ask", json=question).json()["text"]
        assert [one["id"] for one in viewer.get("/lore/api/sources").json()["sources"]] == ["handbook"]
        assert viewer.get("/lore/metrics").status_code == 403
    for origin in ("https://evil.example", "null"):
        headers = {"Cookie": f"_token={site.token('admin')}", "Origin": origin}
        assert httpx.post(f"{site.url}/lore/api/ask", json=question, headers=headers).status_code == 403


def _log_in(chromium: Any, site: Site, user: str, **options: Any) -> Any:
    page = chromium.new_context(viewport={"width": 1200, "height": 900}, **options).new_page()
    page.set_default_timeout(30_000)
    page.goto(f"{site.url}/lore/", wait_until="domcontentloaded")
    page.fill("input[name=username]", user)
    page.fill("input[name=password]", site.passwords[user])
    page.click("button[type=submit]")
    page.wait_for_selector("#known-list li")  # the login led back to the page
    return page


def _framed(page: Any, site: Site, path: str) -> Any:
    """Return the frame in which Airflow shows a page of the plugin."""
    page.goto(f"{site.url}/plugin/{path}", wait_until="domcontentloaded")
    handle = page.wait_for_selector("iframe")
    return handle.content_frame()


def test_a_viewer_asks_in_airflows_page_and_opens_a_source(chromium: Any, site: Site) -> None:
    page = _log_in(chromium, site, "vera")
    page.goto(f"{site.url}/", wait_until="domcontentloaded")
    page.get_by_text("Ask Lore").first.click()
    frame = page.wait_for_selector("iframe").content_frame()
    frame.fill("#question", "How long does the old key work?")
    frame.press("#question", "Enter")
    frame.wait_for_selector(".turn .actions")
    assert "a day" in frame.inner_text(".answer")
    assert frame.inner_text("#reader") == "vera"
    frame.click("#to-index")
    frame.wait_for_selector("#sources .row")
    assert "broken.ipynb" in frame.inner_text("#source-handbook")
    frame.click("#source-handbook button")
    frame.wait_for_selector("[role=alert]")
    assert "You may not trigger the DAG ingest_handbook" in frame.inner_text("#notice")
    page.context.close()


def test_an_administrator_syncs_and_rolls_back_by_triggering_dags(chromium: Any, site: Site) -> None:
    page = _log_in(chromium, site, "admin")
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda told: errors.append(told.text) if "Content Security Policy" in told.text else None)
    frame = _framed(page, site, "lore-index")
    frame.wait_for_selector("#versions .row")
    assert [row.inner_text().split("\n")[0] for row in frame.query_selector_all(".row")] == [
        "handbook",
        "minutes",
        "Version 1",
        "Version 2",
    ]
    assert "Judged against version 1 on 5 questions of questions.yaml" in frame.inner_text("#version-2")
    frame.click("#source-handbook button")
    frame.get_by_text("See the run").wait_for()
    assert "the DAG is paused" in frame.inner_text("#notice")
    with page.context.expect_page() as opened:
        frame.get_by_text("See the run").click()
    assert "/airflow/dags/ingest_handbook/runs/" in opened.value.url
    frame.click("#version-1 button")
    frame.get_by_text("Cancel").click()
    frame.click("#version-1 button")
    assert "instead of version 2" in frame.inner_text("#confirm")
    frame.click("#confirm-yes")
    frame.wait_for_selector("#notice a[href*=rollback_version]")
    with site.client("admin") as admin:
        runs = admin.get("/api/v2/dags/rollback_version/dagRuns").json()["dag_runs"]
    assert len(runs) == 1
    assert errors == []
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_about_the_index_is_accessible_and_fits(chromium: Any, site: Site, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = _log_in(chromium, site, "admin", color_scheme=scheme)
    for width in (320, 768, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{site.url}/lore/index")
        page.wait_for_selector("#versions .row")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()
