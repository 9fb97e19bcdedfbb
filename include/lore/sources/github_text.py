"""From GitHub's payloads, which may lack anything, to the Markdown of one issue with its comments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from include.lore.declarations import GitHubIssuesDeclaration
from include.lore.errors import SourceError
from include.lore.types import Document

__all__ = ["as_list", "as_text", "is_pull_request", "issue_document", "issue_number", "parse_time"]

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
EPOCH = 1970
GHOST = "ghost"
"""What GitHub shows for an account that was deleted."""


def as_list(data: object, what: str) -> list[Mapping[str, Any]]:
    """The objects of a list that the API answered. Raises SourceError when it is something else."""
    if not isinstance(data, list):
        raise SourceError(
            f"The API answered something else than a list of {what}.", remedy="Check that the base URL is GitHub's API."
        )
    return [item for item in data if isinstance(item, dict)]


def as_text(value: object) -> str:
    """The value when it is text, else ""."""
    return value if isinstance(value, str) else ""


def issue_number(issue: Mapping[str, Any]) -> int | None:
    """The issue's number, or None where there is none to identify it by."""
    number = issue.get("number")
    if not isinstance(number, int) or isinstance(number, bool):
        return None
    return number if 0 < number < 2**63 else None


def is_pull_request(issue: Mapping[str, Any]) -> bool:
    """Whether it is a pull request; GitHub once gave plain issues an object of nulls here."""
    marker = issue.get("pull_request")
    return isinstance(marker, dict) and any(marker.values())


def parse_time(value: object) -> datetime | None:
    """A time of GitHub, UTC; None for what is none, such as a year that no computer wrote."""
    try:
        time = datetime.fromisoformat(as_text(value))
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if time.year >= EPOCH else None


def issue_document(
    issue: Mapping[str, Any], comments: Sequence[Mapping[str, Any]], declaration: GitHubIssuesDeclaration
) -> Document:
    """The issue as one page: a line of facts (state, labels, dates), its text, then the comments in order."""
    url = as_text(issue.get("html_url"))
    state = _state(issue)
    parts = [_facts(issue, state), _body(issue), *(_comment(comment) for comment in sorted(comments, key=_created))]
    return Document(
        id=f"{declaration.id}:{issue['number']}",
        source_id=declaration.id,
        url=url if url.startswith(("https://", "http://")) else "",
        title=" ".join(as_text(issue.get("title")).split()) or f"#{issue['number']}",
        text="\n\n".join(part for part in parts if part) + "\n",
        updated_at=parse_time(issue.get("updated_at")),
        metadata={
            "repository": declaration.repository,
            "number": issue["number"],
            "kind": "pull request" if is_pull_request(issue) else "issue",
            "state": state,
            "labels": _labels(issue),
            "author": _login(issue),
        },
        audiences=declaration.audiences,
    )


def _facts(issue: Mapping[str, Any], state: str) -> str:
    kind = "Pull request" if is_pull_request(issue) else "Issue"
    labels = ", ".join(_labels(issue))
    opened, updated, closed = (_day(issue.get(key)) for key in ("created_at", "updated_at", "closed_at"))
    facts = [
        f"{kind} #{issue['number']}",
        f"State: {state}",
        f"Labels: {labels}" if labels else "",
        f"Opened{f' {opened}' if opened else ''} by {_login(issue)}",
        f"Updated {updated}" if updated else "",
        f"Closed {closed}" if closed else "",
    ]
    return " · ".join(fact for fact in facts if fact)


def _state(issue: Mapping[str, Any]) -> str:
    state = as_text(issue.get("state")) or "unknown"
    marker = issue.get("pull_request")
    if isinstance(marker, dict) and marker.get("merged_at"):
        return "merged"
    if issue.get("draft") is True and state == "open":
        return "open (draft)"
    reason = as_text(issue.get("state_reason")).replace("_", " ")
    return f"{state} ({reason})" if reason else state


def _labels(issue: Mapping[str, Any]) -> list[str]:
    labels = issue.get("labels")
    listed = labels if isinstance(labels, list) else []
    names = [label.get("name") if isinstance(label, dict) else label for label in listed]
    return [name for name in names if isinstance(name, str) and name]


def _login(item: Mapping[str, Any]) -> str:
    user = item.get("user")
    return (as_text(user.get("login")) if isinstance(user, dict) else "") or GHOST


def _day(value: object) -> str:
    time = parse_time(value)
    return f"{time:%Y-%m-%d}" if time else ""


def _created(comment: Mapping[str, Any]) -> tuple[str, int]:
    number = comment.get("id")
    return as_text(comment.get("created_at")), number if isinstance(number, int) else 0


def _comment(comment: Mapping[str, Any]) -> str:
    """A comment under a heading of the first level: whatever headings stand before it, it is not below them."""
    body = _body(comment)
    day = _day(comment.get("created_at"))
    return f"# Comment by {_login(comment)}{f' on {day}' if day else ''}\n\n{body}" if body else ""


def _body(item: Mapping[str, Any]) -> str:
    """What a person wrote, closed: an open code fence or HTML comment must not swallow what comes after it."""
    text = as_text(item.get("body")).replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    fence = ""
    for match in FENCE.finditer(text):
        mark, rest = match.groups()
        if not fence and not (mark[0] == "`" and "`" in rest):
            fence = mark
        elif fence and mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip():
            fence = ""
    if fence:
        return f"{text}\n{fence}"
    return f"{text}\n-->" if text.rfind("<!--") > text.rfind("-->") else text
