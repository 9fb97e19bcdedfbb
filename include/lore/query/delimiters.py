"""Escaping of outside text in prompts, so that it can't open or close a delimiter."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from lore.visible_text import UNSEEN

__all__ = ["BRACKETS", "escape_delimiters"]

BRACKETS = "<\u2039\u2329\u27e8\u3008\u300a\u276e\u2770\u02c2\u1438\ufe64\uff1c\u226e\u2a79\u0fd6"
"""Opening angle brackets and their look-alikes, for a character class."""
_NAMES = ("source", "sources", "question", "questions")
_LOOK_ALIKES = str.maketrans("аеорсухѕіјԛոսοιυνТтηѡɡ", "aeopcyxsijqnuoiuvttnwg")
"""Small letters of other scripts that look like Latin ones; NFKD maps the rest to Latin."""
_SLASHES = "/\\\\|\uff0f\uff5c\u2215\u2044\u29f8"
_OPENING = re.compile(rf"[{BRACKETS}]+(?=[\s{_SLASHES}]{{0,8}}(\w{{1,40}}))")
_CHAT_SIGNS = re.compile(r"<<(?=\s*/?\s*SYS\s*>>)|<(?=\s*[|\uff5c])|\[(?=/?(?:INST|SYS|AVAILABLE_TOOLS|TOOL_CALLS)\])")
"""Control signs of chat templates, which some servers interpret inside a message."""


def escape_delimiters(text: str, names: Collection[str] = _NAMES) -> str:
    """Return visible text that can't open or close a delimiter of these names, or a turn of a chat.

    Look-alike brackets and letters count as well. The bracket becomes `&lt;`.
    """
    text = _OPENING.sub(lambda match: _escaped(match, names), text.translate(UNSEEN))
    return _CHAT_SIGNS.sub(lambda match: "(" if match[0] == "[" else "&lt;" * len(match[0]), text)


def _escaped(match: re.Match[str], names: Collection[str]) -> str:
    word = unicodedata.normalize("NFKD", match[1].lower().translate(_LOOK_ALIKES)).translate(_LOOK_ALIKES)
    word = re.sub(r"[^a-z_]", "", word)
    return "&lt;" * len(match[0]) if word in names else match[0]
