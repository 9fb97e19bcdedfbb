"""Numbered sources as data in a prompt: delimited by signs that no source can forge, the best given most room."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from datetime import datetime

from lore.query.answer.tokens import estimate_tokens, shorten
from lore.query.retrieve.passages import Passage
from lore.types import Hit
from lore.visible_text import UNSEEN, visible

__all__ = ["as_data", "format_sources"]

LONGEST_TITLE = 200
DAYS_OF_A_YEAR = 365.25
OLD_DAYS = 365
"""A page that was not changed for so long is shown with its age: a small model does not reckon it from the date."""
SMALLEST_SHARE = 40
"""Tokens that each source gets at least."""

_BRACKETS = "<\u2039\u2329\u27e8\u3008\u300a\u276e\u2770\u02c2\u1438\ufe64\uff1c\u226e\u2a79\u0fd6"
"""Signs that look like the one our delimiters begin with."""
_NAMES = ("source", "sources", "question", "questions")
_LOOK_ALIKES = str.maketrans("аеорсухѕіјԛոսοιυνТтηѡɡ", "aeopcyxsijqnuoiuvttnwg")
"""Letters of other scripts, small, that look like Latin ones; the rest NFKD takes back to Latin."""
_SLASHES = "/\\\\|\uff0f\uff5c\u2215\u2044\u29f8"
_OPENING = re.compile(rf"[{_BRACKETS}]+(?=[\s{_SLASHES}]{{0,8}}(\w{{1,40}}))")
_CHAT_SIGNS = re.compile(r"<<(?=\s*/?\s*SYS\s*>>)|<(?=\s*[|\uff5c])|\[(?=/?(?:INST|SYS|AVAILABLE_TOOLS|TOOL_CALLS)\])")
"""Control signs of chat templates, which some servers read also inside a message."""


def format_sources(passages: Sequence[Passage], tokens: int, now: datetime) -> str:
    """The sources, best first, in about so many tokens: each numbered, with title, date and state.

    What does not fit is cut at a paragraph or sentence, the worse sources first and most.
    """
    heads = [_head(number, passage, now) for number, passage in enumerate(passages, start=1)]
    texts = [as_data(passage_text(passage.hit)) for passage in passages]
    room = tokens - sum(estimate_tokens(head) + 6 for head in heads)
    shares = _shares([estimate_tokens(text) for text in texts], room)
    blocks = (
        f"{head}\n{shorten(text, share)}\n</source>" for head, text, share in zip(heads, texts, shares, strict=True)
    )
    return "\n".join(("<sources>", *blocks, "</sources>"))


def as_data(text: str, names: Collection[str] = _NAMES) -> str:
    """Text in which nothing opens or closes a delimiter of these names, or a turn of a chat, and nothing is unseen.

    Also signs and letters that only look like those of a delimiter are taken for them. Their bracket becomes `&lt;`.
    """
    text = _OPENING.sub(lambda match: _escaped(match, names), text.translate(UNSEEN))
    return _CHAT_SIGNS.sub(lambda match: "(" if match[0] == "[" else "&lt;" * len(match[0]), text)


def passage_text(hit: Hit) -> str:
    """What the model is given of a passage."""
    return hit.chunk.given_text.strip()


def _escaped(match: re.Match[str], names: Collection[str]) -> str:
    word = unicodedata.normalize("NFKD", match[1].lower().translate(_LOOK_ALIKES)).translate(_LOOK_ALIKES)
    word = re.sub(r"[^a-z_]", "", word)
    return "&lt;" * len(match[0]) if word in names else match[0]


def _head(number: int, passage: Passage, now: datetime) -> str:
    chunk = passage.hit.chunk
    facts = {"title": " › ".join((chunk.title, *chunk.headings)), "state": passage.state}
    if chunk.updated_at:
        facts["updated"] = _dated(chunk.updated_at, now)
    written = (f' {name}="{_attribute(value)}"' for name, value in facts.items() if value)
    return f'<source number="{number}"{"".join(written)}>'


def _attribute(value: str) -> str:
    return re.sub(rf"[\s\"{_BRACKETS}>]+", " ", visible(value)).strip()[:LONGEST_TITLE]


def _dated(updated: datetime, now: datetime) -> str:
    days = (now - updated).days
    if days < OLD_DAYS:
        return f"{updated:%Y-%m-%d}"
    years = max(1, round(days / DAYS_OF_A_YEAR))
    return f"{updated:%Y-%m-%d}, {years} {'year' if years == 1 else 'years'} ago"


def _shares(needs: Sequence[int], room: int) -> list[int]:
    """How many tokens each source gets: what it needs where all fit, else by its place, the first twice the last.

    What one does not need goes to the others.
    """
    shares = [0] * len(needs)
    hungry = list(range(len(needs)))
    left = max(room, SMALLEST_SHARE * len(needs))
    while hungry and left > 0:
        weights = {place: 2 - place / max(1, len(needs) - 1) for place in hungry}
        unit = left / sum(weights.values())
        full = [place for place in hungry if needs[place] <= shares[place] + weights[place] * unit]
        if not full:
            for place in hungry:
                shares[place] = int(weights[place] * unit)
            break
        for place in full:
            shares[place] = needs[place]
            left -= needs[place]
        hungry = [place for place in hungry if place not in full]
    return shares
