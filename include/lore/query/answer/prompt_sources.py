"""Numbered sources as data in a prompt, the best with most room, between delimiters that no source can forge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from lore.query.answer.tokens import estimate_tokens, shorten
from lore.query.delimiters import BRACKETS, escape_delimiters
from lore.query.retrieve.passages import SourcePassage
from lore.types import Hit
from lore.visible_text import visible

__all__ = ["format_sources", "passage_text"]

MAX_TITLE_CHARACTERS = 200
DAYS_PER_YEAR = 365.25
OLD_DAYS = 365
"""A page unchanged for this long is given with its age, because small models don't derive it from the date."""
MIN_SHARE = 40
"""The least tokens for each source."""


def format_sources(passages: Sequence[SourcePassage], tokens: int, now: datetime) -> str:
    """Format the sources, best first, in about this many tokens: numbered, with title, date and state.

    Sources that don't fit are cut at a paragraph or sentence, the worst first and most.
    """
    heads = [_head(number, passage, now) for number, passage in enumerate(passages, start=1)]
    texts = [escape_delimiters(passage_text(passage.hit)) for passage in passages]
    room = tokens - sum(estimate_tokens(head) + 6 for head in heads)
    shares = _shares([estimate_tokens(text) for text in texts], room)
    blocks = (
        f"{head}\n{shorten(text, share)}\n</source>" for head, text, share in zip(heads, texts, shares, strict=True)
    )
    return "\n".join(("<sources>", *blocks, "</sources>"))


def passage_text(hit: Hit) -> str:
    """Return the text of a passage that the model gets."""
    return hit.chunk.given_text.strip()


def _head(number: int, passage: SourcePassage, now: datetime) -> str:
    chunk = passage.hit.chunk
    facts = {"title": " › ".join((chunk.title, *chunk.headings)), "state": passage.state}
    if chunk.updated_at:
        facts["updated"] = _dated(chunk.updated_at, now)
    written = (f' {name}="{_attribute(value)}"' for name, value in facts.items() if value)
    return f'<source number="{number}"{"".join(written)}>'


def _attribute(value: str) -> str:
    return re.sub(rf"[\s\"{BRACKETS}>]+", " ", visible(value)).strip()[:MAX_TITLE_CHARACTERS]


def _dated(updated: datetime, now: datetime) -> str:
    days = (now - updated).days
    if days < OLD_DAYS:
        return f"{updated:%Y-%m-%d}"
    years = max(1, round(days / DAYS_PER_YEAR))
    return f"{updated:%Y-%m-%d}, {years} {'year' if years == 1 else 'years'} ago"


def _shares(needs: Sequence[int], room: int) -> list[int]:
    """Return each source's tokens: its need if all fit, else by its place, the first with twice the last's.

    Tokens that one source doesn't need go to the others.
    """
    shares = [0] * len(needs)
    unfilled = list(range(len(needs)))
    left = max(room, MIN_SHARE * len(needs))
    while unfilled and left > 0:
        weights = {place: 2 - place / max(1, len(needs) - 1) for place in unfilled}
        unit = left / sum(weights.values())
        full = [place for place in unfilled if needs[place] <= shares[place] + weights[place] * unit]
        if not full:
            for place in unfilled:
                shares[place] = int(weights[place] * unit)
            break
        for place in full:
            shares[place] = needs[place]
            left -= needs[place]
        unfilled = [place for place in unfilled if place not in full]
    return shares
