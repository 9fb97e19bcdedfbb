"""One candidate list out of the hits of several wordings, in which a page that is kept in two places counts once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from include.lore.query.sketches import earlier_alike
from include.lore.query.visible import UNSEEN, web_address
from include.lore.types import PUBLIC, Hit

__all__ = ["dedup"]

TELLING_WORDS = 8
"""A text of fewer words says what it says by where it stands: "Run `pip install --upgrade NAME`." is on many pages."""
EDITED_SHARE = 0.02
"""How much of two copies' words may differ. Copies of a page differ in a date, a greeting or a corrected word."""

_HIDDEN = UNSEEN | {code: " " for code in UNSEEN if chr(code).isspace()}
"""For `str.translate`: what nobody sees is no part of a word, and every kind of gap parts two of them."""
_HIDES = re.compile(f"[{re.escape(''.join(map(chr, _HIDDEN)))}]")
_LETTERS = bytes(ord(chr(code).lower()) if chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(256))
"""What each byte of ASCII text counts as."""
_HIDDEN_BYTES = bytes(code for code in range(128) if code in _HIDDEN and not chr(code).isspace())
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
    different = list(dict.fromkeys(texts))
    earlier = dict(zip(different, earlier_alike(different, EDITED_SHARE), strict=True))
    short: dict[tuple[object, ...], int] = {}
    long: dict[bytes, int] = {}
    originals: list[int] = []
    for place, text in enumerate(texts):
        if len(words := text.split(maxsplit=TELLING_WORDS - 1)) < TELLING_WORDS:
            chunk = hits[place].chunk
            originals.append(short.setdefault((*words, "", chunk.title, *chunk.headings), place))
            continue
        if text not in long:
            alike = (different[one] for one in earlier[text])
            originally = (long[one] for one in alike if one in long and texts[long[one]] == one and _edited(one, text))
            long[text] = next(originally, place)
        originals.append(long[text])
    return originals


def _parted(text: str) -> bytes:
    """The words of a text, in lower case, with spaces between them."""
    if text.isascii():  # most is, and this takes a third of the time
        return text.encode().translate(_LETTERS, _HIDDEN_BYTES)
    if _HIDES.search(text):
        text = text.translate(_HIDDEN)
    return " ".join(_WORD.findall(text.lower())).encode()


def _edited(one: bytes, other: bytes) -> bool:
    """Whether these are the words of one text, a few of them edited, and none that tells."""
    left, right = one.decode().split(), other.decode().split()
    there = Counter(left)
    there.subtract(right)
    differing = {word: abs(times) for word, times in there.items() if times}
    return sum(differing.values()) <= EDITED_SHARE * (len(left) + len(right)) and not any(map(_tells, differing))


def _tells(word: str) -> bool:
    return word in _NEGATIONS or any(map(str.isdigit, word))
