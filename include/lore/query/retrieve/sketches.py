"""Sketches of the words of many texts at once, which find the pairs that can be copies.

A polynomial of its bytes hashes each word. The significant words, equal in copies, sum to one number. All words, each
flipping one of 1,024 bits, give a parity sketch (a count sketch, https://doi.org/10.1007/3-540-45465-9_59, reduced to
parities). Two texts differ in at least as many words as bits. Different texts may have the same sketch, but copies
always match, so the caller compares the pairs found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint64]
    Places = NDArray[np.intp]

__all__ = ["SIGNIFICANT", "earlier_copy_candidates"]

BITS = 1_024
BASE, SPREAD = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
"""Odd numbers without a pattern: powers of the first weigh the bytes of a word, and the second spreads hashes."""
SIGNIFICANT = "\x01"
"""Marks a word as significant although it has no ASCII digit, such as one with a digit of another script."""
BATCH_BYTES, BATCH_TEXTS = 1 << 17, 1 << 8
"""Largest batch in bytes and texts; in memory each byte takes about 40 and each text 8,000."""
PAIRS = 1 << 16
"""Pairs compared at a time; each takes about 500 bytes."""


def earlier_copy_candidates(texts: Sequence[bytes], share: float, significant: Collection[str] = ()) -> list[list[int]]:
    """Return for each text the places of earlier texts that may be its copies.

    Copies differ in at most `share` of both texts' words, and in no significant word: one with a digit, with
    SIGNIFICANT, or in `significant`. All copies are among the result, with a few other texts. Spaces separate words.
    """
    import numpy as np

    found: list[list[int]] = [[] for _ in texts]
    if len(texts) < 2:
        return found
    parts = [_sketch(batch, significant) for batch in _batches(texts)]
    later, earlier = _pairs(_Sketches(*map(np.concatenate, zip(*parts, strict=True))), share)
    order = np.lexsort((earlier, later))
    for place, other in zip(later[order].tolist(), earlier[order].tolist(), strict=True):
        found[place].append(other)
    return found


class _Sketches(NamedTuple):
    """Sketches of several texts, shape (texts,) each but for `bits`."""

    lengths: Places
    """Number of words."""
    significant: Numbers
    """Sum over the significant words."""
    bits: Numbers
    """Parities of all words, shape (texts, 16)."""


def _pairs(sketches: _Sketches, share: float) -> tuple[Places, Places]:
    """Return the places of the later and of the earlier text of each pair with matching sketches.

    In the order of significant words and length, all possible copies of a text follow it directly.
    """
    import numpy as np

    order = np.lexsort((sketches.lengths, sketches.significant))
    lengths, significant, bits = sketches.lengths[order], sketches.significant[order], sketches.bits[order]
    groups = np.concatenate([[0], np.cumsum(significant[1:] != significant[:-1])])
    longest = (lengths * ((1 + share) / (1 - share))).astype(np.intp) + 1
    apart = longest.max() + 1  # so that no length of one group reaches into the next
    ends = np.searchsorted(groups * apart + lengths, groups * apart + longest, side="right")
    counts = ends - np.arange(len(order)) - 1
    totals = np.cumsum(counts)
    found = []
    start = done = 0
    while start < len(order):
        end = max(start + 1, int(np.searchsorted(totals, done + PAIRS, side="right")))
        left = np.repeat(np.arange(start, end), counts[start:end])
        firsts = np.repeat(totals[start:end] - counts[start:end] - done, counts[start:end])
        right = left + 1 + np.arange(len(left)) - firsts
        differing = np.bitwise_count(bits[left] ^ bits[right]).sum(axis=1, dtype=np.int64)
        alike = differing <= share * (lengths[left] + lengths[right])
        found.append(np.sort([order[left[alike]], order[right[alike]]], axis=0))
        start, done = end, int(totals[end - 1])
    earlier, later = np.concatenate(found, axis=1)
    return later, earlier


def _batches(texts: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    start = size = 0
    for place, text in enumerate(texts):
        if size and (size + len(text) > BATCH_BYTES or place - start == BATCH_TEXTS):
            yield texts[start:place]
            start, size = place, 0
        size += len(text)
    yield texts[start:]


def _sketch(texts: Sequence[bytes], significant: Collection[str]) -> _Sketches:
    import numpy as np

    data = np.frombuffer(b" " + b" ".join(texts) + b" ", dtype=np.uint8)
    inside = data != ord(" ")
    starts = np.flatnonzero(inside[1:] & ~inside[:-1]) + 1
    ends = np.cumsum([len(text) + 1 for text in texts])
    lengths = np.diff(np.searchsorted(starts, ends), prepend=0)
    if not len(starts):
        return _Sketches(lengths, np.zeros(len(texts), np.uint64), np.zeros((len(texts), BITS // 64), np.uint64))
    powers, inverses = _powers(max(2 * BATCH_BYTES, len(data)))
    hashes = np.add.reduceat(data * inside * powers[: len(data)], starts) * inverses[starts]
    texts_of_words = np.repeat(np.arange(len(texts)), lengths)
    signs = np.flatnonzero(((data >= ord("0")) & (data <= ord("9"))) | (data == ord(SIGNIFICANT)))
    marked = np.isin(hashes, [_hash(word) for word in significant])
    marked[np.searchsorted(starts, signs, side="right") - 1] = True
    return _Sketches(
        lengths,
        _significant(hashes[marked], texts_of_words[marked], len(texts)),
        _bits(hashes, texts_of_words, len(texts)),
    )


def _significant(hashes: Numbers, texts_of_words: Places, count: int) -> Numbers:
    """Return for each text the sum over these words, each counted once."""
    import numpy as np

    order = np.lexsort((hashes, texts_of_words))
    hashes, texts_of_words = hashes[order], texts_of_words[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (texts_of_words[1:] != texts_of_words[:-1]) | (hashes[1:] != hashes[:-1])
    sums = np.zeros(count, dtype=np.uint64)
    np.add.at(sums, texts_of_words[fresh], _spread(hashes[fresh]))
    return sums


def _bits(hashes: Numbers, texts_of_words: Places, count: int) -> Numbers:
    import numpy as np

    chosen = (_spread(hashes) >> np.uint64(64 - BITS.bit_length() + 1)).astype(np.intp)
    times = np.bincount(texts_of_words * BITS + chosen, minlength=count * BITS).reshape(count, BITS)
    return np.packbits(times.astype(np.uint8) & 1, axis=1).view(np.uint64)


def _spread(hashes: Numbers) -> Numbers:
    import numpy as np

    return (hashes ^ (hashes >> np.uint64(32))) * np.uint64(SPREAD)


@cache
def _hash(word: str) -> np.uint64:
    import numpy as np

    return np.uint64(sum(byte * pow(BASE, place, 1 << 64) for place, byte in enumerate(word.encode())) % (1 << 64))


@lru_cache(maxsize=1)
def _powers(size: int) -> tuple[Numbers, Numbers]:
    """Return the powers of BASE from 0 on, and of its inverse, modulo 2^64."""
    import numpy as np

    steps = np.ones((2, size), dtype=np.uint64)
    steps[:, 1:] = np.array([[BASE], [pow(BASE, -1, 1 << 64)]], dtype=np.uint64)
    powers, inverses = np.cumprod(steps, axis=1)
    return powers, inverses
