"""Values that only Slack's JSON has, of which nothing is taken for granted."""

from __future__ import annotations

import re

__all__ = ["as_count", "is_ts"]

TS = re.compile(r"[0-9]{1,10}\.[0-9]{1,6}")


def is_ts(value: object) -> bool:
    """Whether the value is a message's timestamp, which is also its name in its channel."""
    return isinstance(value, str) and TS.fullmatch(value) is not None


def as_count(value: object) -> int:
    """The whole number that is not negative, or 0."""
    return value if isinstance(value, int) and value > 0 else 0
