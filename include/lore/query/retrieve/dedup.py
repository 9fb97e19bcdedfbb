"""One candidate list from the hits of several wordings, with copies of a passage left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache

from lore.query.retrieve.sketches import SIGNIFICANT, earlier_copy_candidates
from lore.types import PUBLIC, Hit
from lore.visible_text import UNSEEN, web_address

__all__ = ["dedup"]

MIN_COMPARED_WORDS = 8
"""Shorter texts mean something by their place only: "Run `pip install --upgrade NAME`." is on many pages."""
MAX_EDITED_SHARE = 0.02
"""Largest share of differing words between copies. Copies differ in a date, a greeting or a corrected word."""

_INVISIBLE = UNSEEN | {code: " " for code in UNSEEN if chr(code).isspace()}
"""Invisible characters are no part of a word, and every kind of space separates two."""
_LETTERS = bytes(ord(chr(code).lower()) if chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(128))
_LETTERS += bytes(range(128, 256))
"""A table that maps each byte of a text to what it counts as; characters beyond ASCII are mapped afterwards."""
_INVISIBLE_BYTES = bytes(code for code in range(128) if code in _INVISIBLE and not chr(code).isspace())
MAX_CACHED_RUN = 64
"""Bytes. Runs as long as a word are cached; longer ones, as in Chinese, hardly occur twice."""
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")
# Chinese and Japanese put no space between words: each character counts as one.
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_NEGATIONS = frozenset(
    ("not", "no", "never", "without", "cannot", "t", "nicht", "kein", "keine", "nie", "ohne", "不", "没", "未", "無")
)


def dedup(results: Iterable[Sequence[Hit]]) -> list[Hit]:
    """Return every passage once, best first.

    A chunk that several wordings found keeps its best hit. A copy is the same text elsewhere, whatever its title and
    headings: two copies would take two of the answer's few places. Texts are the same if few of their words differ, and
    none with a digit or a negation: two versions of a page are no copies. Short texts need the same headings as
    well. Of copies, the best place and score are kept, and the most open one is shown: with a web address, and public.

    Only passages are left out, never pages: pages that share a passage keep their others.
    """
    best: dict[str, Hit] = {}
    for hit in sorted((hit for hits in results for hit in hits), key=lambda hit: (-hit.score, hit.chunk.id)):
        best.setdefault(hit.chunk.id, hit)
    hits = list(best.values())
    kept: dict[int, Hit] = {}
    for place, original in enumerate(_originals(hits)):
        hit = hits[place]
        if original == place:
            kept[place] = hit
        elif _openness(hit) > _openness(kept[original]):
            kept[original] = replace(hit, score=kept[original].score)
    return list(kept.values())


def _openness(hit: Hit) -> tuple[bool, bool]:
    return bool(web_address(hit.chunk.url)), PUBLIC in hit.chunk.audiences


def _originals(hits: Sequence[Hit]) -> list[int]:
    """Return for each hit the place of the first original that it copies, else its own place."""
    texts = [_normalized(hit.chunk.text) for hit in hits]
    words = [text.split(maxsplit=MIN_COMPARED_WORDS - 1) for text in texts]
    compared = list(
        dict.fromkeys(text for text, some in zip(texts, words, strict=True) if len(some) == MIN_COMPARED_WORDS)
    )
    earlier = dict(zip(compared, earlier_copy_candidates(compared, MAX_EDITED_SHARE, _NEGATIONS), strict=True))
    parsed = cache(_WordCounts)
    originals: list[int] = []
    short: dict[tuple[object, ...], int] = {}
    long: dict[bytes, int] = {}
    for place, text in enumerate(texts):
        if text not in earlier:
            chunk = hits[place].chunk
            originals.append(short.setdefault((*words[place], "", chunk.title, *chunk.headings), place))
            continue
        if text not in long:
            alike = (compared[one] for one in earlier[text])
            firsts = (one for one in alike if texts[long[one]] == one)
            long[text] = next((long[one] for one in firsts if parsed(one).is_edited(parsed(text))), place)
        originals.append(long[text])
    return originals


def _normalized(text: str) -> bytes:
    """Return the words of a text in one case, separated by spaces."""
    words = text.encode(errors="ignore").translate(_LETTERS, _INVISIBLE_BYTES)  # drops surrogate halves, too
    return words if text.isascii() else _BEYOND_ASCII.sub(_beyond_ascii, words)


def _beyond_ascii(found: re.Match[bytes]) -> bytes:
    """Normalize a run of characters beyond ASCII."""
    run = found[0]
    return _letters(run) if len(run) > MAX_CACHED_RUN else _letters_of_short(run)


def _letters(run: bytes) -> bytes:
    return "".join(map(_letter, run.decode())).encode()


_letters_of_short = lru_cache(maxsize=4_096)(_letters)


@lru_cache(maxsize=16_384)
def _letter(character: str) -> str:
    """Normalize one character, whatever its neighbours: a Greek sigma's lower case would depend on them."""
    if ord(character) in _INVISIBLE:
        return _INVISIBLE[ord(character)] or ""
    if _IDEOGRAPH.match(character):
        return f" {character} "
    if character.isdigit():
        return SIGNIFICANT + character
    return "".join(letter if letter.isalnum() else " " for letter in character.casefold())


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


class _WordCounts:
    """The word counts of a text, and of its significant words: those that may not differ between copies."""

    def __init__(self, text: bytes) -> None:
        self.counts = Counter(text.decode().split())
        self.significant = {
            word: times for word, times in self.counts.items() if word in _NEGATIONS or _has_digit(word)
        }

    def is_edited(self, other: _WordCounts) -> bool:
        """Return True if the words differ in few places, and in no significant word."""
        if self.significant != other.significant:
            return False
        left, right = self.counts, other.counts
        differing = {word for word, _ in left.items() ^ right.items()}
        return sum(abs(left[word] - right[word]) for word in differing) <= MAX_EDITED_SHARE * (
            left.total() + right.total()
        )
