"""Discourse forums that fail, refuse, or lead elsewhere."""

from __future__ import annotations

import json
import logging

import pytest
from lore.declarations import DiscourseDeclaration
from lore.errors import SourceError
from lore.settings import load_settings
from lore.wiring.sources import make_source

from tests.contracts.source import last_cursor
from tests.servers.discourse import DiscourseServer, rate_limited
from tests.servers.json_api import Fault
from tests.sources.discourse.forums import documents, source_of, topic


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (rate_limited(14, "/t/1.json"), 14.0),
        (Fault("/t/1.json", 429, {"Retry-After": "9"}, b"{}"), 9.0),
        (Fault("/t/1.json", 429, {}, b"slow down"), 60.0),
        (Fault("/t/1.json", 503, {"Retry-After": "3"}), 3.0),
        (Fault("/t/1.json", 502), None),
        (Fault("/t/1.json", cut=True), None),
        (Fault("/t/1.json", length=100_000), None),
        (Fault("/t/1.json", length=15), None),
        (Fault("/t/1.json", body=b"<!DOCTYPE html>"), None),
    ],
)
def test_what_fails_for_the_moment_is_asked_for_again(fault, wait):
    waits: list[float] = []
    with DiscourseServer([topic(1)], faults=[fault]) as server:
        assert list(documents(source_of(server, waits=waits))) == ["1"]
    assert len(waits) == 1
    assert wait is None or waits == [wait]


def test_a_body_that_comes_too_slowly_is_given_up():
    fault = Fault("/t/1.json", drip=0.02, times=9, body=b" " * 500)
    with DiscourseServer([topic(1)], faults=[fault]) as server:
        with pytest.raises(SourceError, match="no complete response") as caught:
            documents(source_of(server, timeout=0.1))
        assert caught.value.retryable


def test_a_list_that_has_no_end_ends():
    body = json.dumps({"topic_list": {"topics": [topic(1)], "more_topics_url": "/latest?page=1"}}).encode()
    with DiscourseServer(faults=[Fault("/latest.json", body=body, times=99)]) as server:
        with pytest.raises(SourceError, match="has no end"):
            list(source_of(server).list_ids())
        assert len(server.requests) < 20


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"{}", b'{"topic_list": []}'])
def test_what_is_no_forum_is_an_error_and_not_an_empty_one(body):
    faults = [Fault("/latest.json", body=body)]
    with DiscourseServer(faults=faults) as server, pytest.raises(SourceError, match="didn't return a list"):
        documents(source_of(server))


def test_more_topics_than_declared_are_refused_before_any_is_read():
    with DiscourseServer([topic(n) for n in range(1, 12)]) as server:
        with pytest.raises(SourceError, match="more than 10 topics"):
            documents(source_of(server, max_topics=10))
        assert not any(path.startswith("/t/") for path in server.paths())


def test_a_closed_forum_names_the_setting():
    with DiscourseServer([topic(1)], closed=True) as server, pytest.raises(SourceError) as caught:
        documents(source_of(server))
    assert "logged in" in caught.value.message
    assert "LORE_API_HEADERS" in caught.value.remedy


def test_the_key_reaches_the_forum_and_nothing_else(caplog):
    caplog.set_level(logging.DEBUG)
    with DiscourseServer([topic(1)], key="k-secret-123", closed=True) as server:
        assert documents(source_of(server, key="k-secret-123"))
        assert {request.headers["api-username"] for request in server.requests} == {"lore"}
        with pytest.raises(SourceError, match="not permitted to view …") as caught:
            documents(source_of(server, key="wrong-987"))
    assert "wrong-987" not in str(caught.value) + caplog.text
    assert "k-secret-123" not in caplog.text


def test_settings_give_the_key_for_this_forum():
    with DiscourseServer([topic(1)], key="k-123", closed=True) as server:
        headers = {server.base_url: {"Api-Key": "k-123", "Api-Username": "lore"}, "https://other": {"Api-Key": "k-9"}}
        settings = load_settings({"LORE_API_HEADERS": json.dumps(headers), "LORE_MAX_RETRIES": "0"})
        source = make_source(DiscourseDeclaration(id="forum", url=server.base_url), settings)
        assert list(documents(source)) == ["1"]


def test_a_redirect_to_another_server_gets_nothing():
    with DiscourseServer() as other:
        fault = Fault("/latest.json", 301, {"Location": f"{other.base_url}/latest.json"})
        forum = DiscourseServer(faults=[fault], key="k-secret-123")
        with forum as server, pytest.raises(SourceError, match="another server"):
            documents(source_of(server, key="k-secret-123"))
        assert not other.requests


@pytest.mark.parametrize("cursor", ["x", "{}", "[]", '{"marks": [], "whole": 1, "selection": ""}'])
def test_a_cursor_that_is_none_is_an_error(cursor):
    with DiscourseServer([topic(1)]) as server, pytest.raises(SourceError, match="cursor"):
        documents(source_of(server), cursor)


@pytest.mark.parametrize("other", [{"categories": ["support"]}, {"max_posts": 3}, {"audiences": ["staff"]}])
def test_a_declaration_that_chooses_otherwise_reads_from_the_start(other):
    with DiscourseServer([topic(1), topic(2)]) as server:
        cursor = last_cursor(list(source_of(server).read(None)))
        assert len(documents(source_of(server, title="Another"), cursor)) == 0
        assert len(documents(source_of(server, **other), cursor)) == 2
