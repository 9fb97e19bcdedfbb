"""JSON APIs that fail, refuse, or lead elsewhere."""

from __future__ import annotations

import json
import logging

import pytest
from lore.errors import ConfigurationError, SourceError
from lore.sources.http.json_client import Secrets, secrets_for

from tests.contracts.source import last_cursor
from tests.servers.json_api import Fault, ListServer
from tests.sources.json_api.lists import deleted, documents, item, source_of


def test_a_link_to_another_server_is_not_followed_and_gets_no_header():
    with ListServer() as other, ListServer([item(1)], paging="next", secret=("X-Token", "s-123")) as server:
        body = {"results": [item(1)], "meta": {"next": f"{other.base_url}/items"}}
        server.faults.append(Fault(body=json.dumps(body).encode()))
        with pytest.raises(SourceError, match="another server"):
            documents(source_of(server, secrets=Secrets(headers={"X-Token": "s-123"})))
        assert not other.requests


@pytest.mark.parametrize("value", [[1], {"a": 1}])
def test_a_next_that_is_no_address_is_an_error(value):
    body = json.dumps({"results": [item(1)], "meta": {"next": value}}).encode()
    with ListServer(paging="next", faults=[Fault(body=body)]) as server, pytest.raises(SourceError, match="`next`"):
        documents(source_of(server))


@pytest.mark.parametrize("body", [b"{}", b"[]", b'"text"', b"null", b'{"results": {"a": 1}}', b'{"error": "down"}'])
def test_an_answer_without_the_list_is_an_error_and_not_an_empty_list(body):
    faults = [Fault(body=body)]
    with ListServer(faults=faults) as server, pytest.raises(SourceError, match="`items` finds no list") as caught:
        documents(source_of(server))
    assert "Correct `items`" in caught.value.remedy


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (Fault(status=429, headers={"Retry-After": "9"}, body=b"{}"), 9.0),
        (Fault(status=429, body=b"slow down"), 60.0),
        (Fault(status=403, headers={"Retry-After": "5"}), 5.0),
        (Fault(status=503, headers={"Retry-After": "3"}), 3.0),
        (Fault(status=500), None),
        (Fault(cut=True), None),
        (Fault(length=100_000), None),
        (Fault(length=15), None),
        (Fault(body=b"<html>"), None),
        (Fault(body=b"[" * 100_000), None),
    ],
)
def test_what_fails_for_the_moment_is_asked_for_again(fault, wait):
    waits: list[float] = []
    with ListServer([item(1)], faults=[fault]) as server:
        assert list(documents(source_of(server, waits=waits))) == ["module-1"]
    assert len(waits) == 1
    assert wait is None or waits == [wait]


def test_what_fails_for_good_says_so_and_can_be_tried_again():
    broken = ListServer([item(1)], faults=[Fault(status=502, times=9)])
    with broken as server, pytest.raises(SourceError, match="failed 2 times: HTTP 502") as caught:
        documents(source_of(server))
    assert caught.value.retryable


def test_a_body_that_comes_too_slowly_is_given_up():
    slow = ListServer(faults=[Fault(drip=0.02, times=9, body=b" " * 500)])
    with slow as server, pytest.raises(SourceError, match="no complete response") as caught:
        documents(source_of(server, timeout=0.1))
    assert caught.value.retryable


def test_a_page_larger_than_declared_is_an_error_also_when_it_was_packed():
    large = ListServer([item(1, about="x" * 1_000_000)])
    with large as server, pytest.raises(SourceError, match="more than 100,000 bytes"):
        documents(source_of(server, max_page_bytes=100_000))


def test_an_answer_of_unchanged_that_was_not_asked_for_is_no_empty_list():
    lying = ListServer([item(1)], faults=[Fault(status=304, times=9)])
    with lying as server, pytest.raises(SourceError, match="unconditional request") as caught:
        documents(source_of(server))
    assert caught.value.retryable


def test_a_page_that_is_gone_at_the_second_read_fails_and_deletes_nothing():
    with ListServer([item(n) for n in range(1, 36)], paging="link") as server:
        source = source_of(server)
        cursor = last_cursor(list(source.read(None)))
        server.faults.append(Fault("start=20", 404, body=b"{}"))
        batches = []
        with pytest.raises(SourceError, match="404"):
            for batch in source.read(cursor):
                batches.append(batch)  # noqa: PERF402 - what came before the error counts
        assert deleted(batches) == []
        assert last_cursor(batches) is None


def test_the_header_reaches_the_server_and_nothing_else(caplog):
    caplog.set_level(logging.DEBUG)
    with ListServer([item(1)], secret=("X-Token", "s-secret-123")) as server:
        secrets = secrets_for(server.base_url, json.dumps({server.base_url: {"X-Token": "s-secret-123"}}))
        assert documents(source_of(server, secrets=secrets))
        assert "s-secret-123" not in repr(secrets)
        with pytest.raises(SourceError, match="HTTP 401") as caught:
            documents(source_of(server, secrets=Secrets(headers={"X-Token": "wrong-987"})))
    assert "LORE_API_HEADERS" in caught.value.remedy
    assert "wrong-987" not in str(caught.value) + caplog.text
    assert "s-secret-123" not in caplog.text


def test_headers_are_for_the_server_that_they_are_declared_for():
    configured = json.dumps({"https://api.example.com": {"A": "1"}, "https://api.example.com:8443/": {"A": "2"}})
    assert secrets_for("https://api.example.com/v1/items?x=1", configured).headers == {"A": "1"}
    assert secrets_for("https://API.example.com:443/v1", configured).headers == {"A": "1"}
    assert secrets_for("https://api.example.com:8443/v1", configured).headers == {"A": "2"}
    assert secrets_for("http://api.example.com/v1", configured).headers == {}
    assert secrets_for("https://api.example.com.evil.com/v1", configured).headers == {}
    assert secrets_for("https://api.example.com/v1", None).headers == {}


@pytest.mark.parametrize(
    "text", ["s-123", '["s-123"]', '{"s-123": {}}', '{"https://a.b": "s-123"}', '{"https://a.b": {"A": 1}}']
)
def test_headers_that_are_none_are_refused_and_not_repeated(text):
    with pytest.raises(ConfigurationError, match="LORE_API_HEADERS") as caught:
        secrets_for("https://a.b", text)
    assert "s-123" not in str(caught.value)
