"""Whether a passage bears a sentence out: by the words that both have and by what both mean.

A sentence's support is .6 of the share of its content words (compared as stems) that the passage has, plus .4 of the
cosine of their embeddings. Measured with all-MiniLM-L6-v2 at the threshold of .45:

    sentence and passage                                                   judged supported
    a sentence of the Ray documentation, and its own passage               300 of 300
    the same with three words of ten left out                              300 of 300
    a claim by an expert in words of their own, and its abstract (SciFact) 68 %
    a sentence, and another of the eight passages found with its own       24 %
    a claim, and the abstract nearest to it that does not bear it out      31 %
    a sentence or claim, and any other page or abstract                    2 %, 0 %

So what is not marked may still be wrong: a negation changes neither words nor meaning enough, and a page on the same
subject has much of both. A number that the passage lacks always counts as unsupported. Other embedders mostly give
higher cosines; with them fewer sentences are marked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lore.errors import LoreError
from lore.protocols import Embedder
from lore.query.content_words import content_words
from lore.query.retrieve.passages import Passage
from lore.query.verify.injection import gives_orders

if TYPE_CHECKING:
    from lore.types import Vector

__all__ = ["Support"]

WORDS_WEIGHT = 0.6
COSINE_WEIGHT = 0.4
SUPPORTED = 0.45
FEWEST_WORDS = 2
"""A sentence of fewer content words says nothing that could be judged."""
TELLING_LANGUAGE = 2
"""Function words that a sentence must have for its language to be known."""

_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*\d|(?<![\w.])\d(?![\w.])")
_NUMBER_WORD_LIST = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = _NUMBER_WORD_LIST.split()
_FUNCTION_WORDS = {
    "en": "the and of to is in that it for with as on are be this by or from can you not when which will if",
    "de": "der die das und ist nicht mit den von zu ein eine auf für im dem wird sie oder auch werden kann wenn sich",
    "fr": "le la les des et est une dans pour que qui sur pas au avec par vous être ce il sont ou cette du",
    "es": "el la los las y es en que una para con por del se no como su al está son puede lo más si",
    "it": "il la di che è un una per con non del della sono gli nel si da le può come alla anche se dei",
    "pt": "o a os as e é em que uma para com por do da não se como são no na pode dos ao mais você",
    "nl": "de het een en is van in op dat met voor niet zijn aan te die wordt kan of bij als door je om",
    "pl": "i w na z do nie się jest to że jak od po dla przez lub są oraz który jego być aby przy może",
    "ru": "и в на не что с по для это как из к или от при если можно его она они быть так чтобы у",
}
_LANGUAGES = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}


@dataclass(frozen=True, slots=True)
class _Read:
    """What is compared of a passage. It is not `honest` when it gives orders to a language model."""

    honest: bool
    terms: frozenset[str]
    numbers: frozenset[str]
    language: tuple[bool, str]


class Support:
    """Judges sentences against the passages that they cite. Without an embedder, or while it fails, by words alone.

    Passages that give orders to a language model bear nothing out.
    """

    def __init__(self, sources: Sequence[Passage], question: str, embedder: Embedder | None) -> None:
        self._sources = sources
        self._asked = _numbers(question)
        self._embedder = embedder
        self._known: dict[int, _Read] = {}

    def supports(self, sentence: str, numbers: Sequence[int]) -> bool:
        """Whether the passages with these numbers, taken together, bear the sentence out.

        True also where it cannot be judged: the sentence is too short, or in another language than the passages.
        """
        cited = [number for number in dict.fromkeys(numbers) if self._read(number).honest]
        if not cited:
            return False
        wanted = _terms(sentence)
        if len(wanted) < FEWEST_WORDS:
            return True
        read = [self._read(number) for number in cited]
        if not _digits(sentence) <= self._asked.union(*(one.numbers for one in read)):
            return False
        if not any(_same_language(_language(sentence), one.language) for one in read):
            return True
        share = WORDS_WEIGHT * len(wanted.intersection(frozenset().union(*(one.terms for one in read)))) / len(wanted)
        if share >= SUPPORTED or share + COSINE_WEIGHT < SUPPORTED:
            return share >= SUPPORTED
        return share + COSINE_WEIGHT * self._cosine(sentence, cited) >= SUPPORTED

    def _read(self, number: int) -> _Read:
        if number not in self._known:
            text = self._sources[number - 1].hit.chunk.passage
            known = _Read(not gives_orders(text), frozenset(_terms(text)), frozenset(_numbers(text)), _language(text))
            self._known[number] = known
        return self._known[number]

    def _cosine(self, sentence: str, cited: Sequence[int]) -> float:
        """The cosine to the nearest of the cited passages' vectors; 1 where there is none to compare with."""
        vectors = [part.vector for number in cited for part in self._sources[number - 1].parts]
        known: list[Vector] = [vector for vector in vectors if vector is not None]
        if self._embedder is None or not known:
            return 1.0
        try:
            embedded = self._embedder.embed_query(sentence)
        except LoreError:
            self._embedder = None  # it has failed on this answer: do not wait for it again
            return 1.0
        return max(float(vector @ embedded) for vector in known)


def _terms(text: str) -> set[str]:
    """Stems of content words; of Chinese, Japanese and Korean text, pairs of characters."""
    runs = _WIDE.findall(text)
    pairs = {run[place : place + 2] for run in runs for place in range(max(1, len(run) - 1))}
    return pairs | set(content_words(_WIDE.sub(" ", text) if runs else text))


def _digits(text: str) -> set[str]:
    """The numbers that a text has in digits, written in one way: "1,000" is "1000"."""
    return {re.sub(r"[.,](?=\d{3}(?:\D|$))", "", number).rstrip(".,") for number in _NUMBER.findall(text)}


def _numbers(text: str) -> set[str]:
    """All numbers of a text: "three" is "3"."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    return _digits(text) | {str(value) for value, word in enumerate(_NUMBER_WORDS) if word in words}


def _same_language(one: tuple[bool, str], other: tuple[bool, str]) -> bool:
    """False only where both languages are known, by script or by their small words, and differ."""
    return one[0] == other[0] and (not one[1] or not other[1] or one[1] == other[1])


def _language(text: str) -> tuple[bool, str]:
    """Whether it is written without spaces, as Chinese is, and the language of its small words, "" where unknown."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    counts = {language: sum(word in small for word in words) for language, small in _LANGUAGES.items()}
    best = max(counts, key=counts.__getitem__)
    return bool(_WIDE.search(text)), best if counts[best] >= TELLING_LANGUAGE else ""
