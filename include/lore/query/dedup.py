"""One candidate list out of the hits of several wordings, in which a page that is kept in two places counts once."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from include.lore.query.visible import UNSEEN, web_address
from include.lore.types import PUBLIC, Hit

__all__ = ["dedup"]

TELLING_WORDS = 8
"""A text of fewer words says what it says by where it stands: "Run `pip install --upgrade NAME`." is on many pages."""
EDITED_SHARE = 0.02
"""How much of two copies' words may differ. Copies of a page differ in a date, a greeting or a corrected word."""
LONG = 8
"""Letters. Most texts have more words that are longer than they need keys, and so few that sorting them is quick."""
KEYS = 6
"""Two texts are compared when they share one of their longest words between the same neighbours: near-equal texts share
nearly all of them, and others none."""

TEXTS_KEPT = 2_048
"""Passages that were taken apart lately: about 20 MB. Good passages are found by many questions."""

_NO_WORD = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
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


def _openness(hit: Hit) -> tuple[bool, bool]:
    return bool(web_address(hit.chunk.url)), PUBLIC in hit.chunk.audiences


@dataclass(frozen=True, slots=True)
class _Text:
    """The words of a text in order, each of them once, and what it is found by among others (see `KEYS`)."""

    words: tuple[str, ...]
    different: frozenset[str]
    keys: tuple[tuple[str, ...], ...]


class _Copies:
    """The texts that are there, each with its place in the list."""

    def __init__(self) -> None:
        self._equal: dict[tuple[str, ...], int] = {}
        self._texts: list[_Text] = []
        self._by_key: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)

    def place(self, hit: Hit) -> int:
        """The place of the text that this one is a copy of, or the next free one, where it is then known."""
        text = _text(hit.chunk.text)
        short = len(text.words) < TELLING_WORDS
        identity = (*text.words, "", hit.chunk.title, *hit.chunk.headings) if short else text.words
        place = self._equal.get(identity)
        if place is None:
            keys = () if short else text.keys
            place = self._nearly_equal(text, keys)
            if place == len(self._texts):
                self._texts.append(text)
                for key in keys:
                    self._by_key[key].append(place)
        self._equal[identity] = place
        return place

    def _nearly_equal(self, text: _Text, keys: Iterable[tuple[str, ...]]) -> int:
        places = sorted({place for key in keys for place in self._by_key[key]})
        return next((place for place in places if _edited(self._texts[place], text)), len(self._texts))


def _words(text: str) -> tuple[str, ...]:
    if text.isascii():  # most is, and this takes a third of the time
        return tuple(text.lower().translate(_NO_WORD).split())
    return tuple(_WORD.findall(text.translate(UNSEEN).lower()))


@lru_cache(maxsize=TEXTS_KEPT)
def _text(text: str) -> _Text:
    words = _words(text)
    different = frozenset(words)
    long = [word for word in different if len(word) > LONG]
    candidates = long if len(long) >= KEYS else different
    longest = sorted(sorted(candidates), key=len, reverse=True)[:KEYS]  # sorted twice is faster than by pairs
    return _Text(words, different, tuple(words[max(0, place - 1) : place + 2] for place in map(words.index, longest)))


def _edited(one: _Text, other: _Text) -> bool:
    """Whether these are the words of one text, a few of them edited."""
    allowed = EDITED_SHARE * (len(one.words) + len(other.words))
    if abs(len(one.words) - len(other.words)) > allowed or len(one.different ^ other.different) > allowed:
        return False  # the quick ways to see that too many differ
    left, right = Counter(one.words), Counter(other.words)
    differing = [*(left - right), *(right - left)]
    if sum((left - right).values()) + sum((right - left).values()) > allowed:
        return False
    return not any(word in _NEGATIONS or any(map(str.isdigit, word)) for word in differing)
