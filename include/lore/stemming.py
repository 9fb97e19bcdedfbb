"""Stems of English words: what makes "rotating" and "rotation" meet, wherever words are compared."""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from typing import Protocol

__all__ = ["stem"]


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802  the package's own name


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a word in lower case (Snowball's English algorithm, Porter 2001); may be called by any thread."""
    with _one_at_a_time:  # a stemmer keeps the word that it works on
        return _stemmer().stemWord(word)


_one_at_a_time = threading.Lock()


@cache
def _stemmer() -> _Stemmer:
    import snowballstemmer

    stemmer: _Stemmer = snowballstemmer.stemmer("english")
    return stemmer
