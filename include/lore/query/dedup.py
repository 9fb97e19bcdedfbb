"""One candidate list out of the hits of several wordings, in which a page that is kept in two places counts once."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil, floor

from include.lore.query.visible import UNSEEN, web_address
from include.lore.types import PUBLIC, Hit

__all__ = ["dedup", "take_apart"]

TELLING_WORDS = 8
"""A text of fewer words says what it says by where it stands: "Run `pip install --upgrade NAME`." is on many pages."""
EDITED_SHARE = 0.02
"""How much of two copies' words may differ. Copies of a page differ in a date, a greeting or a corrected word."""
FEW = 8
"""Texts to be compared with more others than this get a signature first."""
TEXTS_KEPT = 2_048
"""Passages that were taken apart lately: about 15 MB. Good passages are found by many questions."""

_HIDDEN = UNSEEN | {code: " " for code in UNSEEN if chr(code).isspace()}
"""For `str.translate`: what nobody sees is no part of a word, and every kind of gap parts two of them."""
_LETTERS = bytes(ord(chr(code).lower()) if chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(256))
"""What each byte of ASCII text counts as."""
_HIDDEN_BYTES = bytes(code for code in range(128) if code in _HIDDEN and not chr(code).isspace())
_SIGNATURE_BITS = 1_024
# In Chinese and Japanese, which put no space between words, each character counts as one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_NEGATIONS = frozenset(
    ("not", "no", "never", "without", "cannot", "t", "nicht", "kein", "keine", "nie", "ohne", "不", "没", "未", "無")
)


def dedup(results: Iterable[Sequence[Hit]]) -> list[Hit]:
    """Every passage once, best first.

    A chunk that several wordings found keeps its best hit. A copy, the same text in another document or place, counts
    once, whatever its title and headings: two copies of a page would otherwise take two of the few places that an
    answer is written from. Texts are the same when their words are, or nearly all of them: what differs must be few
    words and none with a digit or a negation, so that two versions of a page are no copies. Short texts must stand
    under the same headings as well. Of copies the best one's place and score are kept, and the one that has a web
    address and that everybody may see is shown.

    Only passages are left out, never pages: two pages that share a passage keep all others.
    """
    seen: set[str] = set()
    kept: list[Hit] = []
    copies = _Copies()
    for hit in sorted((hit for hits in results for hit in hits), key=lambda hit: (-hit.score, hit.chunk.id)):
        if hit.chunk.id in seen:
            continue
        seen.add(hit.chunk.id)
        place = copies.place(hit)
        if place == len(kept):
            kept.append(hit)
        elif _openness(hit) > _openness(kept[place]):
            kept[place] = replace(hit, score=kept[place].score)
    return kept


def take_apart(hits: Iterable[Hit]) -> None:
    """Do what `dedup` does with each text by itself, which is half of its work, for hits that are there before others.

    It is remembered for the texts that were taken apart last.
    """
    for hit in hits:
        _text(hit.chunk.text)


def _openness(hit: Hit) -> tuple[bool, bool]:
    return bool(web_address(hit.chunk.url)), PUBLIC in hit.chunk.audiences


@dataclass(frozen=True)
class _Text:
    """The words of a text in order, each of them once, and those that no copy may lack: with a digit, or a negation."""

    words: tuple[str, ...]
    different: frozenset[str]
    telling: frozenset[str]

    @cached_property
    def signature(self) -> int:
        """A bit turned over for each of the words: two texts differ in at least as many words as bits."""
        bits = 0
        for word in self.different:
            bits ^= 1 << (hash(word) % _SIGNATURE_BITS)
        return bits


class _Copies:
    """The texts that are there, each with its place in the list."""

    def __init__(self) -> None:
        self._short: dict[tuple[str, ...], int] = {}
        self._texts: list[_Text] = []
        self._alike: defaultdict[tuple[int, frozenset[str]], list[int]] = defaultdict(list)

    def place(self, hit: Hit) -> int:
        """The place of the text that this one is a copy of, or the next free one, where it is then known."""
        text = _text(hit.chunk.text)
        free = len(self._texts)
        if len(text.words) < TELLING_WORDS:
            place = self._short.setdefault((*text.words, "", hit.chunk.title, *hit.chunk.headings), free)
        else:
            place = self._copied(text, free)
            if place == free:
                self._alike[len(text.words), text.telling].append(place)
        if place == free:
            self._texts.append(text)
        return place

    def _copied(self, text: _Text, free: int) -> int:
        """The first place of a text that this one is a copy of, else `free`. Only those are compared that have the same
        telling words, and whose lengths say that they need not differ in more words than copies may.
        """
        length, ratio = len(text.words), (1 + EDITED_SHARE) / (1 - EDITED_SHARE)
        lengths = range(floor(length / ratio), ceil(length * ratio) + 1)
        places = [place for other in lengths for place in self._alike.get((other, text.telling), ())]
        if len(places) > FEW:
            places = [place for place in places if _may_be_edited(self._texts[place], text)]
        return min((place for place in places if _edited(self._texts[place], text)), default=free)


def _words(text: str) -> Sequence[str]:
    if text.isascii():  # most is, and this takes a third of the time
        return text.encode().translate(_LETTERS, _HIDDEN_BYTES).decode().split()
    return _WORD.findall(text.translate(_HIDDEN).lower())


@lru_cache(maxsize=TEXTS_KEPT)
def _text(text: str) -> _Text:
    words = tuple(_words(text))
    different = frozenset(words)
    odd = [word for word in different if not word.isalpha()]
    telling = _NEGATIONS.intersection(different).union(word for word in odd if any(map(str.isdigit, word)))
    return _Text(words, different, telling)


def _may_be_edited(one: _Text, other: _Text) -> bool:
    """False where so many words are in one of them only that `_edited` is False, told a hundred times as fast."""
    return (one.signature ^ other.signature).bit_count() <= EDITED_SHARE * (len(one.words) + len(other.words))


def _edited(one: _Text, other: _Text) -> bool:
    """Whether these, in which the same words tell, are the words of one text, a few of them edited."""
    allowed = EDITED_SHARE * (len(one.words) + len(other.words))
    more = len(other.different) - len(one.different)
    if abs(more) > allowed or 2 * len(one.different - other.different) + more > allowed:
        return False  # too many words are in one of them only
    left, right = Counter(one.words), Counter(other.words)
    differing = {word for word, _ in left.items() ^ right.items()}
    return one.telling.isdisjoint(differing) and sum(abs(left[word] - right[word]) for word in differing) <= allowed
