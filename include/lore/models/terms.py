"""Texts as arrays of hashed terms, which are cheap to count, and BM25 over them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from lore.languages.stemming import stem
from lore.languages.stop_words import STOP_WORDS
from lore.languages.unspaced import UNSPACED, unspaced_words

__all__ = [
    "TermCounts",
    "Terms",
    "adjacent_pairs",
    "bm25",
    "count_terms",
    "inverse_frequency",
    "standardized",
    "terms_by_page",
    "terms_of",
]

Terms = NDArray[np.uint64]
"""The terms of a text in order, each as the hash of its stem; comparable within one process."""

TermCounts = NDArray[np.int64]

K1 = 0.8
B = 0.75
PAIR_FACTOR = np.uint64(0x9E3779B97F4A7C15)
LONGEST_WORD = 60
"""Longer runs of letters, such as base64, are cut to save time."""

_WORD = re.compile(r"\w\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")
_STOP_WORD_LIST = """
about above after again against all also am an and any are aren as at be because been before being below between both
but by can cannot could couldn did didn do does doesn doing don down during each few for from further get had hadn has
hasn have haven having he her here hers herself him himself his how if in into is isn it its itself just let like ll me
more most mustn my myself no nor not now of off on once only or other ought our ours ourselves out over own please re
same shan she should shouldn so some such than that the their theirs them themselves then there these they this those
through to too under until up us ve very want was wasn way we were weren what when where which while who whom why will
with without won would wouldn you your yours yourself yourselves
"""
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())


@lru_cache(maxsize=10_000)
def terms_of(text: str, language: str = "en") -> Terms:
    """Stems of all words of two letters or more except stop words of the language, that of the question.

    Identifiers such as `with_underscores` or `camelCase` also yield their parts; scripts without spaces yield pairs of
    characters. The array is cached and read-only.
    """
    read = _reader(language)
    terms = np.array([term for word in _WORD.findall(text) for term in read(word)], dtype=np.uint64)
    terms.flags.writeable = False
    return terms


@cache
def _reader(language: str) -> Callable[[str], tuple[int, ...]]:
    """Return the function that gives the terms of a word; a cache with a key of one value is the fastest."""
    stop_words = STOP_WORDS.get(language, _STOP_WORDS)

    @lru_cache(maxsize=100_000)
    def read(word: str) -> tuple[int, ...]:
        if not word.isascii() and UNSPACED.search(word):
            words = [part for part, is_pair in unspaced_words(word) if is_pair or len(part) > 1]
        else:
            word = word[:LONGEST_WORD]
            parts = [part for part in _PART.findall(word) if len(part) > 1]
            words = [word] if parts == [word] else [word, *parts]
        return tuple(_hashed(term, language) for each in words if (term := each.lower()) not in stop_words)

    return read


def _hashed(word: str, language: str) -> int:
    return hash(stem(word, language)) & 0xFFFF_FFFF_FFFF_FFFF


def adjacent_pairs(terms: Terms) -> Terms:
    """Pairs of neighbouring terms, as terms."""
    return terms[:-1] * PAIR_FACTOR + terms[1:]


def count_terms(query: Terms, texts: Sequence[Terms]) -> TermCounts:
    """Occurrences of each distinct query term, in the query's order, in each text: shape (texts, terms)."""
    wanted, first = np.unique(query, return_index=True)
    lengths = np.array([len(text) for text in texts])
    if not wanted.size or not lengths.any():
        return np.zeros((len(texts), wanted.size), dtype=np.int64)
    terms = np.concatenate(texts)
    column = np.minimum(np.searchsorted(wanted, terms), wanted.size - 1)
    matches = wanted[column] == terms
    row = np.repeat(np.arange(len(texts)), lengths)
    cells = row[matches] * wanted.size + column[matches]
    counts = np.bincount(cells, minlength=len(texts) * wanted.size).reshape(len(texts), wanted.size)
    return counts[:, np.argsort(first)]  # hashes differ between processes, and so would the order of sums


def terms_by_page(counts: TermCounts, page: NDArray[np.intp]) -> NDArray[np.bool_]:
    """True for each term in any text of a page: shape (pages, terms). `page` is the number of each text's page."""
    found = np.zeros((int(page.max()) + 1, counts.shape[1]), dtype=np.bool_)
    text, term = np.nonzero(counts)
    found[page[text], term] = True
    return found


def inverse_frequency(found: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Inverse document frequency over pages, by Lucene's formula, which is never negative."""
    pages, containing = len(found), found.sum(axis=0)
    return np.asarray(np.log1p((pages - containing + 0.5) / (containing + 0.5)))


def bm25(counts: TermCounts, lengths: NDArray[np.int64], idf: NDArray[np.float64]) -> NDArray[np.float64]:
    """BM25 of each text (Robertson & Zaragoza 2009), with the mean length of these texts; shape (texts,)."""
    if not lengths.any():
        return np.zeros(len(lengths))
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    return np.asarray((idf * counts * (K1 + 1) / (counts + norm[:, None])).sum(axis=1))


def standardized(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard scores; 0 for a column of equal values."""
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros_like(values)
