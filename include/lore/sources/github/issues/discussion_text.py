"""A discussion as Markdown: its question, the answer first, and the other comments with their replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from lore.declarations import GitHubIssuesDeclaration
from lore.sources.github.issues.text import ThreadPart, comment_part, is_bot, page
from lore.sources.payload import Payload, as_mapping, as_mappings, as_text, one_line
from lore.types import Document

__all__ = ["as_item", "discussion_document"]

FIRST = ("", 0)
"""Sorts before every time."""


def as_item(node: Payload) -> dict[str, Any]:
    """Return a discussion or comment from GraphQL with the keys of REST's issues and comments."""
    author = as_mapping(node.get("author"))
    return {
        "id": node.get("databaseId"),
        "number": node.get("number"),
        "title": node.get("title"),
        "body": node.get("body"),
        "html_url": node.get("url"),
        "state": "closed" if node.get("closed") is True else "open",
        "created_at": as_text(node.get("createdAt")),
        "updated_at": as_text(node.get("updatedAt")),
        "closed_at": node.get("closedAt"),
        "user": {"login": author.get("login"), "type": author.get("__typename")},
        "labels": as_mapping(node.get("labels")).get("nodes"),
    }


def discussion_document(node: Payload, comments: Sequence[Payload], declaration: GitHubIssuesDeclaration) -> Document:
    """Return the document of a discussion with its comments, as GraphQL sends both."""
    item = as_item(node)
    state = _state(node)
    name = one_line(as_mapping(node.get("category")).get("name"))
    facts = (f"Category: {name}" if name else "", f"State: {state}")
    parts = list(_parts(node, comments, declaration.include_bots))
    return page(item, declaration, kind="Discussion", state=state, facts=facts, parts=parts)


def _state(node: Payload) -> str:
    reason = as_text(node.get("stateReason")).replace("_", " ").lower()
    if node.get("answer"):
        return "answered"
    if node.get("closed") is True:
        return f"closed ({reason})" if reason else "closed"
    return "unanswered" if as_mapping(node.get("category")).get("isAnswerable") else "open"


def _parts(node: Payload, comments: Sequence[Payload], include_bots: bool) -> Iterator[ThreadPart]:
    chosen = as_mapping(node.get("answer")).get("id")
    for comment in comments:
        item = as_item(comment)
        is_answer = chosen is not None and comment.get("id") == chosen
        part = comment_part(item, "Answer" if is_answer else "Comment")
        root = FIRST if is_answer else (item["created_at"], item["id"] or 0)
        if part and (include_bots or not is_bot(item)):
            yield replace(part, when=(root, part.when[1]))
        for reply in map(as_item, as_mappings(as_mapping(comment.get("replies")).get("nodes"))):
            part = comment_part(reply, "Reply")
            if part and (include_bots or not is_bot(reply)):
                yield replace(part, when=(root, part.when[1]))
