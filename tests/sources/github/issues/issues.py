"""Issues that the tests of GitHub share."""

from __future__ import annotations

from lore.declarations import GitHubIssuesDeclaration
from lore.sources.github.api.client import GitHubAccess
from lore.sources.github.issues.source import GitHubIssuesSource
from lore.sources.http.retries import RetryPolicy


def stamp(minute: float) -> str:
    seconds = round(minute * 60)
    hours, rest = divmod(seconds, 3600)
    return f"2024-01-{1 + hours // 24:02}T{hours % 24:02}:{rest // 60:02}:{rest % 60:02}Z"


def issue(number: int, updated: float | None = None, **more: object) -> dict[str, object]:
    return {
        "id": 1000 + number,
        "number": number,
        "title": f"Issue {number}",
        "body": f"Body of {number}.",
        "state": "open",
        "user": {"login": "octocat"},
        "labels": [],
        "html_url": f"https://github.com/octo/demo/issues/{number}",
        "created_at": stamp(number),
        "updated_at": stamp(number if updated is None else updated),
        "closed_at": None,
    } | more


def comment(number: int, identity: int, body: str | None = "A comment.", **more: object) -> dict[str, object]:
    moment = stamp(identity)
    values = {"id": identity, "issue_number": number, "body": body, "created_at": moment, "updated_at": moment}
    return values | {"user": {"login": "hubot"}} | more


def source_of(github, token=None, max_retries=1, waits=None, **options) -> GitHubIssuesSource:
    retries = RetryPolicy(max_retries, sleep=(waits if waits is not None else []).append)
    return GitHubIssuesSource(
        GitHubIssuesDeclaration(id="issues", repository="octo/demo", **options),
        GitHubAccess(github.base_url, lambda: token, timeout=5.0, retries=retries),
    )


def documents(source, since=None):
    return {document.id.partition(":")[2]: document for batch in source.read(since) for document in batch.documents}
