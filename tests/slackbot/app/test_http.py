"""HTTP mode on its own: what is answered to whom, and a port that is taken."""

from __future__ import annotations

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from lore.errors import ConfigurationError
from lore.slackbot.app.app import EventExecutor, EventHandlers, make_app
from lore.slackbot.app.http import MAX_BODY, HttpTransport
from lore.slackbot.background import BackgroundPool
from lore.slackbot.types import BotIdentity

from tests.servers.slack.app import BOT, BOT_USER, TEAM, channel
from tests.servers.slack.app_events import event_body, message_event, sign

SECRET = "a-signing-secret"
SAID = {"type": "message", "user": "U1", "text": "Wie geht’s?", "ts": "1.000001", "team": TEAM}
BODY = event_body(message_event(SAID, channel("C1", members=["U1", BOT_USER])))


class Served:
    """The transport with an app that writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self.executor = EventExecutor(BackgroundPool(2), threads=2)
        self.transport = HttpTransport(self.app(SECRET), SECRET, host="127.0.0.1", port=0)
        self.transport.start()

    def app(self, secret: str) -> Any:
        def nothing(_: Mapping[str, Any]) -> None:
            """Do nothing."""

        others = ("command", "opened", "button", "why", "reason", "reaction", "any_event")
        handlers = EventHandlers(message=self.asked.append, **dict.fromkeys(others, nothing))
        return make_app(handlers, self.executor, BotIdentity(TEAM, BOT_USER, BOT, "lore"), signing_secret=secret)

    def call(self, body: bytes, headers: Mapping[str, str] | None = None, *, path: str = "/slack/events") -> Any:
        """Status and body of the answer."""
        given = {"Content-Type": "application/json"} | dict(signed(body) if headers is None else headers)
        url = self.transport.url.replace("/slack/events", path)
        request = urllib.request.Request(url, data=body or None, headers=given)
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


def signed(body: bytes, *, secret: str = SECRET, age: float = 0) -> dict[str, str]:
    return sign(secret, body, int(time.time() - age))


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.executor.close()
    made.transport.close()


def test_what_is_signed_is_taken_as_it_was_written(served: Served) -> None:
    assert served.call(json.dumps(BODY, ensure_ascii=False).encode()) == (200, "")
    assert served.asked[-1]["event"]["text"] == "Wie geht’s?"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Slack-Signature": "v0=", "X-Slack-Request-Timestamp": "soon"},
        {"X-Slack-Signature": "v0=\xe9", "X-Slack-Request-Timestamp": "1"},
        signed(b"something else"),
        signed(json.dumps(BODY).encode(), secret="another secret"),
    ],
    ids=["unsigned", "nonsense", "strange letters", "of another body", "of another app"],
)
def test_what_is_not_signed_is_refused(
    served: Served, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    before = len(served.asked)
    assert served.call(json.dumps(BODY).encode(), headers)[0] == 401
    assert len(served.asked) == before
    assert caplog.records == [], "strangers write nothing into the log"


def test_what_was_signed_long_ago_is_refused(served: Served) -> None:
    body = json.dumps(BODY).encode()
    assert served.call(body, signed(body, age=360))[0] == 401
    assert served.call(body, signed(body, age=60))[0] == 200


def test_slacks_question_whether_the_address_is_ours_is_answered(served: Served) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1a", "token": "x"}).encode()
    status, answer = served.call(body)
    assert status == 200 and json.loads(answer) == {"challenge": "3eZbrw1a"}


def test_what_no_slack_sends_is_refused_and_nothing_breaks(served: Served) -> None:
    assert served.call(b"x" * (MAX_BODY + 1))[0] == 413
    assert served.call(b"\xff\xfe")[0] == 400
    assert served.call(b"", {}, path="/docs")[0] == 404
    assert served.call(b"", {}, path="/healthz") == (200, '{"status":"ok"}')


DEEP = b'{"a":' * 3_000 + b"1" + b"}" * 3_000
STRANGE = {
    "cut": b"{broken",
    "deep": DEEP,
    "list": b"[1]",
    "number": b"1",
    "null": b"null",
    "event is a list": b'{"type":"event_callback","event":[]}',
    "authorizations are a text": b'{"type":"event_callback","authorizations":"x","event":{"type":"message"}}',
    "form cut": b"payload={",
    "form deep": b"payload=" + DEEP,
    "form list": b"payload=[]",
    "no actions": b'payload={"type":"block_actions","actions":[1],"message":{"text":"xyzzy"}}',
    "no view": b'payload={"type":"view_submission","view":null,"user":"x"}',
}


@pytest.mark.parametrize("body", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded"])
def test_a_body_that_cannot_be_read_is_refused_and_a_stranger_reaches_no_more_than_the_signature(
    served: Served, body: bytes, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    forged = {"X-Slack-Signature": "v0=" + "a" * 64, "X-Slack-Request-Timestamp": str(int(time.time()))}
    assert served.call(body, {**forged, "Content-Type": kind})[0] == 401
    assert caplog.records == []
    before = len(served.asked)
    assert served.call(body, {**signed(body), "Content-Type": kind})[0] >= 400
    assert len(served.asked) == before
    assert "Traceback" not in caplog.text and "xyzzy" not in caplog.text


def test_a_body_that_never_ends_to_come_is_not_waited_for(served: Served) -> None:
    transport = HttpTransport(served.app(SECRET), SECRET, host="127.0.0.1", port=0, read_seconds=0.1)
    transport.start()
    head = [f"{name}: {value}" for name, value in signed(b"x").items()]
    lines = ["POST /slack/events HTTP/1.1", "Host: lore", "Content-Length: 100", *head, "", "half"]
    port = int(transport.url.rpartition(":")[2].partition("/")[0])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as slow:
        slow.sendall("\r\n".join(lines).encode())
        assert slow.recv(1_000).startswith(b"HTTP/1.1 408")
    transport.close()


def test_an_app_without_a_secret_takes_nothing_over_http(served: Served) -> None:
    transport = HttpTransport(served.app(""), "", host="127.0.0.1", port=0)
    transport.start()
    first, served.transport = served.transport, transport
    try:
        body = json.dumps(BODY).encode()
        assert served.call(body, signed(body, secret="none"))[0] == 401
        assert served.call(body, signed(body, secret=""))[0] == 401
    finally:
        served.transport = first
        transport.close()


def test_a_port_that_is_taken_is_an_error_that_names_it(served: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        transport = HttpTransport(served.app(SECRET), SECRET, host="127.0.0.1", port=port)
        with pytest.raises(ConfigurationError) as caught:
            transport.start()
        transport.close()
    assert str(port) in caught.value.message and "--port" in caught.value.remedy
