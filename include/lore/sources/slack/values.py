"""Typed values that only Slack's JSON has, in which any field may be missing."""

from __future__ import annotations

import re

__all__ = ["as_count", "is_ts"]

TS = re.compile(r"[0-9]{1,10}\.[0-9]{1,6}")


def is_ts(value: object) -> bool:
    """Return True for a message's timestamp, which also identifies it in its channel."""
    return isinstance(value, str) and TS.fullmatch(value) is not None


def as_count(value: object) -> int:
    """Return the positive whole number, or 0."""
    return value if isinstance(value, int) and value > 0 else 0
