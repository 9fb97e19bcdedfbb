"""What a converter gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Converted"]


@dataclass(frozen=True, slots=True)
class Converted:
    """Markdown, the title that the text gives itself ("" where it gives none) and the metadata of its front matter.

    `declared_title` is a title from front matter: it is somebody's decision and goes before any other.
    """

    text: str
    title: str = ""
    declared_title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
