"""Stems of English words, so that "rotating" matches "rotation" wherever words are compared."""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from typing import Protocol

__all__ = ["stem"]


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802  the package's own name


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word (Snowball's English algorithm, Porter 2001). Thread-safe."""
    with _one_at_a_time:  # a stemmer keeps its word as state
        return _stemmer().stemWord(word)


_one_at_a_time = threading.Lock()


@cache
def _stemmer() -> _Stemmer:
    import snowballstemmer

    stemmer: _Stemmer = snowballstemmer.stemmer("english")
    return stemmer
