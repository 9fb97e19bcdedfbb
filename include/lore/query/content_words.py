"""Content words of a text: those that carry its meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from lore.languages.stemming import stem
from lore.languages.stop_words import STOP_WORDS
from lore.languages.unspaced import UNSPACED, unspaced_words

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


def content_words(text: str, language: str = "en") -> list[str]:
    """Return in order the stems (Snowball) of all words but stop words; identifiers are split into parts.

    Texts are compared in one language, that of the question. Scripts without spaces yield pairs of characters.
    """
    stop_words = STOP_WORDS.get(language, _STOP_WORDS)
    words = _WORD.findall(_CAMEL.sub(" ", text))
    if not text.isascii() and UNSPACED.search(text):
        words = list(_split(words))
    stemmed = stem if language == "en" else partial(stem, language=language)
    return [stemmed(lower) for word in words if (lower := word.lower()) not in stop_words]


def _split(words: Iterable[str]) -> Iterator[str]:
    """Yield the words, with those of scripts without spaces split."""
    for word in words:
        if UNSPACED.search(word):
            yield from (part for part, is_pair in unspaced_words(word) if is_pair or len(part) > 1)
        else:
            yield word
