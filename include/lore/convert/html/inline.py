"""Inline notations that plain text would lose: superscripts, formulas and reading aids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lore.convert.html.formulas import resolve_formulas
from lore.convert.html.tree import replace_by_text

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["normalize_inline"]

ORDINAL = re.compile(r"(?:st|nd|rd|th|er|re|e|è?me|o|a|TM|SM|®|™|©|°)$")
"""Raised letters that belong to the word before them."""
READING_AIDS = ("rt", "rp", "rtc")


def normalize_inline(root: HtmlElement) -> None:
    """Write superscripts as `^`, subscripts as `_`, formulas once as code; write out abbreviations; in place."""
    for aid in list(root.iter(*READING_AIDS)):
        aid.drop_tree()
    for word in list(root.iter("ruby", "rb")):
        word.drop_tag()
    _expand_abbreviations(root)
    resolve_formulas(root)
    for raised in list(root.iter("sup", "sub")):
        _mark_raised(raised)


def _expand_abbreviations(root: HtmlElement) -> None:
    """Write out each abbreviation where it first occurs."""
    seen: set[str] = set()
    for short in root.iter("abbr"):
        meaning, words = " ".join((short.attrib.pop("title", "")).split()), short.text_content().strip()
        if meaning and re.search(r"\w", words) and words not in seen and meaning.casefold() != words.casefold():
            short.tail = f" ({meaning}){short.tail or ''}"
        seen.add(words)


def _mark_raised(raised: HtmlElement) -> None:
    words = raised.text_content().strip()
    sign = "^" if raised.tag == "sup" else "_"
    link = raised.find(".//a")
    if not words or ORDINAL.match(words):
        raised.drop_tag()
    elif link is not None and (link.get("href") or "").find("#") >= 0:  # the mark of a note
        note = words if words.startswith(("[", "(")) else f"[{words}]"
        replace_by_text(raised, note)
    elif len(raised) == 0:
        replace_by_text(raised, sign + (words if words.isalnum() else f"({words})"))
    else:
        raised.text = f"{sign}({raised.text or ''}"
        raised[-1].tail = f"{raised[-1].tail or ''})"
        raised.drop_tag()
