"""The client for GitHub's API: where the token goes, what is tried again, and what an answer means."""

from __future__ import annotations

import json
import time

import pytest
from lore.declarations import GitHubIssuesDeclaration
from lore.errors import ConfigurationError, SourceError
from lore.settings import Settings
from lore.sources.github.api.app import AppToken, github_access
from lore.sources.github.api.client import GitHubAccess
from lore.sources.github.api.hosts import GitHubHosts
from lore.sources.github.api.replies import GitHubError
from lore.sources.http.addresses import origin_of
from lore.sources.http.retries import RetryPolicy
from lore.wiring.sources import make_source

from tests.servers.github import App, Fault, GitHubServer

ISSUE = {"id": 1, "number": 1, "state": "open", "updated_at": "2024-01-01T00:00:00Z"}
PATH = "/repos/octo/demo/issues/1"


@pytest.fixture
def github():
    with GitHubServer([ISSUE]) as github:
        yield github


def access_to(github, token=None, waits=None, max_retries=1, **more) -> GitHubAccess:
    sleep = (waits if waits is not None else []).append
    return GitHubAccess(
        github.base_url, lambda: token, timeout=5.0, retries=RetryPolicy(max_retries, sleep=sleep, **more)
    )


@pytest.mark.parametrize(
    ("base", "web", "graphql", "archive"),
    [
        ("https://api.github.com", "https://github.com", "https://api.github.com/graphql", "codeload.github.com"),
        ("https://ghe.corp/api/v3", "https://ghe.corp", "https://ghe.corp/api/graphql", "codeload.ghe.corp"),
        (
            "https://ghe.corp:8443/api/v3/",
            "https://ghe.corp:8443",
            "https://ghe.corp:8443/api/graphql",
            "ghe.corp:8443",
        ),
        (
            "https://api.acme.ghe.com",
            "https://acme.ghe.com",
            "https://api.acme.ghe.com/graphql",
            "codeload.acme.ghe.com",
        ),
    ],
)
def test_the_addresses_of_a_github_follow_from_its_api(base, web, graphql, archive):
    hosts = GitHubHosts.of(base)
    assert (hosts.web_url, hosts.graphql_url) == (web, graphql)
    assert origin_of(f"https://{archive}/octo/demo/legacy.tar.gz/x") in hosts.archives
    for other in (f"http://{archive}/x", "https://codeload.github.com.evil.example/x", "https://127.0.0.1/x"):
        assert origin_of(other) not in hosts.archives


@pytest.mark.parametrize("base", ["", "api.github.com", "ftp://api.github.com", "https://", "https://[::1"])
def test_what_is_no_address_is_named(base):
    with pytest.raises(ConfigurationError, match="not a web address"):
        GitHubAccess(base).open()


def test_an_unchanged_answer_has_no_data(github):
    with access_to(github).open() as client:
        first = client.get(PATH)
        assert first.data["number"] == 1
        again = client.get(PATH, etag=first.etag)
        assert again.unchanged
        assert again.data is None
        github.issues[0]["title"] = "Now different"
        assert client.get(PATH, etag=first.etag).data["title"] == "Now different"
    assert github.calls_used == 2


def test_the_end_of_a_limit_is_read_by_the_clock_of_the_server(github):
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + 30)}
    github.faults = [Fault(status=403, headers=headers, body=b"{}")]
    waits: list[float] = []
    slow_clock = access_to(github, waits=waits, now=lambda: time.time() - 7200)
    with slow_clock.open() as client:
        assert client.get(PATH).data
    assert 25 < waits[0] < 35


@pytest.mark.parametrize(
    ("fault", "least"),
    [
        (Fault(status=429, headers={"Retry-After": "9"}), 9),
        (Fault(status=403, body=b'{"message": "You have exceeded a secondary rate limit."}'), 60),
        (Fault(status=429), 60),
        (Fault(status=500), 0),
        (Fault(cut=True), 0),
        (Fault(body=b"[1,"), 0),
        (Fault(body=b"{}", length=900), 0),
    ],
)
def test_what_passes_is_tried_again(github, fault, least):
    github.faults = [fault]
    waits: list[float] = []
    with access_to(github, waits=waits).open() as client:
        assert client.get(PATH).data["number"] == 1
    assert len(waits) == 1
    assert waits[0] >= least


def test_a_refusal_keeps_its_status_and_tells_no_token(github):
    github.faults = [Fault(status=403, body=b'{"message": "tok-123 may not"}')]
    with access_to(github, token="tok-123").open({403: "Ask."}) as client, pytest.raises(GitHubError) as caught:
        client.get(PATH)
    assert (caught.value.status, caught.value.remedy) == (403, "Ask.")
    assert "tok-123" not in str(caught.value)
    assert "tok-123" not in repr(access_to(github, token="tok-123"))


@pytest.mark.parametrize("token", ["a b", "tok\n", "tökén"])
def test_a_token_that_can_be_none_is_not_sent(github, token):
    with access_to(github, token=f"x{token}x").open() as client, pytest.raises(ConfigurationError):
        client.get(PATH)
    assert not github.requests


def test_a_redirect_stays_with_its_server(github):
    github.faults = [
        Fault("/repositories/7", status=301, headers={"Location": PATH}),
        Fault(PATH, after=1, status=302, headers={"Location": "http://x/"}),
    ]
    with access_to(github).open() as client:
        assert client.get("/repositories/7/issues/1").data["number"] == 1
        with pytest.raises(SourceError, match="another server"):
            client.get(PATH)


def test_a_circle_of_redirects_ends(github):
    github.faults = [Fault(status=302, headers={"Location": PATH}, times=99)]
    with access_to(github).open() as client, pytest.raises(SourceError, match="circle"):
        client.get(PATH)


@pytest.mark.parametrize("location", ["http://[", "\x7f\x00", ""])
def test_a_redirect_to_nowhere_is_an_error(github, location):
    github.faults = [Fault(status=302, headers={"Location": location}, times=99)]
    with access_to(github).open() as client, pytest.raises(SourceError):
        client.get(PATH)


class TestGraphQL:
    @pytest.mark.parametrize(
        ("answer", "again"),
        [
            ({"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}, True),
            ({"errors": [{"message": "Something went wrong while executing your query."}]}, True),
            ({"data": None, "errors": [{"type": "INTERNAL", "message": "timeout"}]}, True),
            ({"data": None}, True),
            ([], True),
            ({"data": None, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve to a Repository"}]}, False),
            ({"errors": [{"type": "INSUFFICIENT_SCOPES", "message": "no"}]}, False),
            ({"errors": [{"extensions": {"code": "undefinedField"}, "message": "no"}]}, False),
        ],
    )
    def test_an_error_with_status_200_is_an_error(self, github, answer, again):
        headers = {"x-ratelimit-reset": str(int(time.time()) + 5)}
        github.faults = [
            Fault("graphql", status=200, headers=headers, body=json.dumps(answer).encode()),
            Fault("graphql", status=200, body=b'{"data": {"ok": true}}'),
        ]
        with access_to(github).open() as client:
            if again:
                assert client.graphql("query { ok }", {}) == {"ok": True}
            else:
                with pytest.raises(GitHubError) as caught:
                    client.graphql("query { ok }", {})
                assert caught.value.status in (403, 404, 422)
        assert github.requests[0].body == {"query": "query { ok }", "variables": {}}


class TestApp:
    @pytest.fixture(scope="class")
    def keys(self):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa

        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return private.decode(), public.decode()

    @pytest.fixture
    def app(self, github, keys):
        github.app = App(keys[1])
        return github.app

    def access(self, github, key, **options):
        now = options.pop("now", time.time)
        plain = access_to(github, now=now)
        token = AppToken(plain, "12345", key, repository="octo/demo", **options)
        return GitHubAccess(github.base_url, token, retries=plain.retries)

    def test_the_app_finds_its_installation_and_its_token_is_used(self, github, app, keys):
        with self.access(github, keys[0]).open() as client:
            client.get(PATH)
            client.get(PATH)
        assert github.paths() == ["/repos/octo/demo/installation", "/app/installations/77/access_tokens", PATH, PATH]
        assert github.requests[2].headers["authorization"] == "Bearer ghs_0"

    def test_an_installation_that_is_named_is_not_looked_for(self, github, app, keys):
        with self.access(github, keys[0].replace("\n", "\\n"), installation_id="77").open() as client:
            client.get(PATH)
        assert github.paths() == ["/app/installations/77/access_tokens", PATH]

    def test_a_token_is_renewed_before_it_runs_out(self, github, app, keys):
        clock = [0.0]
        access = self.access(github, keys[0], installation_id="77", now=lambda: time.time() + clock[0])
        with access.open() as client:
            client.get(PATH)
            clock[0] = 3000
            client.get(PATH)
            clock[0] = 3400
            client.get(PATH)
        assert [r.headers["authorization"] for r in github.requests if r.path == PATH] == [
            "Bearer ghs_0",
            "Bearer ghs_0",
            "Bearer ghs_1",
        ]

    @pytest.mark.parametrize("error", [-7200, 7200])
    def test_a_clock_that_is_wrong_is_corrected_by_that_of_github(self, github, app, keys, error):
        access = self.access(github, keys[0], now=lambda: time.time() + error)
        with access.open() as client:
            assert client.get(PATH).data["number"] == 1
        assert len(app.tokens) == 1

    def test_a_key_that_is_none_is_named_and_not_shown(self, github, app):
        with self.access(github, "SECRET-KEY").open() as client, pytest.raises(ConfigurationError) as caught:
            client.get(PATH)
        assert "LORE_GITHUB_APP_PRIVATE_KEY" in str(caught.value)
        assert "SECRET-KEY" not in str(caught.value)

    def test_the_key_of_another_app_is_refused_with_the_remedy(self, github, app, keys):
        app.app_id = "999"
        with self.access(github, keys[0]).open() as client, pytest.raises(GitHubError) as caught:
            client.get(PATH)
        assert "LORE_GITHUB_APP_ID" in caught.value.remedy

    def test_an_app_that_is_not_installed_is_named(self, github, app, keys):
        github.repository = "octo/other"
        with self.access(github, keys[0]).open() as client, pytest.raises(GitHubError) as caught:
            client.get(PATH)
        assert "Install the App for octo/demo" in caught.value.remedy

    def test_settings_reach_the_source(self, github, app, keys):
        settings = Settings.of(github_app_id="12345", github_app_private_key=keys[0], github_token="tok-123")
        declaration = GitHubIssuesDeclaration(id="issues", repository="octo/demo", base_url=github.base_url)
        assert list(make_source(declaration, settings).list_ids()) == ["issues:1"]
        assert github.requests[-1].headers["authorization"] == "Bearer ghs_0"

    def test_settings_choose_between_app_and_token(self, github, app, keys):
        common = {"base_url": github.base_url, "repository": "octo/demo", "token": "tok-123", "max_retries": 0}
        assert github_access(**common).token() == "tok-123"
        assert github_access(**common, app_id="12345", app_private_key=keys[0]).token() == "ghs_0"
        with pytest.raises(ConfigurationError, match="LORE_GITHUB_APP_PRIVATE_KEY"):
            github_access(**common, app_id="12345")
