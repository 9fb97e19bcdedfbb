"""Stack Exchange when it limits, fails, or leads elsewhere."""

from __future__ import annotations

import json
import logging

import pytest
from lore.errors import ConfigurationError, SourceError
from lore.settings import load_settings
from lore.sources.stackoverflow.api import StackExchangeAccess
from lore.sources.stackoverflow.source import StackOverflowSource
from lore.wiring.sources import make_source

from tests.contracts.source import ids, last_cursor
from tests.servers.json_api import Fault
from tests.servers.stackexchange import StackExchangeServer, refused, throttled
from tests.sources.stackoverflow.questions import DAY, NOW, START, answer, declared, documents, question, source_of


def test_the_pause_that_an_answer_asks_for_is_kept():
    waits: list[float] = []
    with StackExchangeServer([question(1)], [answer(5, 1)], backoff={2: 17}) as server:
        documents(source_of(server, waits=waits))
    assert waits == [17.0]


def test_a_pause_that_is_too_long_ends_the_run():
    with StackExchangeServer([question(1)], backoff={2: 700}) as server:
        with pytest.raises(SourceError, match="wait until 2025-02-04 00:11:40") as caught:
            documents(source_of(server))
        assert caught.value.retryable
        assert len(server.requests) == 2


def test_throttling_is_waited_for_as_long_as_it_says():
    waits: list[float] = []
    faults = [throttled(41), refused(502, "throttle_violation", "simply too many"), refused(503, "down", "Wait.")]
    with StackExchangeServer([question(1)], faults=faults) as server:
        assert list(documents(source_of(server, waits=waits, max_retries=3))) == ["1"]
    assert waits[:2] == [41.0, 30.0]
    assert waits[2] < 10


def test_a_quota_that_is_used_up_ends_the_run_and_names_the_key():
    with StackExchangeServer([question(n) for n in range(1, 801)], quota=4) as server:
        batches = []
        with pytest.raises(SourceError, match="used up for today") as caught:
            for batch in source_of(server).read(None):
                batches.append(batch)  # noqa: PERF402 - what came before the error counts
        assert caught.value.retryable
        assert "LORE_STACKEXCHANGE_KEY" in caught.value.remedy
        assert len(server.requests) == 4  # and not one to be refused
        assert last_cursor(batches) is None or ids(batches)


def test_more_questions_than_declared_are_refused_with_one_call():
    with StackExchangeServer([question(n) for n in range(1, 50)]) as server:
        for call in (lambda source: list(source.read(None)), lambda source: list(source.list_ids())):
            with pytest.raises(SourceError, match="selects 49 questions") as caught:
                call(source_of(server, max_questions=48))
            assert "max_questions" in caught.value.remedy
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault("withbody", status=500),
        Fault("withbody", status=503, headers={"Retry-After": "7"}),
        Fault("withbody", status=429, headers={"Retry-After": "7"}),
        Fault("withbody", cut=True),
        Fault("withbody", length=100_000),
        Fault("withbody", length=20),
        Fault("withbody", body=b"<html>down"),
        Fault("withbody", body=b'{"items": ['),
        Fault("withbody", headers={"Content-Encoding": "gzip"}, body=b"no gzip"),
    ],
    ids=lambda fault: f"{fault.status or ''}{fault.cut or ''}{fault.length or ''}{(fault.body or b'')[:9]!r}",
)
def test_what_fails_for_the_moment_is_asked_for_again(fault):
    waits: list[float] = []
    with StackExchangeServer([question(1)], [answer(5, 1)], faults=[fault]) as server:
        (document,) = documents(source_of(server, waits=waits)).values()
    assert "Answer 5." in document.text
    assert waits == [7.0] if fault.headers.get("Retry-After") else len(waits) == 1


def test_a_body_that_comes_too_slowly_is_given_up():
    fault = Fault("withbody", drip=0.02, times=9, body=b" " * 500)
    with StackExchangeServer([question(1)], faults=[fault]) as server:
        with pytest.raises(SourceError, match=r"no complete response within 0\.1 seconds") as caught:
            documents(source_of(server, timeout=0.1))
        assert caught.value.retryable


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"null", b'{"items": 5}'])
def test_an_answer_that_is_no_list_is_an_error(body):
    faults = [Fault("withbody", body=body)]
    with StackExchangeServer(faults=faults) as server, pytest.raises(SourceError, match="didn't return a list"):
        documents(source_of(server))


@pytest.mark.parametrize("rows", [[question(1)], []])
def test_a_list_that_has_no_end_ends(rows):
    body = json.dumps({"items": rows, "has_more": True}).encode()
    with StackExchangeServer(faults=[Fault("/questions", body=body, times=99)]) as server:
        with pytest.raises(SourceError, match="has no end"):
            list(source_of(server).list_ids())
        assert len(server.requests) < 20


def test_a_list_that_is_not_in_order_is_read_to_its_end_without_a_cursor():
    with StackExchangeServer() as server:

        def page(count: int) -> None:
            rows = [question(n, START + 900 - n) for n in range(100 * count, 100 * count + 100)]
            body = {"items": rows, "has_more": count < 4}
            server.faults = [Fault("filter=withbody", body=json.dumps(body).encode())] if count > 1 else []
            server.faults += [Fault("/answers", body=b'{"items": []}', times=4)]

        server.before = page
        batches = list(source_of(server).read(None))
    assert last_cursor(batches) is None
    assert ids(batches)


def test_a_clock_that_is_ahead_does_not_hide_what_is_to_come():
    with StackExchangeServer([question(1), question(2, NOW + 900 * DAY)]) as server:
        source = source_of(server)
        cursor = last_cursor(list(source.read(None)))
        server.questions.append(question(3, NOW + 5))
        assert list(documents(source, cursor)) == ["3"]


@pytest.mark.parametrize("cursor", ["x", "{}", "[]", '{"whole": 1, "reached": [], "recent": {}, "selection": ""}'])
def test_a_cursor_that_is_none_is_an_error(cursor):
    with StackExchangeServer([question(1)]) as server, pytest.raises(SourceError, match="cursor"):
        documents(source_of(server), cursor)


def test_the_key_reaches_the_server_and_nothing_else(caplog):
    caplog.set_level(logging.DEBUG)
    with StackExchangeServer([question(1)], key="k-secret-123") as server:
        assert documents(source_of(server, key="k-secret-123"))
        assert all(request.query["key"] == "k-secret-123" for request in server.requests)
        with pytest.raises(SourceError) as caught:
            documents(source_of(server, key="wrong-987"))
    assert "matches" not in str(caught.value)
    assert "`key` … doesn't match" in str(caught.value)
    assert "LORE_STACKEXCHANGE_KEY" in caught.value.remedy
    assert "k-secret-123" not in caplog.text
    assert "wrong-987" not in caplog.text + str(caught.value)
    assert "k-secret-123" not in repr(StackExchangeAccess(key="k-secret-123"))


def test_settings_give_the_key_and_the_declaration_the_address():
    settings = load_settings({"LORE_STACKEXCHANGE_KEY": "k-123", "LORE_MAX_RETRIES": "0"})
    with StackExchangeServer([question(1)], key="k-123") as server:
        source = make_source(declared(base_url=server.base_url), settings)
        assert isinstance(source, StackOverflowSource)
        assert list(documents(source)) == ["1"]


def test_a_key_that_can_be_none_is_refused_unsent():
    with StackExchangeServer() as server, pytest.raises(ConfigurationError) as caught:
        documents(source_of(server, key="two\nlines"))
    assert "two" not in str(caught.value)


def test_a_redirect_to_another_server_gets_nothing():
    with StackExchangeServer() as other:
        fault = Fault(status=302, headers={"Location": f"{other.base_url}/questions"})
        with StackExchangeServer(faults=[fault]) as server, pytest.raises(SourceError, match="another server"):
            documents(source_of(server, key="k-secret-123"))
        assert not other.requests
