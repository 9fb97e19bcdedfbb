"""What goes wrong on the way to Weaviate: a proxy that cuts and delays, and servers that only answer errors."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc


class Proxy:
    """Passes bytes on to a port of the loopback address, until it is told to cut or to hold them back."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.delay = 0.0
        self._left: int | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._listener.close()

    def cut_after(self, count: int) -> None:
        """Cut every connection, and refuse new ones, once so many bytes more were sent to the server."""
        self._left = count

    def cut(self) -> None:
        self._left = 0
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
            self._open.clear()

    def mend(self) -> None:
        self._left = None

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._left == 0:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            for each in (client, server):  # or else every small message waits 40 ms for company
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, server}
            threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, upstream: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if self.delay:
                    time.sleep(self.delay)
                if upstream and self._left is not None:
                    data, self._left = data[: self._left], max(0, self._left - len(data))
                sink.sendall(data)
                if upstream and self._left == 0:
                    self.cut()
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def failing_rest(status: int, *, path: str = "/v1/") -> Iterator[str]:
    """The URL of a server that gives its version and an alias, and this status for every other path that begins so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wrong = status != 200 and self.path.startswith(path) and (path != "/v1/" or self.path != "/v1/meta")
            right = {"version": "1.39.0", "alias": "LoreChunks", "class": "LoreChunks_1"}
            body = {"error": [{"message": "as the test asks"}]} if wrong else right
            data = json.dumps(body).encode()
            self.send_response(status if wrong else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PUT = do_DELETE = do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with serving(Handler) as url:
        yield url


@contextmanager
def answering(body: bytes) -> Iterator[str]:
    """The URL of a server that gives every path the same answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with serving(Handler) as url:
        yield url


@contextmanager
def failing_grpc(code: grpc.StatusCode, details: str) -> Iterator[int]:
    """The port of a gRPC server that answers every call with this code."""

    def refuse(_: bytes, context: grpc.ServicerContext) -> bytes:
        context.abort(code, details)
        return b""

    class Everything(grpc.GenericRpcHandler):
        def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            return grpc.unary_unary_rpc_method_handler(refuse)

    server = grpc.server(ThreadPoolExecutor(2), handlers=(Everything(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()
