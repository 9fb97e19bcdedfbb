"""One candidate list out of the hits of several wordings, in which a page that is kept in two places counts once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache

from lore.query.retrieve.sketches import MARK, earlier_alike
from lore.types import PUBLIC, Hit
from lore.visible_text import UNSEEN, web_address

__all__ = ["dedup"]

TELLING_WORDS = 8
"""A text of fewer words says what it says by where it stands: "Run `pip install --upgrade NAME`." is on many pages."""
EDITED_SHARE = 0.02
"""How much of two copies' words may differ. Copies of a page differ in a date, a greeting or a corrected word."""

_HIDDEN = UNSEEN | {code: " " for code in UNSEEN if chr(code).isspace()}
"""What nobody sees is no part of a word, and every kind of gap parts two of them."""
_LETTERS = bytes(ord(chr(code).lower()) if chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(128))
_LETTERS += bytes(range(128, 256))
"""What each byte of a text counts as; those of characters beyond ASCII are looked at afterwards."""
_HIDDEN_BYTES = bytes(code for code in range(128) if code in _HIDDEN and not chr(code).isspace())
SHORT_RUN = 64
"""Bytes. Of runs as long as a word it is remembered what they are; of longer ones, as in Chinese, hardly any is met
twice."""
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")
# Chinese and Japanese put no space between words: each character counts as one.
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
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
    """For each hit the place of the first one that it is a copy of and that is no copy itself, else its own place."""
    texts = [_parted(hit.chunk.text) for hit in hits]
    words = [text.split(maxsplit=TELLING_WORDS - 1) for text in texts]
    compared = list(dict.fromkeys(text for text, some in zip(texts, words, strict=True) if len(some) == TELLING_WORDS))
    earlier = dict(zip(compared, earlier_alike(compared, EDITED_SHARE, _NEGATIONS), strict=True))
    apart = cache(_Text)
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
            long[text] = next((long[one] for one in firsts if apart(one).is_edited(apart(text))), place)
        originals.append(long[text])
    return originals


def _parted(text: str) -> bytes:
    """The words of a text, without what is capital or small in them, parted by spaces."""
    words = text.encode(errors="ignore").translate(_LETTERS, _HIDDEN_BYTES)  # halves of pairs are hidden, too
    return words if text.isascii() else _BEYOND_ASCII.sub(_beyond_ascii, words)


def _beyond_ascii(found: re.Match[bytes]) -> bytes:
    """What a run of characters beyond ASCII is in the words that it is in, or between."""
    run = found[0]
    return _letters(run) if len(run) > SHORT_RUN else _letters_of_short(run)


def _letters(run: bytes) -> bytes:
    return "".join(map(_letter, run.decode())).encode()


_letters_of_short = lru_cache(maxsize=4_096)(_letters)


@lru_cache(maxsize=16_384)
def _letter(character: str) -> str:
    """What a character is in a word, whatever stands next to it: that of a Greek sigma would change its lower case."""
    if ord(character) in _HIDDEN:
        return _HIDDEN[ord(character)] or ""
    if _IDEOGRAPH.match(character):
        return f" {character} "
    if character.isdigit():
        return MARK + character
    return "".join(letter if letter.isalnum() else " " for letter in character.casefold())


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


class _Text:
    """A text taken apart: how often each word is in it, and which of these may not differ between copies."""

    def __init__(self, text: bytes) -> None:
        self.counts = Counter(text.decode().split())
        self.telling = {word: times for word, times in self.counts.items() if word in _NEGATIONS or _has_digit(word)}

    def is_edited(self, other: _Text) -> bool:
        """Whether these are the words of one text, a few of them edited, and none that tells."""
        if self.telling != other.telling:
            return False
        left, right = self.counts, other.counts
        differing = {word for word, _ in left.items() ^ right.items()}
        return sum(abs(left[word] - right[word]) for word in differing) <= EDITED_SHARE * (left.total() + right.total())
