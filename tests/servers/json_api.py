"""Small servers of JSON on 127.0.0.1, with faults: a base for those that speak one API, and one of plain lists.

with ListServer(items, paging="offset") as server:
    ...  # point a json_api declaration at server.base_url
"""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.servers.local import LocalServer, QuietHandler, take_fault

Payload = Mapping[str, Any]


@dataclass
class Fault:
    """What goes wrong with the next `times` calls whose path and query contain `match`; `after` lets some pass first.

    `status`, `headers` and `body` replace the answer. `cut` closes the connection in the middle of the body, `length`
    is what Content-Length says instead of the truth, and `drip` sends the body byte by byte with so many seconds
    between them.
    """

    match: str = ""
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    cut: bool = False
    length: int | None = None
    drip: float = 0.0
    times: int = 1
    after: int = 0


@dataclass(frozen=True)
class Request:
    """A call that came in."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    target: str


@dataclass(frozen=True)
class Response:
    data: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class _Handler(QuietHandler):
    api: ApiServer

    def do_GET(self) -> None:
        api, parts = self.api, urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), headers, self.path)
        with api.lock:
            api.requests.append(request)
            if api.before:
                api.before(len(api.requests))
            fault = take_fault(api.faults, self.path)
            response = api.answer(request)
        body = b"" if response.status == 304 else json.dumps(response.data).encode()
        sent = {"Content-Type": "application/json; charset=utf-8", **response.headers}
        if body and "gzip" in headers.get("accept-encoding", ""):
            body, sent = gzip.compress(body, 1), {**sent, "Content-Encoding": "gzip"}
        if fault and fault.body is not None:
            body = fault.body
            sent.pop("Content-Encoding", None)
        self._send(fault.status if fault and fault.status else response.status, sent, body, fault or Fault())

    def _send(self, status: int, headers: Mapping[str, str], body: bytes, fault: Fault) -> None:
        try:
            self.send_response(status)
            for name, value in {**headers, **fault.headers}.items():
                self.send_header(name, value)
            if status != 304:
                self.send_header("Content-Length", str(len(body) if fault.length is None else fault.length))
                self.api.bodies += 1
            self.end_headers()
            if fault.cut or fault.length is not None:
                self.hang_up()
            self._write(body[: len(body) // 2] if fault.cut else body, fault.drip)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client had enough

    def _write(self, body: bytes, drip: float) -> None:
        if not drip:
            self.wfile.write(body)
        for byte in body if drip else b"":
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(drip)
        self.wfile.flush()


class ApiServer(LocalServer):
    """Answers what `answer` says while the `with` block runs; `before` is called with each request's number, from 1."""

    handler = _Handler

    def __init__(self, *, faults: Sequence[Fault] = (), before: Callable[[int], None] | None = None) -> None:
        self.faults = list(faults)
        self.before = before
        self.requests: list[Request] = []
        self.bodies = 0
        """How many answers had a body of their own: HTTP 304 has none."""
        self.lock = threading.Lock()

    def answer(self, request: Request) -> Response:
        raise NotImplementedError

    def paths(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [request.path for request in self.requests]


class ListServer(ApiServer):
    """A list of items at /items, by pages of `size`, told apart by ETag unless `validators` is off.

    `paging` is "none", "page", "offset", "next" (an address in the body), "link" (a Link header) or "cursor".
    """

    def __init__(
        self,
        items: Iterable[object] = (),
        *,
        paging: str = "none",
        size: int = 10,
        validators: bool = True,
        secret: tuple[str, str] | None = None,
        faults: Sequence[Fault] = (),
        before: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(faults=faults, before=before)
        self.items: list[Any] = [dict(item) if isinstance(item, dict) else item for item in items]
        self.paging, self.size, self.validators, self.secret = paging, size, validators, secret

    def answer(self, request: Request) -> Response:
        if self.secret and request.headers.get(self.secret[0].lower()) != self.secret[1]:
            return Response({"message": f"wrong {request.headers.get(self.secret[0].lower())}"}, 401)
        if request.path != "/items":
            return Response({"message": "Not Found"}, 404)
        start = self._start(request.query)
        end = len(self.items) if self.paging == "none" else start + self.size
        rows, more = self.items[start:end], end < len(self.items)
        data: dict[str, Any] = {"results": rows, "meta": {"count": len(self.items)}}
        headers: dict[str, str] = {}
        if more and self.paging == "next":
            data["meta"]["next"] = f"/items?{urlencode({'start': end})}"
        if more and self.paging == "cursor":
            data["meta"]["cursor"] = f"after-{end}"
        if more and self.paging == "link":
            headers["Link"] = f'<{self.base_url}/items?start={end}>; rel="next"'
        if self.validators:
            tag = f'"{hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]}"'
            headers["ETag"] = tag
            if request.headers.get("if-none-match") == tag:
                return Response(None, 304, headers)
        return Response(data, 200, headers)

    def _start(self, query: Mapping[str, str]) -> int:
        match self.paging:
            case "page":
                return (int(query.get("page", "1")) - 1) * self.size
            case "offset":
                return int(query.get("offset", "0"))
            case "cursor":
                return int(query.get("cursor", "after-0").removeprefix("after-"))
        return int(query.get("start", "0"))
