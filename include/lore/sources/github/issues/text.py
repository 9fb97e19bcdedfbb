"""Markdown of one issue with its comments, from payloads in which any field may be missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lore.declarations import GitHubIssuesDeclaration
from lore.errors import SourceError
from lore.sources.payload import (
    Payload,
    as_integer,
    as_list,
    as_mapping,
    as_mappings,
    as_text,
    day,
    from_iso,
    one_line,
)
from lore.sources.post_text import facts_line
from lore.types import Document

__all__ = [
    "ThreadPart",
    "attribution",
    "closed_body",
    "comment_part",
    "created",
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
"""GitHub's name for a deleted account."""


def items_of(data: object, what: str) -> list[Payload]:
    """Return the objects of a list in a reply. Raises SourceError for anything else."""
    if not isinstance(data, list):
        raise SourceError(f"The API didn't return a list of {what}.", remedy="Check that the base URL is GitHub's API.")
    return as_mappings(data)


def issue_number(issue: Payload) -> int | None:
    """Return the issue's number, None if it has none."""
    number = as_integer(issue.get("number"))
    return number if number and number > 0 else None


def is_pull_request(issue: Payload) -> bool:
    """Return True for a pull request; GitHub once gave plain issues an object of nulls here."""
    return any(as_mapping(issue.get("pull_request")).values())


Moment = tuple[str, int]
"""The time of writing, and the id, which orders texts of the same second."""


@dataclass(frozen=True, slots=True)
class ThreadPart:
    """A part of a page below its first text; parts are ordered by `when`."""

    when: tuple[Moment, Moment]
    text: str


def issue_document(
    issue: Payload,
    comments: Sequence[Payload],
    declaration: GitHubIssuesDeclaration,
    *,
    facts: Iterable[str] = (),
    parts: Iterable[ThreadPart] = (),
) -> Document:
    """Return the issue as one page: a line of facts (state, labels, dates), its text, then the comments in order.

    A pull request adds `facts` and `parts` from its reviews.
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
    item: Payload,
    declaration: GitHubIssuesDeclaration,
    *,
    kind: str,
    state: str,
    facts: Iterable[str],
    parts: Iterable[ThreadPart | None],
) -> Document:
    """Return the document of an issue, pull request or discussion; `item` has the keys of an issue."""
    labels = label_names(item)
    opened, updated, closed = (day(from_iso(item.get(key))) for key in ("created_at", "updated_at", "closed_at"))
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
    texts = [facts_line(line), closed_body(item), *(part.text for part in ordered)]
    return Document(
        id=f"{declaration.id}:{item['number']}",
        source_id=declaration.id,
        url=url if url.startswith(("https://", "http://")) else "",
        title=one_line(item.get("title")) or f"#{item['number']}",
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


def _state(issue: Payload) -> str:
    state = as_text(issue.get("state")) or "unknown"
    if as_mapping(issue.get("pull_request")).get("merged_at"):
        return "merged"
    if issue.get("draft") is True and state == "open":
        return "open (draft)"
    reason = as_text(issue.get("state_reason")).replace("_", " ")
    return f"{state} ({reason})" if reason else state


def label_names(item: Payload) -> list[str]:
    """Return the names of an issue's labels."""
    labels = as_list(item.get("labels"))
    names = [label.get("name") if isinstance(label, dict) else label for label in labels]
    return [name for name in names if isinstance(name, str) and name]


def login(item: Payload) -> str:
    """Return the author's login."""
    return as_text(as_mapping(item.get("user")).get("login")) or DELETED_USER


def is_bot(item: Payload) -> bool:
    """Return True if a program wrote it: an App, or an account whose name says so."""
    return as_mapping(item.get("user")).get("type") == "Bot" or login(item).endswith("[bot]")


def created(item: Payload) -> Moment:
    """Return the time of writing; for a review, of its submission."""
    number = item.get("id")
    when = as_text(item.get("created_at")) or as_text(item.get("submitted_at"))
    return when, number if isinstance(number, int) else 0


def attribution(what: str, item: Payload) -> str:
    """Return a heading: the kind of text, its author, and the day."""
    when = day(from_iso(created(item)[0]))
    return f"{what} by {login(item)}{f' on {when}' if when else ''}"


def comment_part(comment: Payload, what: str = "Comment") -> ThreadPart | None:
    """Return a comment below a heading of level 1, so that it never falls below an earlier heading."""
    body = closed_body(comment)
    return (
        ThreadPart((created(comment), created(comment)), f"# {attribution(what, comment)}\n\n{body}") if body else None
    )


def closed_body(item: Payload) -> str:
    """Return an item's text, with an open code fence or HTML comment closed, so that it can't swallow the rest."""
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
