"""Words for the keyword indexes of the stores, which know English alone.

English text is indexed and looked up as it is. Text in another language gets the stems of that language beside its
words, and scripts without spaces become pairs of characters; the store's English stemmer then changes passages and
questions alike. The words stay, because the language of a keyword can't be told, and because an older index has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lore.languages.detection import stems_of
from lore.languages.stemming import stem
from lore.languages.stop_words import STOP_WORDS
from lore.languages.unspaced import UNSPACED, unspaced_words

__all__ = ["keyword_text"]

_WORD = re.compile(r"[^\W_]+")


def keyword_text(text: str) -> str:
    """Return a passage, title or question as a store is to index it or to look it up; "" if no word is left."""
    language = stems_of(text)
    if language == "en" and not _is_unspaced(text):
        return text
    stop_words = STOP_WORDS.get(language, frozenset())
    return " ".join(
        term
        for word, is_pair in _words(text)
        if word.lower() not in stop_words
        for term in ((word,) if is_pair else _with_stem(word, language))
    )


def _with_stem(word: str, language: str) -> tuple[str, ...]:
    """Return a word, with its stem if that is another word to the store."""
    own = stem(word.lower(), language)
    return (word,) if stem(own) == stem(word.lower()) else (word, own)


def _is_unspaced(text: str) -> bool:
    return not text.isascii() and bool(UNSPACED.search(text))


def _words(text: str) -> Iterator[tuple[str, bool]]:
    for word in _WORD.findall(text):
        if _is_unspaced(word):
            yield from unspaced_words(word)
        else:
            yield word, False
