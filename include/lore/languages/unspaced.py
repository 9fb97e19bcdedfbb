"""Words of scripts that put no spaces between them: pairs of characters.

Pairs find a word within a longer one without a dictionary: "休暇" in "有給休暇" (Lee & Ahn, "Using n-grams for Korean
text retrieval", SIGIR 1996). Hiragana, which in Japanese writes particles and endings, is left out.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["UNSPACED", "unspaced_words"]

# Thai to Burmese, Khmer, kana, Han, and Hangul, whose words carry particles.
_SCRIPTS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
UNSPACED = re.compile(f"[{_SCRIPTS}\uff66-\uff9f\U00020000-\U0003ffff]")

_RUN = re.compile(
    "(?P<hiragana>[\u3041-\u309f]+)|(?P<katakana>[\u30a0-\u30ff]+)"
    f"|(?P<other>[{_SCRIPTS.replace(chr(0x3040) + '-' + chr(0x30FF), '')}\U00020000-\U0003ffff]+)"
    f"|(?P<spaced>[^{_SCRIPTS}\U00020000-\U0003ffff]+)"
)


@lru_cache(maxsize=10_000)
def unspaced_words(run: str) -> tuple[tuple[str, bool], ...]:
    """Return the words of a run of letters and digits in which some are of a script without spaces.

    Each comes with True if it is a pair of such characters, or a single one between others, and with False if it is of
    a script with spaces. Full and half widths are the same.
    """
    words: list[tuple[str, bool]] = []
    for match in _RUN.finditer(unicodedata.normalize("NFKC", run)):
        text = match[0]
        if match.lastgroup == "spaced":
            words.append((text, False))
        elif match.lastgroup != "hiragana":
            words.extend((text[at : at + 2], True) for at in range(max(1, len(text) - 1)))
    return tuple(words)
