"""The language of a text, by its script and its function words; the same text always has the same language."""

from __future__ import annotations

import re
from functools import lru_cache

from lore.languages.stop_words import ENGLISH, STOP_WORDS

__all__ = ["language_of", "stems_of"]

ENOUGH = 2
"""Function words that show a language; a long one, or one with an accent, is enough by itself."""
SURE_LETTERS = 4
SURE = frozenset(["wo", "wie", "ist", "und", "ich", "wir", "der", "das", "mit", "von", "zum", "zur"])
"""Short words that no other language has."""
LEAST_SHARE = 0.1
"""Share of function words that any prose has; code has some by chance."""
UNSPACED_SHARE = 0.2
"""Share of the letters from which a text is Chinese, Japanese or Korean: names and code in it are Latin."""
SAMPLE = 4_000

_WORD = re.compile(r"[^\W\d_]{2,}")  # single letters are names in code
_KANA, _HAN, _HANGUL = (
    re.compile(r"[\u3040-\u30ff\uff66-\uff9f]"),
    re.compile(r"[\u3400-\u9fff]"),
    re.compile(r"[\uac00-\ud7af]"),
)


@lru_cache(maxsize=10_000)
def language_of(text: str) -> str:
    """Return the ISO 639-1 code of a text's language: de, en, es, fr, it, ja, ko, nl, pl, pt, ru or zh; "" if unknown.

    English wins a tie. Names, keywords and code have no language.
    """
    sample = text[:SAMPLE]
    if not sample.isascii() and (found := _by_script(sample)):
        return found
    words = [word.lower() for word in _WORD.findall(sample)]
    counts = {language: sum(word in known for word in words) for language, known in STOP_WORDS.items()}
    english = sum(word in ENGLISH for word in words)
    best = max(counts, key=counts.__getitem__)
    if english >= counts[best]:
        return "en" if english >= ENOUGH else ""
    if counts[best] < LEAST_SHARE * len(words):
        return ""
    own = {word for word in words if word in STOP_WORDS[best] and word not in ENGLISH}
    is_sure = any(len(word) >= SURE_LETTERS or not word.isascii() or word in SURE for word in own)
    return best if len(own) >= ENOUGH or is_sure else ""


def stems_of(text: str) -> str:
    """Return the language whose stop words and stems a text is compared by: its own, or English if that is unknown."""
    return language_of(text) or "en"


def _by_script(text: str) -> str:
    letters = sum(map(str.isalpha, text))
    kana, han, hangul = (len(script.findall(text)) for script in (_KANA, _HAN, _HANGUL))
    if not letters or kana + han + hangul < UNSPACED_SHARE * letters:
        return ""
    if hangul > kana + han:
        return "ko"
    return "ja" if kana else "zh"
