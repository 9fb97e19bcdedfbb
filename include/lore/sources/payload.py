"""Values out of the JSON that a server sends, of which nothing is taken for granted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = ["Payload", "as_mapping", "as_mappings", "as_text"]

Payload: TypeAlias = Mapping[str, Any]


def as_text(value: object) -> str:
    """The text, or nothing."""
    return value if isinstance(value, str) else ""


def as_mapping(value: object) -> Payload:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_mappings(value: object) -> list[Payload]:
    """The objects of a list, or none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
