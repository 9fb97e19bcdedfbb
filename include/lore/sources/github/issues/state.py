"""The cursor of a repository's issues."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from lore.sources.cursors import pack, unpack
from lore.sources.github.issues.feed import FeedState, stamp
from lore.sources.payload import as_text, from_iso
from lore.types import Cursor

__all__ = ["IssuesState", "NumberIndex"]

NumberIndex = Mapping[int, bool]
"""Every number in a list; True for those with a document."""


@dataclass(frozen=True, slots=True)
class IssuesState:
    """The state of each list of a repository, and what exists; None if unknown.

    `listed` is the time of the last complete list of issues.
    """

    issues: FeedState = field(default_factory=FeedState)
    comments: FeedState = field(default_factory=FeedState)
    code_comments: FeedState = field(default_factory=FeedState)
    discussions: FeedState = field(default_factory=FeedState)
    listed: datetime | None = None
    numbers: NumberIndex | None = None
    discussion_numbers: NumberIndex | None = None

    def to_cursor(self, selection: str) -> Cursor:
        """Return the cursor; `selection` identifies the declaration's selection."""
        reached = self.issues.reached
        return json.dumps(
            {
                "updated_at": stamp(reached) if reached else None,
                "selection": selection,
                "issues": _feed_to_json(self.issues),
                "comments": _feed_to_json(self.comments),
                "code_comments": _feed_to_json(self.code_comments),
                "discussions": _feed_to_json(self.discussions),
                "listed": stamp(self.listed) if self.listed else None,
                "numbers": _pack(self.numbers),
                "discussion_numbers": _pack(self.discussion_numbers),
            }
        )

    def selected_numbers(self) -> list[int] | None:
        """Return the numbers of all documents; None if unknown."""
        if self.numbers is None:
            return None
        return [
            n
            for numbers in (self.numbers, self.discussion_numbers or {})
            for n, is_selected in numbers.items()
            if is_selected
        ]

    @classmethod
    def from_cursor(cls, cursor: Cursor, selection: str) -> Self | None:
        """Read a cursor; None if it belongs to another selection, whose other issues were never read.

        Raises ValueError if it is invalid.
        """
        try:
            values = json.loads(cursor)
            if values["updated_at"] is not None and from_iso(values["updated_at"]) is None:
                raise ValueError("the time is missing")
            if values["selection"] != selection:
                return None
            return cls(
                issues=_feed_of(values.get("issues"), values["updated_at"]),
                comments=_feed_of(values.get("comments")),
                code_comments=_feed_of(values.get("code_comments")),
                discussions=_feed_of(values.get("discussions")),
                listed=from_iso(values.get("listed")),
                numbers=_unpack(values.get("numbers")),
                discussion_numbers=_unpack(values.get("discussion_numbers")),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(str(error)) from None


def _feed_to_json(state: FeedState) -> dict[str, Any]:
    reached = stamp(state.reached) if state.reached else None
    return {"reached": reached, "recent": dict(state.recent), "etag": state.etag}


def _feed_of(values: Any, reached: object = None) -> FeedState:
    given = values if isinstance(values, dict) else {}
    recent = given.get("recent")
    return FeedState(
        from_iso(given.get("reached") or reached),
        recent if isinstance(recent, dict) else {},
        as_text(given.get("etag")),
    )


def _pack(numbers: NumberIndex | None) -> str:
    if numbers is None:
        return ""
    return pack([f"{'' if is_selected else '-'}{number}" for number, is_selected in sorted(numbers.items())])


def _unpack(packed: object) -> NumberIndex | None:
    lines = unpack(as_text(packed))
    return None if lines is None else {abs(int(line)): not line.startswith("-") for line in lines if line}
