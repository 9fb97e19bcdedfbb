"""Common parts of the small model servers: recorded requests, replies, and a queued fault for each request."""

from __future__ import annotations

import json
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from tests.servers.local import LocalServer, QuietHandler


@dataclass(frozen=True)
class Fault:
    """The fault of one request.

    `status` with `body` and `headers` replaces the answer. `change` alters the JSON of a right answer (for a stream: of
    each event). `cut` sends half of it (for a stream: half of its events) and closes; `clean_cut` ends a stream early,
    but properly. `drip` sends single bytes without end, with this many seconds between.
    """

    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    change: Callable[[dict[str, Any]], object] | None = None
    cut: bool = False
    clean_cut: bool = False
    drip: float = 0.0


def json_fault(status: int, body: object, headers: Mapping[str, str]) -> Fault:
    """An error with a JSON body; headers are given with underscores, such as Retry_After="1"."""
    return Fault(status, json.dumps(body).encode(), {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass(frozen=True)
class Request:
    """A received request."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class ModelServer(LocalServer):
    """Serves on a free port of 127.0.0.1 while the context is open. Replies are a list or a function."""

    def __init__(self, replies: Iterable[str] | Callable[[dict[str, Any]], str] = ()) -> None:
        self.requests: list[Request] = []
        self.faults: deque[Fault] = deque()
        self.stopped = threading.Event()
        self._replies = replies if callable(replies) else deque(replies)

    def __enter__(self) -> Self:
        super().__enter__()
        self._server.handle_error = _say_unless_gone  # type: ignore[method-assign]
        return self

    def __exit__(self, *details: object) -> None:
        self.stopped.set()
        super().__exit__(*details)

    def reply(self, body: dict[str, Any]) -> str:
        return self._replies(body) if callable(self._replies) else self._replies.popleft()


def _say_unless_gone(request: object, address: object) -> None:
    """Print errors of the server, except for a client that did not wait for the answer."""
    if not isinstance(sys.exception(), BrokenPipeError | ConnectionResetError):
        traceback.print_exc()


class ModelHandler(QuietHandler):
    """Answers posts by the `respond` of each kind of server."""

    api: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.api.requests.append(Request(self.path, dict(self.headers), body))
        fault = self.api.faults.popleft() if self.api.faults else Fault()
        if fault.drip:
            self.drip(fault)
        elif fault.body is not None:
            self.send(fault.status, fault.body, fault.headers)
        else:
            self.respond(body, fault)

    def respond(self, body: dict[str, Any], fault: Fault) -> None:
        raise NotImplementedError

    def answer(self, payload: dict[str, Any], fault: Fault) -> None:
        if fault.change:
            fault.change(payload)
        data = json.dumps(payload).encode()
        self.send(200, data, {}, part=len(data) // 2 if fault.cut else len(data))

    def stream(
        self, events: Sequence[dict[str, Any]], fault: Fault, write: Callable[[dict[str, Any]], bytes], end: bytes = b""
    ) -> None:
        """Send the events in chunks, as `write` formats them; `end` closes a complete stream."""
        self.start("text/event-stream")
        broken = fault.cut or fault.clean_cut
        for event in events[: len(events) // 2] if broken else events:
            if fault.change:
                fault.change(event)
            self.chunk(write(event))
        if not broken and end:
            self.chunk(end)
        if fault.cut:
            self.close_connection = True
        else:
            self.chunk(b"")

    def start(self, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def drip(self, fault: Fault) -> None:
        self.start(dict(fault.headers).get("Content-Type", "application/json"))
        while not self.api.stopped.wait(fault.drip):
            self.chunk(b" ")
        self.close_connection = True

    def send(self, status: int, data: bytes, headers: Mapping[str, str], *, part: int | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:part])
        if part is not None and part < len(data):
            self.close_connection = True
