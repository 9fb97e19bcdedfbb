"""A small server that speaks the part of OpenAI's API that Lore uses: embeddings, and chat completions with streaming.

    with OpenAIServer() as server:
        OpenAIEmbedder("text-embedding-3-small", api_key="k", base_url=server.base_url, ...)

Faults are queued and taken one a request. It needs nothing but the standard library.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request.

    `status` with `body` and `headers` replaces the answer. `change` alters the JSON of a right answer, `cut` sends only
    half of it (for a stream: half of its events) and closes; `clean_cut` ends a stream early but in good order.
    """

    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    change: Callable[[dict[str, Any]], object] | None = None
    cut: bool = False
    clean_cut: bool = False


def error(status: int, message: str, code: str | None = None, **headers: str) -> Fault:
    """An error in OpenAI's form; headers are given with underscores, such as Retry_After="0.01"."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return Fault(status, json.dumps(body).encode(), {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass(frozen=True)
class Request:
    """A call that came in."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class OpenAIServer:
    """Serves on a free port of 127.0.0.1 while the context is open. Chat answers are given, or come from a function.

    Embeddings are of `dimensions` numbers (by default as the model has them, or the request asks), made from a hash of
    the text and deliberately not of unit length.
    """

    def __init__(
        self,
        replies: Iterable[str] | Callable[[dict[str, Any]], str] = (),
        *,
        dimensions: int = 8,
        takes_schema: bool = True,
    ) -> None:
        self.requests: list[Request] = []
        self.faults: deque[Fault] = deque()
        self.dimensions = dimensions
        self.takes_schema = takes_schema
        self._replies = replies if callable(replies) else deque(replies)
        self._server = _HTTPServer(("127.0.0.1", 0), _Handler)
        self._server.api = self

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, body: dict[str, Any]) -> str:
        return self._replies(body) if callable(self._replies) else self._replies.popleft()

    def embeddings(self, body: dict[str, Any]) -> dict[str, Any]:
        inputs = [body["input"]] if isinstance(body["input"], str) else body["input"]
        size = body.get("dimensions") or DIMENSIONS.get(body["model"], self.dimensions)
        data = []
        for index, text in enumerate(inputs):
            vector = embedding_of(text, size)
            packed = base64.b64encode(struct.pack(f"<{size}f", *vector)).decode()
            value = packed if body.get("encoding_format") == "base64" else vector
            data.append({"object": "embedding", "index": index, "embedding": value})
        return {
            "object": "list",
            "data": data,
            "model": body["model"],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    api: OpenAIServer


class _Handler(BaseHTTPRequestHandler):
    server: _HTTPServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.api.requests.append(Request(self.path, dict(self.headers), body))
        fault = self.server.api.faults.popleft() if self.server.api.faults else Fault()
        if fault.body is not None:
            self.send(fault.status, fault.body, fault.headers)
        elif self.path == "/v1/embeddings":
            self.answer(self.server.api.embeddings(body), fault)
        elif self.path == "/v1/chat/completions":
            self.chat(body, fault)
        else:
            self.send(404, b'{"error": {"message": "Unknown path"}}')

    def chat(self, body: dict[str, Any], fault: Fault) -> None:
        if "response_format" in body and not self.server.api.takes_schema:
            refusal = error(400, "'response_format' is not supported.")
            self.send(400, refusal.body or b"")
        elif body.get("stream"):
            self.stream(completion_events(body["model"], self.server.api.reply(body)), fault)
        else:
            self.answer(completion(body["model"], self.server.api.reply(body)), fault)

    def answer(self, payload: dict[str, Any], fault: Fault) -> None:
        if fault.change:
            fault.change(payload)
        data = json.dumps(payload).encode()
        self.send(200, data, length=len(data), part=len(data) // 2 if fault.cut else len(data))

    def stream(self, events: Sequence[dict[str, Any]], fault: Fault) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        broken = fault.cut or fault.clean_cut
        for event in events[: len(events) // 2] if broken else events:
            if fault.change:
                fault.change(event)
            self.chunk(f"data: {json.dumps(event)}\n\n".encode())
        if not broken:
            self.chunk(b"data: [DONE]\n\n")
        if not fault.cut:
            self.chunk(b"")
        self.close_connection = True

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def send(
        self,
        status: int,
        data: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        length: int | None = None,
        part: int | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data[:part])
        if part is not None and part < len(data):
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


def embedding_of(text: str, size: int) -> list[float]:
    """The vector that the server gives for a text: equal texts, equal vectors."""
    seed = hashlib.sha256(text.encode()).digest()
    return [(seed[at % 32] - 127.5 + at % 7) / 64 for at in range(size)]


def completion(model: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def completion_events(model: str, text: str) -> list[dict[str, Any]]:
    """The events of a streamed completion, a word each."""

    def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": model,
            "choices": [choice],
        }

    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1][:-1]
    return [
        event({"role": "assistant", "content": ""}),
        *(event({"content": word}) for word in words),
        event({}, "stop"),
    ]
