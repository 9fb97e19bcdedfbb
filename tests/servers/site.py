"""A small website that lies when it is told to: pages with validators, sitemaps, robots.txt, redirects and faults.

    with SiteServer({"/": page("Home", "<a href='/a'>A</a>")}) as site:
        ...  # point a site declaration at site.url

It needs nothing but the standard library, so that examples and other tests can start it too.
"""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from hashlib import sha256
from urllib.parse import urlsplit

from tests.servers.local import LocalServer, QuietHandler


@dataclass(frozen=True)
class Resource:
    """What an address gives. `etag`: whether it has one; `zipped`: whether the body is sent packed."""

    body: bytes
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: bool = True
    zipped: bool = False


@dataclass
class Fault:
    """What goes wrong with the next `times` calls for a path that starts with `match`.

    `status` and `headers` replace those of the answer; `cut` closes the connection in the middle of the body;
    `drip` sends the body byte by byte with so many seconds between; `claim` is added to the true Content-Length.
    """

    match: str = "/"
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    drip: float = 0.0
    claim: int = 0
    times: int = 1


@dataclass(frozen=True)
class Request:
    """A call that came in, and how it was answered."""

    path: str
    headers: Mapping[str, str]
    status: int
    at: float


def page(title: str, body: str = "", head: str = "") -> Resource:
    """An HTML page with enough text to be one."""
    text = f"{title} is described here in a sentence that is long enough to be running text."
    html = (
        f"<!DOCTYPE html><html><head><title>{title}</title>{head}</head>"
        f"<body><main><h1>{title}</h1><p>{text}</p>{body}</main></body></html>"
    )
    return Resource(html.encode())


def links(*targets: str) -> str:
    """Links to put into a page."""
    return "".join(f'<p><a href="{target}">to {index}</a></p>' for index, target in enumerate(targets))


def redirect(target: str, status: int = 301) -> Resource:
    """An address that sends its visitors elsewhere."""
    return Resource(b"Moved.", "text/plain", status, {"Location": target}, etag=False)


def sitemap(*addresses: str, lastmod: str = "", kind: str = "url") -> Resource:
    """A sitemap of pages, or with kind "sitemap" an index of sitemaps."""
    outer = "urlset" if kind == "url" else "sitemapindex"
    changed = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    entries = "".join(f"<{kind}><loc>{address}</loc>{changed}</{kind}>" for address in addresses)
    xml = f'<?xml version="1.0"?><{outer} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{outer}>'
    return Resource(xml.encode(), "application/xml")


def text(body: str | bytes, content_type: str = "text/plain") -> Resource:
    """Anything else."""
    return Resource(body.encode() if isinstance(body, str) else body, content_type)


def _later(since: str, modified: str) -> bool:
    """Whether a page is not newer than what the caller has; servers also take dates that they never gave."""
    return parsedate_to_datetime(since) >= parsedate_to_datetime(modified)


class _Handler(QuietHandler):
    api: SiteServer
    wbufsize = 0  # what drips must leave byte by byte
    disable_nagle_algorithm = True  # or each answer waits for the delayed acknowledgement of its headers

    def do_GET(self) -> None:
        if self.api.before:
            self.api.before(self.path)
        fault = self.api.fault(self.path)
        resource = self.api.resource(self.path)
        headers = {"Content-Type": resource.content_type, **resource.headers}
        etag = f'"{sha256(resource.body).hexdigest()[:16]}"'
        if resource.etag:
            headers["ETag"] = etag
        status, body = resource.status, resource.body
        if resource.zipped:
            headers["Content-Encoding"], body = "gzip", gzip.compress(body, mtime=0)
        if resource.etag and status == 200 and self.headers.get("If-None-Match") == etag:
            status, body = 304, b""
        modified = resource.headers.get("Last-Modified")
        since = self.headers.get("If-Modified-Since")
        if modified and status == 200 and since and _later(since, modified):
            status, body = 304, b""
        if fault and fault.status:
            status, headers, body = fault.status, dict(fault.headers), b"As the test asks."
        elif fault:
            headers |= fault.headers
        self._answer(status, headers, body, fault)

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes, fault: Fault | None) -> None:
        path = urlsplit(self.path)
        asked = f"{path.path}?{path.query}" if path.query else path.path
        seen = {name.lower(): value for name, value in self.headers.items()}
        self.api.requests.append(Request(asked, seen, status, time.monotonic()))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body) + (fault.claim if fault else 0)))
        self.end_headers()
        if fault and (fault.cut or fault.claim):
            self.hang_up()
        try:
            if fault and fault.drip:
                for position in range(len(body)):
                    self.wfile.write(body[position : position + 1])
                    time.sleep(fault.drip)
            elif fault and fault.cut:
                self.wfile.write(body[: len(body) // 2])
            else:
                self.wfile.write(body)
        except OSError:
            self.close_connection = True


class SiteServer(LocalServer):
    """Serves `pages` (path → resource) on 127.0.0.1 while the `with` block runs; the mapping may be changed meanwhile.

    `otherwise` makes the answer for paths that are not in it, such as the endless ones. `before` is called with each
    request's path before it is answered.
    """

    handler = _Handler

    def __init__(
        self,
        pages: Mapping[str, Resource] | None = None,
        *,
        faults: Sequence[Fault] = (),
        otherwise: Callable[[str], Resource] | None = None,
        before: Callable[[str], None] | None = None,
    ) -> None:
        self.pages = dict(pages or {})
        self.faults = list(faults)
        self.otherwise = otherwise
        self.before = before
        self.requests: list[Request] = []
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where the site is."""
        return self.origin

    @property
    def port(self) -> int:
        """Its port."""
        return int(self.host.rpartition(":")[2])

    def paths(self, status: int | None = None) -> list[str]:
        """The paths that were asked for, in order, or those that were answered with a status."""
        return [request.path for request in self.requests if status in (None, request.status)]

    def bodies(self) -> list[str]:
        """The paths of the pages whose body was sent; lists of pages are no pages."""
        return [path for path in self.paths(200) if not path.endswith(("/robots.txt", ".xml", ".gz", "llms.txt"))]

    def resource(self, path: str) -> Resource:
        """What stands at a path."""
        if path in self.pages:
            return self.pages[path]
        return self.otherwise(path) if self.otherwise else Resource(b"Not found.", "text/plain", 404, etag=False)

    def fault(self, path: str) -> Fault | None:
        """The fault that this call meets, used up by one."""
        with self._lock:
            for fault in self.faults:
                if path.startswith(fault.match) and fault.times > 0:
                    fault.times -= 1
                    return fault
        return None
