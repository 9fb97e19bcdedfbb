"""Values out of Slack's JSON, of which nothing is taken for granted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = ["Payload", "as_count", "as_mapping", "as_mappings", "as_text", "is_ts"]

Payload: TypeAlias = Mapping[str, Any]

TS = re.compile(r"[0-9]{1,10}\.[0-9]{1,6}")


def is_ts(value: object) -> bool:
    """Whether the value is a message's timestamp, which is also its name in its channel."""
    return isinstance(value, str) and TS.fullmatch(value) is not None


def as_text(value: object) -> str:
    """The text, or nothing."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """The whole number that is not negative, or 0."""
    return value if isinstance(value, int) and value > 0 else 0


def as_mapping(value: object) -> Payload:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_mappings(value: object) -> list[Payload]:
    """The objects of a list, or none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
