"""Logins: by OpenID Connect and by a proxy; what people read then, and what a lying provider or header gets."""

from __future__ import annotations

import base64
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi.testclient import TestClient
from itsdangerous import TimestampSigner
from joserfc.jwk import RSAKey
from lore.declarations.access import Access, load_access
from lore.errors import DeclarationError
from lore.web.app import WebOptions
from lore.web.people import KeepPeer, Person, session_value
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from tests.servers.openid import SECRET, OpenIdProvider, Spoil
from tests.web.test_keys import SECRET as PRIVATE
from tests.web.test_keys import found
from tests.web.world import SUGGESTION, World, served

PAGE = "http://localhost"
GROUPS = {"board-members": ("board",), "engineering": ("code",)}


@pytest.fixture
def provider() -> Iterator[OpenIdProvider]:
    with OpenIdProvider() as started:
        yield started


@pytest.fixture
def access(provider: OpenIdProvider) -> Access:
    login = {"issuer": provider.base_url, "client_id": "lore", "url": PAGE}
    return Access.model_validate({"everyone": ["staff"], "groups": GROUPS, "login": login})


@pytest.fixture
def world(tmp_path: Path, access: Access) -> Iterator[World]:
    made = World(tmp_path, options=WebOptions(identified=True, access=access, login_secret=SECRET))
    yield made
    made.close()


@pytest.fixture
def browser(world: World) -> Iterator[TestClient]:
    with TestClient(world.app, base_url=PAGE, follow_redirects=False) as opened:
        yield opened


def log_in(browser: TestClient, to: str = "/") -> httpx.Response:
    """Follow the way to the provider and back, and return the answer of the last step."""
    away = browser.get("/login", params={"to": to})
    if away.status_code != 302:
        return away
    back = httpx.get(away.headers["location"]).headers["location"]
    assert back.startswith(f"{PAGE}/login/callback?")
    return browser.get(back.removeprefix(PAGE))


def test_a_person_logs_in_reads_for_their_groups_and_logs_out(
    browser: TestClient, provider: OpenIdProvider, world: World
) -> None:
    provider.claims["groups"] = ["board-members", "unknown"]
    refused = browser.get("/api/sources")
    assert (refused.status_code, refused.json()["error"]["login"]) == (401, "/login")
    back = log_in(browser, "/?q=keys")
    assert (back.status_code, back.headers["location"]) == (303, f"{PAGE}/?q=keys")
    told = browser.get("/api/sources").json()
    assert (told["reader"], [one["id"] for one in told["sources"]]) == ("Alice Arden", ["docs", "wiki", "minutes"])
    assert PRIVATE in found(browser, {})
    browser.post("/api/ask", json={"question": SUGGESTION})
    [question] = world.pipeline.questions
    assert (question.asker, question.audiences) == ("user:alice", ("public", "staff", "board"))
    assert browser.post("/logout", json={}).status_code == 204
    assert browser.get("/api/sources").status_code == 401


def test_groups_come_from_a_nested_claim_or_from_user_info(tmp_path: Path, provider: OpenIdProvider) -> None:
    login = {"issuer": f"{provider.base_url}/", "client_id": "lore", "url": PAGE, "groups_claim": "realm.roles"}
    access = Access.model_validate({"groups": GROUPS, "login": login})
    world = World(tmp_path, options=WebOptions(identified=True, access=access, login_secret=SECRET))
    for at in (provider.claims, provider.more):
        provider.claims.pop("realm", None)
        at["realm"] = {"roles": ["board-members", 7]}
        with TestClient(world.app, base_url=PAGE, follow_redirects=False) as browser:
            assert log_in(browser).status_code == 303
            assert PRIVATE in found(browser, {})
    world.close()


@pytest.mark.parametrize(
    "forge",
    [
        {"iss": "https://other.example"},
        {"aud": "another client"},
        {"nonce": "another"},
        {"exp": int(time.time()) - 3_600},
        {"sub": ""},
        {"sub": "x" * 500},
        {"alg": "none"},
        {"alg": "HS256"},
        {"key": RSAKey.generate_key(2048, {"kid": "one"})},
    ],
    ids=lambda forge: "-".join(forge),
)
def test_a_forged_token_logs_nobody_in(browser: TestClient, provider: OpenIdProvider, forge: dict[str, Any]) -> None:
    provider.forge = forge
    response = log_in(browser)
    assert (response.status_code, "The login failed" in response.text) == (401, True)
    assert browser.get("/api/sources").status_code == 401


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/keys"])
@pytest.mark.parametrize("status", [500, 200])
def test_a_provider_that_fails_is_told_and_tried_again(
    browser: TestClient, provider: OpenIdProvider, path: str, status: int
) -> None:
    provider.spoils = [Spoil(path, status)]
    response = log_in(browser)
    assert (response.status_code, "Log in again" in response.text) == (401, True)
    provider.spoils = []
    assert log_in(browser).status_code == 303


def test_another_issuer_is_refused_before_anybody_goes_there(browser: TestClient, provider: OpenIdProvider) -> None:
    provider.issuer = "https://other.example"
    response = browser.get("/login")
    assert (response.status_code, "another provider" in response.text) == (401, True)


def test_a_callback_without_its_login_is_refused(browser: TestClient) -> None:
    for query in ("code=code-0&state=forged", "", "error=access_denied&error_description=<script>alert(1)</script>"):
        response = browser.get(f"/login/callback?{query}")
        assert (response.status_code, "<script" in response.text) == (401, False)


@pytest.mark.parametrize(
    "to", ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:x", "/a\r\nX: y"]
)
def test_a_login_leads_back_to_this_server_alone(browser: TestClient, to: str) -> None:
    assert log_in(browser, to).headers["location"] == f"{PAGE}/"


def test_a_session_is_signed_and_follows_the_declaration(
    tmp_path: Path, browser: TestClient, access: Access, provider: OpenIdProvider
) -> None:
    provider.claims["groups"] = ["board-members"]
    log_in(browser)
    cookie = browser.cookies["lore_session"]
    name = "lore_session"
    forged = cookie[:-2] + ("A" if cookie[-2] != "A" else "B") + cookie[-1]
    browser.cookies.clear()
    assert browser.get("/api/sources", headers={"Cookie": f"{name}={forged}"}).status_code == 401
    for changed, expected in (({"groups": {}}, False), ({}, True)):
        options = WebOptions(identified=True, access=access.model_copy(update=changed), login_secret=SECRET)
        other = World(tmp_path, options=options, recorded=False)
        with TestClient(other.app, base_url=PAGE, follow_redirects=False) as client:
            assert client.get("/api/sources", headers={"Cookie": f"{name}={cookie}"}).status_code == 401
            log_in(client)
            assert (PRIVATE in found(client, {})) == expected
        other.close()


def test_a_session_is_that_of_every_server_with_the_secret_until_it_ends(tmp_path: Path, access: Access) -> None:
    options = WebOptions(identified=True, access=access, session_secret="of all servers")
    world = World(tmp_path, options=options, recorded=False)
    client = TestClient(world.app, base_url=PAGE)
    for ends_in, status in ((60.0, 200), (-1.0, 401)):
        session = {"person": session_value(Person("alice", "Alice"), access, time.time() + ends_in)}
        signed = TimestampSigner("of all servers").sign(base64.b64encode(json.dumps(session).encode())).decode()
        assert client.get("/api/sources", headers={"Cookie": f"lore_session={signed}"}).status_code == status
    world.close()


def test_begun_logins_do_not_fill_the_cookie(browser: TestClient) -> None:
    for _ in range(8):
        browser.get("/login")
    assert len(browser.cookies["lore_session"]) < 3_000
    assert log_in(browser).status_code == 303


# ------------------------------------------------------------------------------------------------------------- a proxy


def behind(tmp_path: Path, *addresses: str, peer: str = "10.0.0.7") -> tuple[World, TestClient]:
    access = Access.model_validate({"groups": GROUPS, "proxy": {"addresses": addresses}})
    world = World(tmp_path, options=WebOptions(identified=True, access=access))
    app: Any = KeepPeer(ProxyHeadersMiddleware(world.app, trusted_hosts="*"))  # type: ignore[arg-type]
    return world, TestClient(app, base_url=PAGE, client=(peer, 5_000))


def test_a_proxy_names_people_and_nobody_else_does(tmp_path: Path) -> None:
    headers = {"X-Forwarded-User": "bob", "X-Forwarded-Groups": "engineering, board-members"}
    world, proxied = behind(tmp_path, "10.0.0.0/8")
    assert PRIVATE in found(proxied, {**headers, "X-Forwarded-For": "198.51.100.7"})
    assert PRIVATE not in found(proxied, {"X-Forwarded-User": "carol"})
    proxied.post("/api/ask", json={"question": SUGGESTION}, headers=headers)
    assert [question.asker for question in world.pipeline.questions] == ["user:bob"]
    world.close()
    other, direct = behind(tmp_path / "direct", "10.0.0.0/8", peer="192.0.2.1")
    for forged in ({}, {"X-Forwarded-For": "10.0.0.7"}, {"X-Real-IP": "10.0.0.7"}, {"Forwarded": "for=10.0.0.7"}):
        assert direct.get("/api/sources", headers={**headers, **forged}).status_code == 401
    other.close()


@pytest.mark.parametrize(
    "headers",
    [
        [("X-Forwarded-User", "bob"), ("X-Forwarded-User", "alice")],
        [("X-Forwarded-User", "bob"), ("X-Forwarded-Groups", "a"), ("x-forwarded-groups", "board-members")],
        [("X-Forwarded-User", "x" * 300)],
        [("X-Forwarded-User", "")],
        [("X-Forwarded-Groups", "board-members")],
        [("X_Forwarded_User", "bob")],
    ],
)
def test_doubtful_headers_are_refused(tmp_path: Path, headers: list[tuple[str, str]]) -> None:
    world, proxied = behind(tmp_path, "10.0.0.7", "2001:db8::/32")
    assert proxied.get("/api/sources", headers=headers).status_code == 401
    world.close()


# ------------------------------------------------------------------------------------------------------ the declaration

VALID = """
everyone: [staff]
groups:
  engineering: [code, "slack:C01"]
login:
  issuer: https://login.example.com/
  client_id: lore
  url: https://ask.example.com/lore
"""


def test_a_declaration_gives_audiences_by_group(tmp_path: Path) -> None:
    file = tmp_path / "access.yaml"
    assert load_access(file) is None
    file.write_text(VALID)
    access = load_access(file)
    assert access and access.login and urlsplit(access.login.issuer).path == ""
    assert access.audiences_of(("engineering", "other")) == ("public", "staff", "code", "slack:C01")
    assert access.audiences_of(()) == ("public", "staff")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("login:\n  isuer: https://a.example\n", r"line 2: unknown key `login.isuer`.*Did you mean `issuer`"),
        ("login:\n  issuer: http://a.example\n  client_id: a\n  url: https://b.example\n", r"line 2: .*https"),
        ("proxy:\n  addresses: [all]\n", r"line 2: .*'all', which is neither an address nor a network"),
        ("proxy:\n  addresses: []\n", r"line 2: .*at least 1 entry"),
        ("proxy:\n  addresses: [10.0.0.1]\n  user_header: 'X User'\n", r"line 3: .*invalid name of a header"),
        (f"{VALID}proxy:\n  addresses: [10.0.0.1]\n", r"line 9: `proxy` can't be declared beside `login`"),
        ("groups: [a]\n", r"line 1: `groups` should be a mapping"),
        ("", "is empty"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, wrong: str, told: str) -> None:
    file = tmp_path / "access.yaml"
    file.write_text(wrong)
    with pytest.raises(DeclarationError, match=f"(?s)access.yaml.*{told}"):
        load_access(file)


# ------------------------------------------------------------------------------------------------------------ the page


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_a_reader_logs_in_on_the_page_asks_and_logs_out(
    tmp_path: Path, chromium: Any, provider: OpenIdProvider
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    login = {"issuer": provider.base_url, "client_id": "lore", "url": url}
    access = Access.model_validate({"groups": GROUPS, "login": login})
    world = World(tmp_path, options=WebOptions(identified=True, access=access, login_secret=SECRET))
    with served(world, port=port):
        page = chromium.new_page(viewport={"width": 320, "height": 800})
        page.set_default_timeout(15_000)
        page.goto(f"{url}/?q=How+do+I+rotate+the+API+key%3F")
        page.locator(".notice a").wait_for()
        assert Axe().run(page).violations_count == 0
        page.locator(".notice a").click()  # the question's own link
        page.wait_for_selector(".turn .actions")
        assert "Rotate the API key" in page.inner_text(".answer")
        assert not page.is_visible("#reader") and page.evaluate("document.body.scrollWidth") <= 320
        page.set_viewport_size({"width": 900, "height": 800})
        assert page.inner_text("#reader") == "Alice Arden"
        page.click("#log-out")
        page.click("#log-in")
        page.wait_for_selector("#known-list li")
        page.goto(f"{url}/login/callback?error=access_denied")
        assert "The login failed" in page.inner_text("h1") and Axe().run(page).violations_count == 0
        page.close()
    world.close()
