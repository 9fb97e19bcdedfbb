"""A small server that speaks Cohere's v2 rerank call: a document scores by the share of the query's words it holds.

    with CohereServer() as server:
        CohereReranker("rerank-v4.0-pro", api_key="k", base_url=server.base_url, ...)

Faults are queued and taken one a request. It needs nothing but the standard library.
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request: another answer, a changed one, or half of it and a closed connection."""

    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    change: Callable[[dict[str, Any]], object] | None = None
    cut: bool = False


def error(status: int, message: str, **headers: str) -> Fault:
    """An error in Cohere's form; headers are given with underscores, such as Retry_After="1"."""
    body = json.dumps({"id": "1", "message": message}).encode()
    return Fault(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


class CohereServer:
    """Serves on a free port of 127.0.0.1 while the context is open."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.faults: deque[Fault] = deque()
        self._server = _HTTPServer(("127.0.0.1", 0), _Handler)
        self._server.api = self

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    api: CohereServer


class _Handler(BaseHTTPRequestHandler):
    server: _HTTPServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.api.requests.append(body)
        fault = self.server.api.faults.popleft() if self.server.api.faults else Fault()
        status, data = fault.status, fault.body
        if data is None and self.path != "/v2/rerank":
            status, data = 404, b'{"message": "not found"}'
        elif data is None and not body["documents"]:
            status, data = 400, b'{"message": "invalid request: list of documents must not be empty"}'
        elif data is None:
            payload = {"id": "1", "results": ranked(body), "meta": {"api_version": {"version": "2"}}}
            if fault.change:
                fault.change(payload)
            data = json.dumps(payload).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **fault.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if fault.cut else data)
        self.close_connection = fault.cut

    def log_message(self, *_: object) -> None:
        pass


def ranked(body: dict[str, Any]) -> list[dict[str, Any]]:
    wanted = set(re.findall(r"\w+", body["query"].lower()))
    scores = [len(wanted & set(re.findall(r"\w+", text.lower()))) / max(1, len(wanted)) for text in body["documents"]]
    order = sorted(range(len(scores)), key=lambda index: -scores[index])[: body.get("top_n", len(scores))]
    return [{"index": index, "relevance_score": scores[index]} for index in order]
