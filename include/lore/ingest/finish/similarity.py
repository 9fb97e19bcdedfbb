"""Similarity of texts: a short signature of each, the resemblance estimated from two, and a search by it.

The resemblance of two texts is the share of their runs of words (shingles) that both have: the Jaccard coefficient of
A. Broder, "On the resemblance and containment of documents", 1997. MinHash estimates it. It takes the shingle with the
smallest value for each of `HASHES` hash functions, and keeps a byte of it (P. Li and C. König, "b-bit minwise hashing",
2010). The standard error is √(s(1 - s) / `HASHES`): 0.019 at a resemblance of 0.9. A single changed word in a long text
rarely changes a byte, so a digest of all words tells if two texts are equal.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Hashes: TypeAlias = NDArray[np.uint64]
    Bytes: TypeAlias = NDArray[np.uint8]

__all__ = ["EMPTY", "SimilarityIndex", "is_signature", "signature"]

SHINGLE_WORDS = 5
HASHES = 256
DIGEST = 16
"""Bytes of the digest of all words."""
SHORT = 64
"""Fewer different shingles are too few for a share: a single word would change a tenth of them."""
BLOCK = 256
"""Shingles hashed at once: half a megabyte, which stays in the processor's cache."""
MISSED = 1e-4
"""Share of the pairs at the threshold that the search for candidates may miss."""
CHANCE = 1 / 256
"""Probability that two bytes are equal by chance."""

EMPTY = "2-"
"""Signature of a text without words, which is similar to no other."""
SHORT_PREFIX, LONG_PREFIX = "2=", "2~"
"""The first character is the version of the format: raise it whenever a signature changes its meaning."""

# Chinese, Japanese and Korean put no space between words: each character counts as a word.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")


def signature(title: str, text: str) -> str:
    """Return the signature of a text, in ASCII: 366 characters, or 34 for a short text, which also covers the title.

    Case, punctuation and spacing make no difference.
    """
    words = WORD.findall(text.casefold())
    if not words:
        return EMPTY
    shingles = _shingles(words)
    if len(shingles) < SHORT:
        exact = _digest((*WORD.findall(title.casefold()), "", *words), 24)
        return SHORT_PREFIX + b64encode(exact).decode()
    return LONG_PREFIX + b64encode(_minima(shingles).tobytes() + _digest(words, DIGEST)).decode()


def is_signature(value: object) -> bool:
    """Return True if a value is a signature in the present format: metadata come from outside as well."""
    if not isinstance(value, str) or not value.isascii():
        return False
    return value == EMPTY or bool(value.startswith(SHORT_PREFIX) or _bytes_of(value) is not None)


@dataclass(frozen=True, slots=True)
class SimilarText:
    """The most similar text, by its number, and the resemblance, 0 to 1."""

    number: int
    resemblance: float


class SimilarityIndex:
    """Finds the most similar text by its signature, if its resemblance reaches the threshold.

    Signatures are cut into bands of a few bytes, and only texts with a band in common are compared (J. Leskovec, A.
    Rajaraman and J. Ullman, "Mining of Massive Datasets", chapter 3). Short texts match if they are equal word for
    word, title included. With the threshold 1, so do long ones.
    """

    def __init__(self, threshold: float) -> None:
        import numpy as np

        self._threshold = threshold
        self._rows = _rows_per_band(threshold)
        self._bands: dict[bytes, list[int]] = {}
        self._exact: dict[str, int] = {}
        self._numbers: list[int] = []
        self._signatures: Bytes = np.empty((0, HASHES), dtype=np.uint8)

    def add(self, number: int, signature: str) -> None:
        """Add a text under a number."""
        values = self._compared(signature)
        if values is None:
            self._exact.setdefault(signature, number)
            return
        row = len(self._numbers)
        if row == len(self._signatures):
            self._signatures.resize((max(64, 2 * row), HASHES), refcheck=False)
        self._signatures[row] = values
        self._numbers.append(number)
        for band in self._bands_of(values):
            self._bands.setdefault(band, []).append(row)

    def find(self, signature: str) -> SimilarText | None:
        """Return the most similar text, the first one added among equals; None if no text is similar enough."""
        import numpy as np

        if signature == EMPTY:
            return None
        values = self._compared(signature)
        if values is None:
            number = self._exact.get(signature)
            return None if number is None else SimilarText(number, 1.0)
        bands = [rows for band in self._bands_of(values) if (rows := self._bands.get(band))]
        if not bands:
            return None
        there = len(self._numbers)
        many = sum(map(len, bands)) >= there  # texts with much in common: comparing all is as fast
        candidates = range(there) if many else sorted(set().union(*bands))
        equal = np.count_nonzero(
            self._signatures[:there] == values if many else self._signatures[candidates] == values, axis=1
        )
        best = int(equal.argmax())
        resemblance = max(0.0, (equal[best] / HASHES - CHANCE) / (1 - CHANCE))
        return (
            SimilarText(self._numbers[candidates[best]], float(resemblance)) if resemblance >= self._threshold else None
        )

    def _compared(self, signature: str) -> Bytes | None:
        """Return the bytes to compare, None if signatures must be equal."""
        return None if self._threshold >= 1 else _bytes_of(signature)

    def _bands_of(self, values: Bytes) -> list[bytes]:
        data, rows = values.tobytes(), self._rows
        return [bytes((start // rows,)) + data[start : start + rows] for start in range(0, HASHES, rows)]


def _rows_per_band(threshold: float) -> int:
    """Return the length of the longest bands, which give the fewest candidates, that miss at most `MISSED` pairs."""
    return max(rows for rows in (1, 2, 4, 8, 16) if rows == 1 or (1 - threshold**rows) ** (HASHES // rows) < MISSED)


def _bytes_of(signature: str) -> Bytes | None:
    """Return the compared bytes of a long text's signature, None for any other."""
    import numpy as np

    if not signature.startswith(LONG_PREFIX):
        return None
    try:
        data = b64decode(signature[len(LONG_PREFIX) :], validate=True)
    except ValueError:
        return None
    return np.frombuffer(data, dtype=np.uint8, count=HASHES) if len(data) == HASHES + DIGEST else None


def _digest(words: Sequence[str], size: int) -> bytes:
    return blake2b("\n".join(words).encode("utf-8", "surrogatepass"), digest_size=size).digest()


def _shingles(words: Sequence[str]) -> Hashes:
    """Return the hashes of the different runs of words; a text shorter than one run is a run."""
    import numpy as np

    known: dict[str, int] = {}
    for word in words:
        if word not in known:
            digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            known[word] = int.from_bytes(digest, "big")
    hashes = np.fromiter((known[word] for word in words), dtype=np.uint64, count=len(words))
    length = min(SHINGLE_WORDS, len(words))
    runs = np.zeros(len(words) - length + 1, dtype=np.uint64)
    for place in range(length):
        runs = _mixed(runs) + hashes[place : len(words) - length + 1 + place]
    return np.unique(_mixed(runs))


def _minima(shingles: Hashes) -> Bytes:
    """Return one byte of the smallest value under each hash function, shape (`HASHES`,)."""
    import numpy as np

    numbers = np.arange(1, 2 * HASHES + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    factors, offsets = _mixed(numbers).reshape(2, HASHES)
    factors |= np.uint64(1)
    smallest = np.full(HASHES, np.iinfo(np.uint64).max, dtype=np.uint64)
    for start in range(0, len(shingles), BLOCK):
        values = shingles[start : start + BLOCK, None] * factors + offsets
        np.minimum(smallest, values.min(axis=0), out=smallest)
    return (_mixed(smallest) & np.uint64(0xFF)).astype(np.uint8)


def _mixed(values: Any) -> Hashes:
    """Spread every bit over all others: the finalizer of SplitMix64 (G. Steele and others, 2014)."""
    import numpy as np

    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = values ^ (values >> np.uint64(31))
    return mixed
