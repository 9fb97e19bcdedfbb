"""What the small servers of the tests have in common: a port of 127.0.0.1 while a block runs, silence, and faults."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Protocol, Self, TypeVar


class Passing(Protocol):
    """A fault that is for the next `times` calls whose target contains `match`, once `after` of these have passed."""

    match: str
    times: int
    after: int


class Spoiling(Protocol):
    """A fault that replaces `status`, `headers` and `body` of an answer, cuts it, lies about its `length`, or waits."""

    status: int | None
    headers: Mapping[str, str]
    body: bytes | None
    cut: bool
    length: int | None
    delay: float


Fault = TypeVar("Fault", bound=Passing)


class QuietHandler(BaseHTTPRequestHandler):
    """Answers for the `api` that it was started by."""

    api: Any
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet, otherwise every answer waits 40 ms for an acknowledgement

    def log_message(self, *_: object) -> None:
        """Nothing: a test's output is not a log."""

    def hang_up(self) -> None:
        """What is sent next is the last on this connection, and its end arrives together with it: a client that asks
        again at once does not take the connection for a free one.
        """
        if cork := getattr(socket, "TCP_CORK", None):  # Linux
            self.connection.setsockopt(socket.IPPROTO_TCP, cork, 1)
        self.close_connection = True

    def reply(self, status: int, headers: Mapping[str, str], body: bytes, fault: Spoiling | None) -> None:
        """Send an answer, or what a fault makes of it."""
        cut, length = False, len(body)
        if fault:
            time.sleep(fault.delay)
            status = fault.status or status
            headers = {**headers, **fault.headers}
            body = body if fault.body is None else fault.body
            cut, length = fault.cut, len(body) if fault.length is None else fault.length
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            if cut or length != len(body):
                self.hang_up()
            if self.command != "HEAD":
                self.wfile.write(body[: len(body) // 2] if cut else body)
            self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client had enough


class LocalServer:
    """Listens while the `with` block runs; `base_url` ends with `root`, where the API begins."""

    handler: ClassVar[type[QuietHandler]] = QuietHandler
    root: ClassVar[str] = ""

    def __enter__(self) -> Self:
        handler = type("Handler", (self.handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.origin = f"http://{self.host}"
        self.base_url = f"{self.origin}{self.root}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def take_fault(faults: Iterable[Fault], target: str) -> Fault | None:
    """The fault that a call meets, used up by one."""
    for fault in faults:
        if fault.match in target and fault.times > 0:
            if fault.after > 0:
                fault.after -= 1
                continue
            fault.times -= 1
            return fault
    return None
