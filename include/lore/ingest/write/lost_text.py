"""Documents of which conversion leaves out much of the text, as `lore sources` names them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from lore.convert.omissions import OMITTED
from lore.types import Document

__all__ = ["lost_percent", "update_lost"]

EXPECTED = frozenset(
    {
        "comments",
        "controls",
        "headers and footers",
        "imports and exports",
        "marked as no snippet",
        "navigation",
    }
)
"""Kinds of omissions that no reader misses."""
MIN_CHARACTERS = 500
MIN_PERCENT = 50
MAX_NAMED = 1_000


def lost_percent(document: Document) -> int:
    """Return the share of a converted document's text that was left out, in percent; 0 if it is small or expected."""
    omitted = document.metadata.get(OMITTED)
    counts = omitted.items() if isinstance(omitted, Mapping) else ()
    lost = sum(count for kind, count in counts if kind not in EXPECTED and isinstance(count, int))
    percent = 100 * lost // max(1, lost + len(document.text))
    return percent if lost >= MIN_CHARACTERS and percent >= MIN_PERCENT else 0


def update_lost(
    before: object, found: Mapping[str, int], *, indexed: Collection[str], gone: Collection[str]
) -> dict[str, int]:
    """Return the documents with lost text after a sync, most first and at most MAX_NAMED.

    `before` are those of the last report, of which this sync `indexed` some again, and found some `gone`.
    """
    kept: dict[str, Any] = dict(before) if isinstance(before, Mapping) else {}
    renewed = {*indexed, *gone}
    lost = {name: share for name, share in kept.items() if name not in renewed} | dict(found)
    return dict(sorted(lost.items(), key=lambda item: (-item[1], item[0]))[:MAX_NAMED])
