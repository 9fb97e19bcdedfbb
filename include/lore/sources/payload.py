"""Typed values from the JSON that servers send, in which any field may be missing or of another type."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias
from urllib.parse import quote

__all__ = [
    "Payload",
    "as_integer",
    "as_list",
    "as_mapping",
    "as_mappings",
    "as_text",
    "day",
    "from_epoch",
    "from_iso",
    "nested",
    "one_line",
    "unescape",
    "web_address",
    "without_surrogates",
]

Payload: TypeAlias = Mapping[str, Any]

EPOCH_YEAR = 1970
SURROGATES = re.compile("[\ud800-\udfff]")


def as_text(value: object) -> str:
    """Return the text, or ""."""
    return value if isinstance(value, str) else ""


def as_integer(value: object) -> int | None:
    """Return the whole number, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def as_list(value: object) -> list[Any]:
    """Return the list, or an empty one."""
    return value if isinstance(value, list) else []


def as_mapping(value: object) -> Payload:
    """Return the object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_mappings(value: object) -> list[Payload]:
    """Return the objects in a list, or none."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def nested(value: object, *keys: str) -> Payload:
    """Return the object at a path of keys, or an empty one."""
    for key in keys:
        value = as_mapping(value).get(key)
    return as_mapping(value)


def without_surrogates(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 can't encode, replaced."""
    return SURROGATES.sub("�", text)


def one_line(value: object) -> str:
    """Return a text in one line; "" for anything else."""
    return without_surrogates(" ".join(as_text(value).split()))


def unescape(value: object) -> str:
    """Return a text with HTML entities resolved, in one line; "" for anything else."""
    return one_line(html.unescape(as_text(value)))


def web_address(value: object) -> str:
    """Return a web address with non-ASCII characters percent-encoded; "" for anything else."""
    if not isinstance(value, str) or not re.match(r"https?://[^\s/<>\"]+(?:[/?#]|$)", value):
        return ""
    return quote(value.strip(), safe="%/:=&?~#+!$,;'@()*[]", errors="replace")


def from_epoch(value: object) -> datetime | None:
    """Return a time given in seconds since 1970, UTC; None if invalid."""
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def from_iso(value: object) -> datetime | None:
    """Return a time given in ISO 8601, UTC if it names no zone; None if invalid or before 1970."""
    try:
        time = datetime.fromisoformat(as_text(value))
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if time.year >= EPOCH_YEAR else None


def day(time: datetime | None) -> str:
    """Return the day of a time as people read it; "" for None."""
    return f"{time:%Y-%m-%d}" if time else ""
