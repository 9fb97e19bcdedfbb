"""A discussion as Markdown: its question, the answer first, and the other comments with their replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from lore.declarations import GitHubIssuesDeclaration
from lore.sources.github.issues.text import ThreadPart, comment_part, is_bot, page
from lore.sources.payload import Payload, as_text
from lore.types import Document

__all__ = ["as_item", "discussion_document"]

FIRST = ("", 0)
"""Before all that has a time."""


def as_item(node: Payload) -> dict[str, Any]:
    """A discussion or comment of GraphQL with the keys that the REST API gives an issue or comment."""
    author = node.get("author")
    labels = node.get("labels")
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
        "user": {"login": author.get("login"), "type": author.get("__typename")} if isinstance(author, dict) else None,
        "labels": labels.get("nodes") if isinstance(labels, dict) else [],
    }


def discussion_document(node: Payload, comments: Sequence[Payload], declaration: GitHubIssuesDeclaration) -> Document:
    """The page of a discussion with its comments, as GraphQL gives both."""
    item = as_item(node)
    state = _state(node)
    category = node.get("category")
    name = " ".join(as_text(category.get("name")).split()) if isinstance(category, dict) else ""
    facts = (f"Category: {name}" if name else "", f"State: {state}")
    parts = list(_parts(node, comments, declaration.include_bots))
    return page(item, declaration, kind="Discussion", state=state, facts=facts, parts=parts)


def _state(node: Payload) -> str:
    reason = as_text(node.get("stateReason")).replace("_", " ").lower()
    category = node.get("category")
    if node.get("answer"):
        return "answered"
    if node.get("closed") is True:
        return f"closed ({reason})" if reason else "closed"
    return "unanswered" if isinstance(category, dict) and category.get("isAnswerable") else "open"


def _parts(node: Payload, comments: Sequence[Payload], include_bots: bool) -> Iterator[ThreadPart]:
    answer = node.get("answer")
    chosen = answer.get("id") if isinstance(answer, dict) else None
    for comment in comments:
        item = as_item(comment)
        is_answer = chosen is not None and comment.get("id") == chosen
        part = comment_part(item, "Answer" if is_answer else "Comment")
        root = FIRST if is_answer else (item["created_at"], item["id"] or 0)
        if part and (include_bots or not is_bot(item)):
            yield replace(part, when=(root, part.when[1]))
        replies = comment.get("replies")
        nodes = replies.get("nodes") if isinstance(replies, dict) else None
        for reply in map(as_item, nodes if isinstance(nodes, list) else []):
            part = comment_part(reply, "Reply")
            if part and (include_bots or not is_bot(reply)):
                yield replace(part, when=(root, part.when[1]))
