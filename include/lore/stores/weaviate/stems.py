"""Stems for Weaviate's keyword index, which tokenizes but has no stemmer.

The steps are those of the LanceDB index (letters and digits, lower case, English stop words and stems, folded accents,
nothing over 40 characters), so that both stores find the same chunks by keyword and rank them alike.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from lore.languages.stemming import stem

__all__ = ["index_stems"]

LONGEST_WORD = 40
WORD = re.compile(r"[^\W_]+")
ACCENT = re.compile("[\u0300-\u036f]")
STOP_WORD_LIST = """
a about above after again against all am an and any are as at be because been before being below between both
but by can did do does doing don down during each few for from further had has have having he her here hers herself
him himself his how i if in into is it its itself just me more most my myself no nor not now of off on once only or
other our ours ourselves out over own s same she should so some such t than that the their theirs them themselves
then there these they this those through to too under until up very was we were what when where which while who
whom why will with you your yours yourself yourselves
"""
STOP_WORDS = frozenset(STOP_WORD_LIST.split())


def index_stems(text: str) -> str:
    """The stems of a text in order, separated by spaces; "" for stop words and punctuation only."""
    return " ".join(term for word in WORD.findall(text) if (term := _term(word)))


@lru_cache(maxsize=100_000)
def _term(word: str) -> str:
    """The stem of a word, or "" for a word that is not indexed."""
    word = word.lower()
    if len(word) > LONGEST_WORD or word in STOP_WORDS:
        return ""
    return _fold(stem(word))


def _fold(word: str) -> str:
    """The word without accents; marks of other scripts, such as kana, are letters of their own."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", ACCENT.sub("", decomposed))
