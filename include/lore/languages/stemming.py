"""Stems of words, so that "rotating" matches "rotation" wherever words are compared."""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from typing import Protocol

__all__ = ["stem"]

ALGORITHMS = {
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ru": "russian",
}


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802  the package's own name


@lru_cache(maxsize=100_000)
def stem(word: str, language: str = "en") -> str:
    """Return the stem of a lower-case word (Snowball, Porter 2001), or the word in a language without a stemmer.

    Thread-safe.
    """
    if language not in ALGORITHMS:
        return word
    with _one_at_a_time:  # a stemmer keeps its word as state
        return _stemmer(language).stemWord(word)


_one_at_a_time = threading.Lock()


@cache
def _stemmer(language: str) -> _Stemmer:
    import snowballstemmer

    stemmer: _Stemmer = snowballstemmer.stemmer(ALGORITHMS[language])
    return stemmer
