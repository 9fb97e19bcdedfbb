"""From GitHub's payloads, which may lack anything, to the Markdown of one issue with its comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lore.declarations import GitHubIssuesDeclaration
from lore.errors import SourceError
from lore.sources.payload import as_text
from lore.sources.post_text import from_iso
from lore.types import Document

__all__ = [
    "ThreadPart",
    "attribution",
    "closed_body",
    "comment_part",
    "created",
    "day",
    "is_bot",
    "is_pull_request",
    "issue_document",
    "issue_number",
    "items_of",
    "label_names",
    "login",
    "page",
]

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
DELETED_USER = "ghost"
"""What GitHub shows for an account that was deleted."""


def items_of(data: object, what: str) -> list[Mapping[str, Any]]:
    """The objects of a list that the API answered. Raises SourceError when it is something else."""
    if not isinstance(data, list):
        raise SourceError(
            f"The API answered something else than a list of {what}.", remedy="Check that the base URL is GitHub's API."
        )
    return [item for item in data if isinstance(item, dict)]


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


Moment = tuple[str, int]
"""When something was written, and its id to tell apart what was written in the same second."""


@dataclass(frozen=True, slots=True)
class ThreadPart:
    """A piece of a page below its first text; pieces are put in the order of `when`."""

    when: tuple[Moment, Moment]
    text: str


def issue_document(
    issue: Mapping[str, Any],
    comments: Sequence[Mapping[str, Any]],
    declaration: GitHubIssuesDeclaration,
    *,
    facts: Iterable[str] = (),
    parts: Iterable[ThreadPart] = (),
) -> Document:
    """The issue as one page: a line of facts (state, labels, dates), its text, then the comments in order.

    `facts` and `parts` are what else is known of it: a pull request has reviews.
    """
    state = _state(issue)
    kind = "Pull request" if is_pull_request(issue) else "Issue"
    return page(
        issue,
        declaration,
        kind=kind,
        state=state,
        facts=(f"State: {state}", *facts),
        parts=[*map(comment_part, comments), *parts],
    )


def page(
    item: Mapping[str, Any],
    declaration: GitHubIssuesDeclaration,
    *,
    kind: str,
    state: str,
    facts: Iterable[str],
    parts: Iterable[ThreadPart | None],
) -> Document:
    """A page of an issue, pull request or discussion, `item` having the keys of an issue."""
    labels = label_names(item)
    opened, updated, closed = (day(item.get(key)) for key in ("created_at", "updated_at", "closed_at"))
    line = [
        f"{kind} #{item['number']}",
        *facts,
        f"Labels: {', '.join(labels)}" if labels else "",
        f"Opened{f' {opened}' if opened else ''} by {login(item)}",
        f"Updated {updated}" if updated else "",
        f"Closed {closed}" if closed else "",
    ]
    url = as_text(item.get("html_url"))
    ordered = sorted((part for part in parts if part), key=lambda part: part.when)
    texts = [" · ".join(fact for fact in line if fact), closed_body(item), *(part.text for part in ordered)]
    return Document(
        id=f"{declaration.id}:{item['number']}",
        source_id=declaration.id,
        url=url if url.startswith(("https://", "http://")) else "",
        title=" ".join(as_text(item.get("title")).split()) or f"#{item['number']}",
        text="\n\n".join(text for text in texts if text) + "\n",
        updated_at=from_iso(item.get("updated_at")),
        metadata={
            "repository": declaration.repository,
            "number": item["number"],
            "kind": kind.lower(),
            "state": state,
            "labels": labels,
            "author": login(item),
        },
        audiences=declaration.audiences,
    )


def _state(issue: Mapping[str, Any]) -> str:
    state = as_text(issue.get("state")) or "unknown"
    marker = issue.get("pull_request")
    if isinstance(marker, dict) and marker.get("merged_at"):
        return "merged"
    if issue.get("draft") is True and state == "open":
        return "open (draft)"
    reason = as_text(issue.get("state_reason")).replace("_", " ")
    return f"{state} ({reason})" if reason else state


def label_names(item: Mapping[str, Any]) -> list[str]:
    """The names of an issue's labels."""
    labels = item.get("labels")
    listed = labels if isinstance(labels, list) else []
    names = [label.get("name") if isinstance(label, dict) else label for label in listed]
    return [name for name in names if isinstance(name, str) and name]


def login(item: Mapping[str, Any]) -> str:
    """Who wrote it."""
    user = item.get("user")
    return (as_text(user.get("login")) if isinstance(user, dict) else "") or DELETED_USER


def is_bot(item: Mapping[str, Any]) -> bool:
    """Whether a program wrote it: an App, or an account that says so in its name."""
    user = item.get("user")
    kind = as_text(user.get("type")) if isinstance(user, dict) else ""
    return kind == "Bot" or login(item).endswith("[bot]")


def day(value: object) -> str:
    """The day of a time, or "" for what is none."""
    time = from_iso(value)
    return f"{time:%Y-%m-%d}" if time else ""


def created(item: Mapping[str, Any]) -> Moment:
    """When it was written; for a review, when it was submitted."""
    number = item.get("id")
    when = as_text(item.get("created_at")) or as_text(item.get("submitted_at"))
    return when, number if isinstance(number, int) else 0


def attribution(what: str, item: Mapping[str, Any]) -> str:
    """A heading: what it is, by whom, and on which day."""
    when = day(created(item)[0])
    return f"{what} by {login(item)}{f' on {when}' if when else ''}"


def comment_part(comment: Mapping[str, Any], what: str = "Comment") -> ThreadPart | None:
    """A comment under a heading of the first level: whatever headings stand before it, it is not below them."""
    body = closed_body(comment)
    return (
        ThreadPart((created(comment), created(comment)), f"# {attribution(what, comment)}\n\n{body}") if body else None
    )


def closed_body(item: Mapping[str, Any]) -> str:
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
