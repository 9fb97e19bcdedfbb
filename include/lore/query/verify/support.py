"""Support of a sentence by passages, from shared words and the similarity of embeddings.

The support is .6 of the share of the sentence's content words (compared as stems) that the passage has, plus .4 of the
cosine of their embeddings. Measured with all-MiniLM-L6-v2 at the threshold of .45:

    sentence and passage                                                   judged supported
    a sentence of the Ray documentation, and its own passage               300 of 300
    the same with three words of ten left out                              300 of 300
    a claim by an expert in their own words, and its abstract (SciFact)    68 %
    a sentence, and another of the eight passages found with its own       24 %
    a claim, and the nearest abstract that doesn't support it              31 %
    a sentence or claim, and any other page or abstract                    2 %, 0 %

So an unmarked sentence may still be wrong: a page on the same subject shares much of its words and meaning. A sentence
with a number that the passage lacks is never supported, nor one that says the opposite (opposites.py). Most other
embedders have higher cosines, so fewer sentences are marked with them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lore.errors import LoreError
from lore.languages.detection import language_of, stems_of
from lore.protocols import Embedder
from lore.query.content_words import content_words
from lore.query.retrieve.passages import SourcePassage
from lore.query.verify.injection import contains_injection
from lore.query.verify.opposites import SourceSentence, is_opposed, source_sentences

if TYPE_CHECKING:
    from lore.types import Vector

__all__ = ["SupportChecker"]

WORDS_WEIGHT = 0.6
COSINE_WEIGHT = 0.4
MIN_SUPPORT = 0.45
MIN_WORDS = 2
"""A sentence of fewer content words can't be judged."""

_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*\d|(?<![\w.])\d(?![\w.])")
_NUMBER_WORD_LIST = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = _NUMBER_WORD_LIST.split()


@dataclass(frozen=True, slots=True)
class _PassageFeatures:
    """The compared features of a passage. One with a prompt injection isn't `trusted`."""

    trusted: bool
    terms: frozenset[str]
    numbers: frozenset[str]
    language: str
    sentences: tuple[SourceSentence, ...]


class SupportChecker:
    """Checks sentences against the passages that they cite; by words alone if the embedder is missing or fails.

    Passages with a prompt injection support nothing.
    """

    def __init__(self, sources: Sequence[SourcePassage], question: str, embedder: Embedder | None) -> None:
        self._sources = sources
        self._question_numbers = _numbers(question)
        self._language = stems_of(question)
        self._embedder = embedder
        self._cache: dict[int, _PassageFeatures] = {}

    def supports(self, sentence: str, numbers: Sequence[int]) -> bool:
        """Return True if the passages with these numbers, taken together, support the sentence.

        Also True if it can't be judged: too short, or in another language than the passages.
        """
        cited = [number for number in dict.fromkeys(numbers) if self._features(number).trusted]
        if not cited:
            return False
        wanted = self._terms(sentence)
        if len(wanted) < MIN_WORDS:
            return True
        read = [self._features(number) for number in cited]
        if not _digits(sentence) <= self._question_numbers.union(*(one.numbers for one in read)):
            return False
        if not any(_same_language(language_of(sentence), one.language) for one in read):
            return True
        if is_opposed(sentence, (each for one in read for each in one.sentences)):
            return False
        share = WORDS_WEIGHT * len(wanted.intersection(frozenset().union(*(one.terms for one in read)))) / len(wanted)
        if share >= MIN_SUPPORT or share + COSINE_WEIGHT < MIN_SUPPORT:
            return share >= MIN_SUPPORT
        return share + COSINE_WEIGHT * self._cosine(sentence, cited) >= MIN_SUPPORT

    def _features(self, number: int) -> _PassageFeatures:
        if number not in self._cache:
            text = self._sources[number - 1].hit.chunk.passage
            found = _PassageFeatures(
                not contains_injection(text),
                frozenset(self._terms(text)),
                frozenset(_numbers(text)),
                language_of(text),
                source_sentences(text),
            )
            self._cache[number] = found
        return self._cache[number]

    def _terms(self, text: str) -> set[str]:
        return set(content_words(text, self._language))

    def _cosine(self, sentence: str, cited: Sequence[int]) -> float:
        """Return the highest cosine to the cited passages' vectors, or 1 without vectors to compare."""
        vectors = [part.vector for number in cited for part in self._sources[number - 1].parts]
        found: list[Vector] = [vector for vector in vectors if vector is not None]
        if self._embedder is None or not found:
            return 1.0
        try:
            embedded = self._embedder.embed_query(sentence)
        except LoreError:
            self._embedder = None  # don't wait for it again during this answer
            return 1.0
        return max(float(vector @ embedded) for vector in found)


def _digits(text: str) -> set[str]:
    """Return the numbers in digits, normalized: "1,000" becomes "1000"."""
    return {re.sub(r"[.,](?=\d{3}(?:\D|$))", "", number).rstrip(".,") for number in _NUMBER.findall(text)}


def _numbers(text: str) -> set[str]:
    """Return all numbers of a text, also in words: "three" becomes "3"."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    return _digits(text) | {str(value) for value, word in enumerate(_NUMBER_WORDS) if word in words}


def _same_language(one: str, other: str) -> bool:
    """Return False only if both languages are known and differ."""
    return not one or not other or one == other
