"""The HTTP client against a real server: what is repeated, what is waited for, and what never leaves."""

from __future__ import annotations

import json
import time

import pytest
from lore.errors import ConfigurationError, SourceError
from lore.sources.http.client import HttpError
from lore.sources.http.json_client import JsonClient, Secrets
from lore.sources.http.retries import RetryPolicy

from tests.servers.github import Fault, GitHubServer, rate_limited, too_many_requests

PATH = "/repos/octo/demo/issues"
NOW = 1_700_000_000.0


@pytest.fixture
def waits():
    return []


@pytest.fixture
def get(waits):
    def get(github, path=PATH, *, token="", max_retries=3, **options):
        retries = RetryPolicy(max_retries, sleep=waits.append, now=lambda: NOW)
        secrets = Secrets({"Authorization": f"Bearer {token}"} if token else {})
        with JsonClient(github.base_url, secrets=secrets, retries=retries, **({"timeout": 5.0} | options)) as api:
            return api.get(path)

    return get


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500),
        Fault(status=502, body=b"<html>bad gateway</html>"),
        Fault(status=503, headers={"Retry-After": "0"}),
        Fault(cut=True),
        Fault(body=b'[{"number": 1'),
        Fault(body=b""),
        Fault(body=b"\xff\xfe"),
        Fault(headers={"Content-Encoding": "gzip"}),
    ],
)
def test_what_fails_for_the_moment_is_tried_again(get, waits, fault):
    fault.times = 2
    with GitHubServer([], faults=[fault]) as github:
        assert get(github).data == []
    assert len(github.requests) == 3
    assert len(waits) == 2


def test_waits_grow_and_end(get, waits):
    with GitHubServer(faults=[Fault(status=500, times=99)]) as github, pytest.raises(SourceError) as caught:
        get(github, max_retries=6)
    assert len(github.requests) == 7
    assert caught.value.retryable
    assert "failed 7 times: HTTP 500" in str(caught.value)
    assert waits[0] < waits[2] < waits[4] <= 8 * 1.2


def test_a_server_that_is_not_there_is_named(get, waits):
    with GitHubServer() as github:
        pass
    with pytest.raises(SourceError, match=r"127\.0\.0\.1.* failed 4 times: ConnectError") as caught:
        get(github)
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (too_many_requests("7"), 7),
        (too_many_requests("Tue, 14 Nov 2023 22:13:40 GMT"), 20),
        (rate_limited(NOW + 30), 31),
        (Fault(status=403, body=b'{"message": "You have exceeded a secondary rate limit"}'), 60),
        (Fault(status=429), 60),
        (Fault(status=429, headers={"Retry-After": "soon"}), 60),
        (Fault(status=503, headers={"Retry-After": "3"}), 3),
    ],
)
def test_the_server_says_how_long_to_wait(get, waits, fault, expected):
    with GitHubServer(faults=[fault]) as github:
        assert get(github).data == []
    assert waits == [expected]


def test_a_long_wait_is_an_error_that_says_until_when(get, waits):
    with GitHubServer(faults=[rate_limited(NOW + 1800)]) as github, pytest.raises(SourceError) as caught:
        get(github)
    assert caught.value.retryable
    assert "2023-11-14 22:43:21 UTC" in str(caught.value)
    assert not waits


def test_a_slow_answer_is_cut_and_tried_again(get):
    with GitHubServer(faults=[Fault(delay=0.6)]) as github:
        started = time.monotonic()
        assert get(github, timeout=0.2).data == []
    assert time.monotonic() - started < 5
    assert len(github.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 422, 451])
def test_what_stays_is_said_once_with_its_remedy(get, status):
    fault = Fault(status=status, body=b'{"message": "No\\n entry."}')
    with GitHubServer(faults=[fault]) as github, pytest.raises(HttpError) as caught:
        get(github, remedies={status: "Do this."})
    assert caught.value.status == status
    assert not caught.value.retryable
    assert str(caught.value).endswith(f"answered HTTP {status} (No entry). Do this.")
    assert len(github.requests) == 1


def test_redirects_stay_on_the_server_that_was_declared(get):
    with GitHubServer() as other, GitHubServer() as github:
        github.faults.append(Fault(status=301, headers={"Location": f"{PATH}?page=1"}))
        assert get(github, token="tok-123").data == []
        github.faults.append(Fault(status=302, headers={"Location": f"{other.base_url}{PATH}"}))
        with pytest.raises(SourceError, match="points to another server") as caught:
            get(github, token="tok-123")
        assert not other.requests
        assert "tok-123" not in str(caught.value)
        github.faults.append(Fault(status=302, headers={"Location": PATH}, times=99))
        with pytest.raises(SourceError, match="in a circle"):
            get(github)


@pytest.mark.parametrize("location", ["http://[", "file:///etc/passwd", "//evil.example/x", "http://a b/", "\\\\x"])
def test_odd_redirects_are_errors(get, location):
    with GitHubServer(faults=[Fault(status=302, headers={"Location": location})]) as github, pytest.raises(SourceError):
        get(github)


def test_the_token_is_sent_in_its_header_only(get):
    with GitHubServer(token="tok-123") as github:
        assert get(github, token="tok-123").data == []
        with pytest.raises(HttpError) as caught:
            get(github, token="wrong-456")
    assert "wrong-456" not in f"{caught.value!r}{caught.value}"
    assert github.requests[0].headers["authorization"] == "Bearer tok-123"
    assert "tok" not in github.requests[0].path + str(github.requests[0].query)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=404, body=json.dumps({"message": "x" * 190 + " no such thing for Bearer tok-123-456"}).encode()),
        Fault(status=500, body=b'{"message": "bad header Bearer tok-123-456"}', times=9),
        Fault(status=302, headers={"Location": "http://tok-123-456.evil.example/"}),
        Fault(status=302, headers={"Location": "/tok-123-456"}),
    ],
)
def test_a_server_that_repeats_the_token_does_not_get_it_into_an_error(get, fault):
    with GitHubServer(faults=[fault]) as github, pytest.raises(SourceError) as caught:
        get(github, token="tok-123-456")
    assert "tok-1" not in f"{caught.value!r}{caught.value}"


@pytest.mark.parametrize(
    "fault", [too_many_requests("Tue, 14 Nov 2000 22:13:40 GMT"), rate_limited(NOW - 999), too_many_requests("0")]
)
def test_a_wait_that_is_over_by_this_clock_is_a_wait_all_the_same(get, waits, fault):
    fault.times = 3
    with GitHubServer(faults=[fault]) as github:
        assert get(github).data == []
    assert 0 < waits[0] < waits[1] < waits[2]


@pytest.mark.parametrize("token", ["a\nb", "pässword", "a b "])
def test_a_token_that_no_header_can_hold_is_refused_unseen(token):
    with pytest.raises(ConfigurationError) as caught:
        JsonClient("https://api.example.com", secrets=Secrets({"Authorization": token}))
    assert token not in str(caught.value)


@pytest.mark.parametrize("url", ["api.github.com", "ftp://a.b", "", "http://", "http://[", "https://a:b"])
def test_a_base_url_that_is_none_is_refused(url):
    with pytest.raises(ConfigurationError, match="web address"):
        JsonClient(url)
