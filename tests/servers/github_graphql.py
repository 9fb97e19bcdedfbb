"""The part of GitHub's GraphQL that Lore asks: discussions, found by what a query has in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["answer_query"]

Payload = Mapping[str, Any]


def answer_query(discussions: Sequence[Payload], issues: Sequence[Payload], body: Payload) -> dict[str, Any]:
    """The answer to a query about discussions, each given with a plain list of `comments`, or to how many issues."""
    query, variables = body["query"], body["variables"]
    if "pullRequests" in query:
        pulls = sum(1 for row in issues if row.get("pull_request"))
        totals = {"issues": {"totalCount": len(issues) - pulls}, "pullRequests": {"totalCount": pulls}}
        return {"data": {"repository": totals}}
    by_number = {row["number"]: row for row in discussions}
    if "discussions(" in query:
        newest = sorted(discussions, key=lambda row: (row["updatedAt"], row["number"]), reverse=True)
        listed = _page(newest, 100, variables.get("after"))
        return {"data": {"repository": {"discussions": {"totalCount": len(newest), **listed}}}}
    if "number" in variables:
        comments = _page(by_number[variables["number"]]["comments"], 100, variables.get("after"))
        return {"data": {"repository": {"discussion": {"comments": comments}}}}
    asked = {alias: int(number) for alias, number in re.findall(r"(\w+): discussion\(number: (\d+)\)", query)}
    missing = [alias for alias, number in asked.items() if number not in by_number]
    found = {
        alias: {**by_number[number], "comments": _page(by_number[number]["comments"], 100, None)}
        for alias, number in asked.items()
        if number in by_number
    }
    if not missing:
        return {"data": {"repository": found}}
    errors = [
        {"type": "NOT_FOUND", "path": ["repository", alias], "message": "Could not resolve to a Discussion"}
        for alias in missing
    ]
    return {"data": {"repository": found | dict.fromkeys(missing)}, "errors": errors}


def _page(rows: Sequence[Payload], size: int, after: str | None) -> dict[str, Any]:
    start = int(after or 0)
    end = start + size
    return {"nodes": list(rows[start:end]), "pageInfo": {"hasNextPage": end < len(rows), "endCursor": str(end)}}
