"""Typing mistakes in a question, corrected by the words of the passages that were found for it."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence

from lore.languages.detection import stems_of
from lore.query.content_words import content_words
from lore.types import Hit

__all__ = ["correct_spelling"]

MIN_LETTERS = 5
"""Shorter words have too many neighbours."""
SIMILARITY = 0.84
"""Least ratio of matching letters (Ratcliff and Metzener, "Pattern matching: the Gestalt approach", Dr. Dobb's Journal
13(7), 1988): one letter in six may differ.
"""
MIN_OCCURRENCES = 2
"""Passages that must contain the correct word: a word of one passage may be a mistake itself."""

_WORD = re.compile(r"[^\W\d_]{2,}")


def correct_spelling(question: str, candidates: Sequence[Hit]) -> str:
    """Replace each word that no candidate contains by a nearly equal one that several contain.

    Only lower-case words of five letters and more are replaced: a capitalized one may be a name.
    """
    vocabulary = Counter(word for hit in candidates for word in set(_WORD.findall(hit.chunk.passage.lower())))
    language = stems_of(question)
    stems = {stem for word in vocabulary for stem in content_words(word, language)}
    known = [word for word, count in vocabulary.items() if count >= MIN_OCCURRENCES and len(word) >= MIN_LETTERS - 1]

    def replacement(match: re.Match[str]) -> str:
        word = match[0]
        own = set(content_words(word, language))
        if len(word) < MIN_LETTERS or not word.islower() or not own or own <= stems:
            return word
        same_start = [other for other in known if other[0] == word[0]]
        near = difflib.get_close_matches(word, same_start, n=1, cutoff=SIMILARITY)
        return near[0] if near else word

    return _WORD.sub(replacement, question) if candidates else question
