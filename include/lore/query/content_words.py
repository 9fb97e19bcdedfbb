"""Content words of a text: those that carry its meaning."""

from __future__ import annotations

import re

from lore.stemming import stem

__all__ = ["content_words"]

_WORD = re.compile(r"[^\W_]{2,}|(?<![\w'’.])[B-HJ-Zb-hj-z](?![\w'’.])")  # also names of one letter, such as `g` or C
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STOP_WORD_LIST = """
about above after again all also am an and any are as at be because been before being below between both but by can
cannot could did do does doing done down during each few find for from further get give go good got had has have
having he her here hers him his how if in into is it its itself just know like make may me mean means might more most
much must my need no nor not now of off ok on once one only or other our out over own please possible same see shall
she should show so some such tell than thank thanks that the their them then there these they thing this those through
to too under until up us use used using very want was way we were what when where which while who whom why will with
without work works would you your
"""
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())


def content_words(text: str) -> list[str]:
    """Return in order the stems (Snowball, English) of all words but stop words; identifiers are split into parts."""
    return [stem(word.lower()) for word in _WORD.findall(_CAMEL.sub(" ", text)) if word.lower() not in _STOP_WORDS]
