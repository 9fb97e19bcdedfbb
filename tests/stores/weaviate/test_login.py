"""Logins to Weaviate by OpenID Connect, against a server that issues tokens and a port that answers gRPC."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs

import grpc
import pytest
from lore.errors import ConfigurationError, StoreError
from lore.settings import load_settings
from lore.stores.weaviate.server.connection import WeaviateConnection, WeaviateServer
from lore.wiring.stores import weaviate_server

from tests.servers.local import LocalServer, QuietHandler


class LoginHandler(QuietHandler):
    api: LoginServer

    def do_GET(self) -> None:
        origin = self.api.origin
        bodies = {
            "/v1/.well-known/openid-configuration": {"href": f"{origin}/issuer", "clientId": "weaviate"},
            "/issuer": {"token_endpoint": f"{origin}/token"},
            "/v1/meta": {"version": "1.39.0"},
        }
        if self.path == "/v1/meta":
            self.api.authorized.append(self.headers.get("Authorization", ""))
        found = bodies.get(self.path)
        self._send(200 if found else 404, found or {})

    def do_POST(self) -> None:
        form = {name: values[0] for name, values in parse_qs(self._body()).items()}
        self.api.logins.append(form)
        if "wrong" in form.values():
            self._send(401, {"error": "invalid_grant", "error_description": "No user has the password wrong"})
        else:
            self._send(200, {"access_token": "issued", "refresh_token": "later", "expires_in": 3600})

    def _body(self) -> str:
        return self.rfile.read(int(self.headers["Content-Length"])).decode()

    def _send(self, status: int, body: object) -> None:
        self.reply(status, {"Content-Type": "application/json"}, json.dumps(body).encode(), None)


class LoginServer(LocalServer):
    """The parts of Weaviate and of an OpenID Connect server that a login needs. `logins` has the forms sent to it,
    `authorized` the header of each call of Weaviate's API.
    """

    handler = LoginHandler

    def __init__(self) -> None:
        self.logins: list[dict[str, str]] = []
        self.authorized: list[str] = []


@pytest.fixture
def server() -> Iterator[LoginServer]:
    with LoginServer() as running:
        yield running


@pytest.fixture
def grpc_port() -> Iterator[int]:
    """A gRPC server without services: any answer shows that it is there."""
    running = grpc.server(ThreadPoolExecutor(1))
    port = running.add_insecure_port("127.0.0.1:0")
    running.start()
    yield port
    running.stop(None)


def connect(server: LoginServer, grpc_port: int, login: dict[str, object]) -> WeaviateConnection:
    environ = {
        "LORE_WEAVIATE_URL": server.origin,
        "LORE_WEAVIATE_GRPC_PORT": str(grpc_port),
        "LORE_WEAVIATE_OIDC": json.dumps(login),
    }
    return WeaviateConnection(weaviate_server(load_settings(environ)))


@pytest.mark.parametrize(
    ("login", "form"),
    [
        (
            {"username": "ada", "password": "engine", "scope": "offline_access"},
            {"grant_type": "password", "username": "ada", "password": "engine"},
        ),
        ({"client_secret": "s3cret", "scope": "weaviate"}, {"grant_type": "client_credentials"}),
    ],
)
def test_a_login_is_exchanged_for_a_token_that_every_call_carries(
    server: LoginServer, grpc_port: int, login: dict[str, object], form: dict[str, str]
) -> None:
    assert connect(server, grpc_port, login).version() == (1, 39, 0)
    assert form.items() <= server.logins[0].items()
    assert set(server.authorized) == {"Bearer issued"}


def test_a_token_that_was_issued_elsewhere_is_used_as_it_is(server: LoginServer, grpc_port: int) -> None:
    login = {"access_token": "brought", "refresh_token": "later", "expires_in": 3600}
    assert connect(server, grpc_port, login).version() == (1, 39, 0)
    assert set(server.authorized) == {"Bearer brought"}


def test_a_refused_login_says_so_without_the_password(server: LoginServer, grpc_port: int) -> None:
    connection = connect(server, grpc_port, {"username": "ada", "password": "wrong"})
    with pytest.raises(StoreError, match="Couldn't log in to Weaviate") as caught:
        connection.client()
    assert "No user has the password ***" in caught.value.message
    assert "LORE_WEAVIATE_OIDC" in caught.value.remedy


@pytest.mark.parametrize("text", ["secret", '["secret"]', '{"username": "secret"}', '{"password": "secret", "x": 1}'])
def test_what_is_not_a_login_is_refused_without_being_repeated(text: str) -> None:
    settings = load_settings({"LORE_WEAVIATE_URL": "http://127.0.0.1:1", "LORE_WEAVIATE_OIDC": text})
    with pytest.raises(ConfigurationError, match="LORE_WEAVIATE_OIDC") as caught:
        weaviate_server(settings)
    assert "secret" not in caught.value.message


def test_what_a_server_says_later_does_not_repeat_a_token() -> None:
    server = WeaviateServer("http://127.0.0.1:1", oidc={"access_token": "t0ken", "refresh_token": "l4ter"})
    error = WeaviateConnection(server).explain("read", "the tokens t0ken and l4ter have expired")
    assert "the tokens *** and *** have expired" in error.message
