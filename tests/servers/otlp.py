"""A collector of traces: takes OTLP over HTTP, as protobuf, and keeps the spans."""

from __future__ import annotations

import gzip
import threading
from typing import Any, ClassVar

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.servers.local import LocalServer, QuietHandler


class Collector(LocalServer):
    """`spans` are those that came, `refusals` how many requests are answered with `status` before any is taken."""

    handler: ClassVar[type[QuietHandler]]

    def __init__(self, *, refusals: int = 0, status: int = 503) -> None:
        self.refusals = refusals
        self.status = status
        self.paths: list[str] = []
        self.spans: list[Span] = []
        self.bodies = b""
        self.lock = threading.Lock()

    def named(self, name: str) -> Span:
        """The one span of that name."""
        [span] = [span for span in self.spans if span.name == name]
        return span


class Handler(QuietHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        with self.api.lock:
            self.api.paths.append(self.path)
            status = 200
            if self.api.refusals:
                self.api.refusals -= 1
                status = self.api.status
            else:
                self.api.bodies += body
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    for scope in resource.scope_spans:
                        self.api.spans.extend(scope.spans)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


Collector.handler = Handler


def attributes(span: Span) -> dict[str, Any]:
    """A span's attributes as Python values."""
    return {one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in span.attributes}
