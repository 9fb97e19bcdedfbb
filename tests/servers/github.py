"""A small server that speaks the part of GitHub's API that Lore reads: wire format, paging, ETags, limits and faults.

    with GitHubServer(issues, comments, repository="octo/demo") as github:
        ...  # point a github_issues declaration at github.base_url

It needs nothing but the standard library, so that examples and DAG tests can start it too.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tests.servers.github_graphql import answer_query
from tests.servers.github_tarball import ArchiveServer
from tests.servers.local import LocalServer, QuietHandler, take_fault

Payload = Mapping[str, Any]


@dataclass
class Fault:
    """What goes wrong with the next `times` calls whose path and query contain `match`.

    `status`, `headers` and `body` replace the answer; `cut` closes the connection in the middle of the body;
    `length` is what Content-Length says instead; `delay` waits so many seconds first. `after` lets that many matching
    calls pass.
    """

    match: str = ""
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    cut: bool = False
    length: int | None = None
    delay: float = 0.0
    times: int = 1
    after: int = 0


def rate_limited(reset: float, match: str = "", times: int = 1) -> Fault:
    """GitHub's primary rate limit: 403 until `reset`, in seconds since the epoch."""
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(reset))}
    return Fault(match, 403, headers, b'{"message": "API rate limit exceeded for 127.0.0.1."}', times=times)


def too_many_requests(retry_after: str = "1", match: str = "", times: int = 1) -> Fault:
    """GitHub's secondary rate limit: 429 with Retry-After."""
    body = b'{"message": "You have exceeded a secondary rate limit."}'
    return Fault(match, 429, {"Retry-After": retry_after}, body, times=times)


@dataclass(frozen=True)
class Request:
    """A call that came in."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    method: str = "GET"
    body: Any = None
    status: int = 200
    """What it was answered with."""


@dataclass(frozen=True)
class Answer:
    """What goes out: `data` as JSON, or bytes as they are. A list is cut into pages."""

    data: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class App:
    """GitHub's side of an App: checks JWTs against the public key and a clock, and mints tokens that last `seconds`."""

    def __init__(self, public_key: str, *, app_id: str = "12345", seconds: int = 3600) -> None:
        self.public_key, self.app_id, self.seconds = public_key, app_id, seconds
        self.tokens: list[str] = []

    def answer(self, request: Request) -> Answer:
        """The answer to a call that carries a JWT, with the reason of a refusal as GitHub words it."""
        import jwt

        signed = request.headers.get("authorization", "").removeprefix("Bearer ")
        try:
            claims = jwt.decode(signed, self.public_key, algorithms=["RS256"], issuer=self.app_id)
        except jwt.ExpiredSignatureError:
            return Answer({"message": "'Expiration time' claim ('exp') must be a numeric value in the future"}, 401)
        except jwt.PyJWTError:
            return Answer({"message": "A JSON web token could not be decoded"}, 401)
        if claims["exp"] > time.time() + 600:
            return Answer({"message": "'Expiration time' claim ('exp') is too far in the future"}, 401)
        if request.path == "/app":
            return Answer({"name": "Lore of Acme", "slug": "lore"})
        if request.path.endswith(("/installation", "/installations/77")):
            return Answer({"id": 77, "app_id": int(self.app_id), "account": {"login": "octo"}})
        if request.method != "POST" or request.path != "/app/installations/77/access_tokens":
            return NOT_FOUND
        self.tokens.append(f"ghs_{len(self.tokens)}")
        until = datetime.fromtimestamp(time.time() + self.seconds, UTC)
        return Answer({"token": self.tokens[-1], "expires_at": f"{until:%Y-%m-%dT%H:%M:%SZ}"}, 201)


NOT_FOUND = Answer({"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"}, 404)


class _Handler(QuietHandler):
    api: GitHubServer

    def do_GET(self) -> None:
        self._serve()

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string((timestamp or time.time()) + self.api.clock)

    def do_HEAD(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        github = self.api
        parts = urlsplit(self.path)
        headers = {k.lower(): v for k, v in self.headers.items()}
        content = self.rfile.read(int(headers.get("content-length", 0)))
        query = dict(parse_qsl(parts.query))
        request = Request(parts.path, query, headers, self.command, json.loads(content) if content else None)
        with github._lock:
            github.requests.append(request)
            count = len(github.requests)
            if github.before:
                github.before(count)
            fault = take_fault(github.faults, self.path)
            answer = github._answer(request)
        if not github._lets_in(request):
            answer = Answer({"message": "Bad credentials", "status": "401"}, 401)
        sent = {
            "x-ratelimit-limit": str(github.rate_limit),
            "x-ratelimit-remaining": str(max(0, github.rate_limit - count)),
            "x-ratelimit-reset": str(int(time.time()) + 3600),
        }
        data = answer.data
        if isinstance(data, list):
            data, link = self._page(parts.path, query, data)
            sent |= {"Link": link} if link else {}
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        status = answer.status
        if status == 200 and self.command == "GET":
            sent["ETag"] = f'W/"{hashlib.sha256(body + sent.get("Link", "").encode()).hexdigest()}"'
        sent |= answer.headers
        if status == 200 and headers.get("if-none-match") == sent.get("ETag", ""):
            status, body = 304, b""
        github.requests[count - 1] = replace(request, status=fault.status or status if fault else status)
        self.reply(status, {"Content-Type": "application/json; charset=utf-8", **sent}, body, fault)

    def _page(self, path: str, query: Mapping[str, str], rows: list[Payload]) -> tuple[list[Payload], str]:
        size = min(100, int(query.get("per_page", 30)))
        page, last = int(query.get("page", 1)), max(1, -(-len(rows) // size))
        targets = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
        links = [
            f'<{self.api.base_url}{path}?{urlencode({**query, "page": number})}>; rel="{rel}"'
            for rel, number in targets.items()
            if 1 <= number <= last
            and (rel != "last" or self.api.tells_last_page or not path.endswith("/issues"))
            and (page > 1 if rel in ("prev", "first") else page < last)
        ]
        return rows[(page - 1) * size : page * size], ", ".join(links)


class GitHubServer(LocalServer):
    """Serves issues, comments and files of one repository on 127.0.0.1 while the `with` block runs.

    `issues` and `comments` (each with `issue_url` or `issue_number`) stay lists of this object and may be changed
    while it runs. So may `reviews` and `code_comments` (each with `pull_number`), `discussions` (as GraphQL has them),
    `moved` (number → where an issue was transferred to), and `files` (path → content; the commit follows from them),
    which `archives` serves. `tells_last_page` is whether the list of issues says how many pages it has: github.com's
    does not, that of an Enterprise server may. `clock` is by how many seconds its Date is wrong; `token` makes it
    refuse others; `before` is called with each request's number, from 1, before it is answered.
    """

    handler = _Handler

    def __init__(
        self,
        issues: Iterable[Payload] = (),
        comments: Iterable[Payload] = (),
        *,
        repository: str = "octo/demo",
        files: Mapping[str, bytes | str] | None = None,
        archives: ArchiveServer | None = None,
        token: str | None = None,
        faults: Sequence[Fault] = (),
        rate_limit: int = 5000,
        before: Callable[[int], None] | None = None,
    ) -> None:
        self.issues = [dict(issue) for issue in issues]
        self.comments = [dict(comment) for comment in comments]
        self.repository = repository
        self.files = dict(files or {})
        self.archives = archives
        self.refs = {"HEAD": "", "main": ""}
        self.app: App | None = None
        self.scopes: str | None = None
        self.clock = 0.0
        self.tells_last_page = True
        self.reviews: list[dict[str, Any]] = []
        self.code_comments: list[dict[str, Any]] = []
        self.discussions: list[dict[str, Any]] = []
        self.moved: dict[int, str] = {}
        self.token = token
        self.faults = list(faults)
        self.rate_limit = rate_limit
        self.before = before
        self.requests: list[Request] = []
        self._lock = threading.Lock()

    def paths(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [request.path for request in self.requests]

    @property
    def commit(self) -> str:
        """The hash of the files as they are now."""
        return hashlib.sha1(repr(sorted(self.files.items())).encode("utf-8", "surrogateescape")).hexdigest()

    @property
    def calls_used(self) -> int:
        """How many calls count against the rate limit: those that found nothing changed do not."""
        return sum(1 for request in self.requests if request.status != 304)

    def _lets_in(self, request: Request) -> bool:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.app:
            return given in self.app.tokens or "installation" in request.path or request.path == "/app"
        return not self.token or given == self.token

    def _answer(self, request: Request) -> Answer:
        below = f"/repos/{self.repository}/"
        if request.path == "/graphql":
            return Answer(answer_query(self.discussions, self.issues, request.body))
        if self.app and (request.path == f"{below}installation" or request.path.startswith("/app")):
            return self.app.answer(request)
        if request.path == "/user" and not self.app:
            scopes = {} if self.scopes is None else {"x-oauth-scopes": self.scopes}
            return Answer({"login": "octocat"}, 200, scopes)
        if request.path == "/rate_limit":
            return Answer({"resources": {"core": {"remaining": self.rate_limit}}})
        if request.path.startswith("/repos/octo/elsewhere/issues/"):
            place = f"{self.base_url}/repos/octo/elsewhere"
            return Answer({"number": int(request.path.rpartition("/")[2]), "repository_url": place, "title": "Moved"})
        if not request.path.startswith(below):
            return NOT_FOUND
        part, _, rest = request.path.removeprefix(below).partition("/")
        answers = {"issues": self._issues, "pulls": self._pulls, "commits": self._commit_of, "tarball": self._tarball}
        return answers[part](unquote(rest), request.query) if part in answers else NOT_FOUND

    def _issues(self, rest: str, query: Mapping[str, str]) -> Answer:
        if not rest:
            return Answer(self._select_issues(query))
        if rest == "comments":
            return Answer(self._select_comments(query))
        number, _, below = rest.partition("/")
        if int(number) in self.moved:
            return Answer({"message": "Moved Permanently"}, 301, {"Location": self.moved[int(number)]})
        found = [issue for issue in self.issues if issue["number"] == int(number)]
        if found and below == "comments":
            return Answer([row for row in self._select_comments(query) if _issue_number(row) == int(number)])
        return Answer(self._as_issue(found[0])) if found and not below else NOT_FOUND

    def _pulls(self, rest: str, query: Mapping[str, str]) -> Answer:
        if not rest:
            return Answer([])
        base = f"{self.base_url}/repos/{self.repository}/pulls"
        comments = [{"pull_request_url": f"{base}/{row['pull_number']}", **row} for row in self.code_comments]
        if rest == "comments":
            return Answer(_ordered(_since(comments, query), {"direction": "asc", **query}))
        number, _, below = rest.partition("/")
        rows = comments if below == "comments" else self.reviews
        return Answer([row for row in rows if row["pull_number"] == int(number)])

    def _tarball(self, commit: str, query: Mapping[str, str]) -> Answer:
        if self.archives is None or commit != self.commit:
            return NOT_FOUND
        self.archives.hold(commit, self.files)
        place = f"{self.archives.base_url}/{self.repository}/legacy.tar.gz/{commit}"
        return Answer(b"", 302, {"Location": f"{place}?token=ARCHIVE-SECRET"})

    def _commit_of(self, ref: str, query: Mapping[str, str]) -> Answer:
        if ref not in self.refs:
            return Answer({"message": f"No commit found for SHA: {ref}", "status": "422"}, 422)
        commit = self.refs[ref] or self.commit
        media_type = "application/vnd.github.sha; charset=utf-8"
        return Answer(commit.encode(), 200, {"Content-Type": media_type, "ETag": f'"{commit}"'})

    def _select_issues(self, query: Mapping[str, str]) -> list[Payload]:
        state, since = query.get("state", "open"), query.get("since", "")
        labels = {label for label in query.get("labels", "").split(",") if label}
        chosen = [
            self._as_issue(issue)
            for issue in self.issues
            if state in ("all", issue["state"])
            and issue["updated_at"] >= since
            and labels <= {label["name"] for label in issue.get("labels") or () if isinstance(label, dict)}
        ]
        return _ordered(chosen, query)

    def _as_issue(self, issue: Payload) -> Payload:
        number = issue["number"]
        return {**issue, "comments": sum(1 for c in self.comments if _issue_number(c) == number)}

    def _select_comments(self, query: Mapping[str, str]) -> list[Payload]:
        base = f"{self.base_url}/repos/{self.repository}/issues"
        chosen = [{"issue_url": f"{base}/{_issue_number(comment)}", **comment} for comment in self.comments]
        return _ordered(_since(chosen, query), {"direction": "asc", **query})


def _issue_number(comment: Payload) -> int:
    given = comment.get("issue_number")
    return int(given if given is not None else str(comment["issue_url"]).rpartition("/")[2])


def _since(rows: Iterable[Payload], query: Mapping[str, str]) -> list[Payload]:
    return [row for row in rows if row["updated_at"] >= query.get("since", "")]


def _ordered(rows: list[Payload], query: Mapping[str, str]) -> list[Payload]:
    key = f"{query.get('sort', 'created')}_at"
    return sorted(rows, key=lambda row: (row[key], row["id"]), reverse=query.get("direction", "desc") == "desc")
