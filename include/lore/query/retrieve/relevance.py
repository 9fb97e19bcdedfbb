"""Relevance of what was found: the rule behind an honest "not found".

A passage's relevance is its cosine to the question plus a quarter of the share of the question's words that it has.
The search found no answer if the best relevance is below a floor, or if no candidate mentions something that the
question names.

Names count, and the higher floor applies, only if the question is in English sentences. A question in another language
shares no words with English pages, and a few keywords may all be names. The floor was chosen on airflow_so, scifact and
raydocs with all-MiniLM-L6-v2 (figures in docs/reranking.md). With embedders of higher cosines fewer passages are
irrelevant, and the language model's own verdict decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lore.languages.detection import stems_of
from lore.query.content_words import content_words
from lore.types import Hit

__all__ = ["is_irrelevant", "unmentioned_names"]

FLOOR = 0.60
LOW_FLOOR = 0.40
"""For questions not in English sentences, and for passages that not even a language model need read."""
COVERAGE_WEIGHT = 0.25
ENOUGH_COVERAGE = 0.75
"""With this share of the question's words a passage is relevant at any cosine: it may name a flag or an error that the
embedder has never seen."""
MIN_FUNCTION_WORDS = 0.20
"""The least share of English function words in a question in sentences."""
MIN_NAME_LETTERS = 5
"""Shorter names occur inside other words too easily."""

_LETTERS = re.compile(r"[^\W\d_]{2,}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TOKEN = re.compile(r"\w+(?:[.-]\w+)*")
_SENTENCE_START = re.compile(r"(?:^|[.?!:\n]|\s[-–—])[\s\"'`“‘(\[]*$")
_NO_LETTER_OR_DIGIT = re.compile(r"[\W_]+")


def is_irrelevant(
    question: str, passages: Sequence[Hit], candidates: Sequence[Hit] = (), *, last_word: bool = True
) -> bool:
    """Return True if no passage is relevant by meaning or by words (compared as stems); True without passages.

    `candidates` are all hits of the search (default: the passages). Pass `last_word=False` if a language model reads
    the passages next: then only a low relevance counts, because people name companies and machines of their own.
    """
    if last_word and unmentioned_names(question, candidates or passages):
        return True
    language = stems_of(question)
    wanted = set(content_words(question, language))
    floor = FLOOR if last_word and _in_sentences(question) else LOW_FLOOR
    return not any(_is_relevant(hit, wanted, floor, language) for hit in passages)


def unmentioned_names(question: str, candidates: Sequence[Hit]) -> tuple[str, ...]:
    """Return the names in the question (of products, classes, errors …) that no candidate mentions.

    A name is a word with an inner capital, with a digit beside letters, or capitalized within a sentence. Words are
    compared as stems and without punctuation: `Deep-Speed` is `DeepSpeed`. Empty if the question isn't in English
    sentences.
    """
    names = {name: set(content_words(name)) for name in _names(question)} if _in_sentences(question) else {}
    missing = _missing(set().union(*names.values()), candidates)
    doubtful = [name for name, stems in names.items() if stems & missing]
    if not doubtful:
        return ()
    texts = [_plain(hit.chunk.passage) for hit in candidates]
    return tuple(
        name
        for name in doubtful
        if len(_plain(name)) < MIN_NAME_LETTERS or not any(_plain(name) in text for text in texts)
    )


def _is_relevant(hit: Hit, wanted: set[str], floor: float, language: str) -> bool:
    shared = len(wanted & set(content_words(hit.chunk.passage, language)))
    coverage = shared / len(wanted) if wanted else 0.0
    if coverage >= ENOUGH_COVERAGE:
        return True
    if hit.vector_score is None:  # without a vector only words count
        return shared > 0
    return hit.vector_score + COVERAGE_WEIGHT * coverage >= floor


def _missing(wanted: set[str], candidates: Iterable[Hit]) -> set[str]:
    """Return the words that no candidate has; most questions need only a few candidates."""
    missing = set(wanted)
    for hit in candidates:
        if not missing:
            break
        missing.difference_update(content_words(hit.chunk.passage))
    return missing


def _in_sentences(question: str) -> bool:
    if stems_of(question) != "en":
        return False
    words = _LETTERS.findall(_CAMEL.sub(" ", question))
    function_words = sum(not content_words(word) for word in words)
    return bool(words) and function_words >= MIN_FUNCTION_WORDS * len(words)


def _names(question: str) -> list[str]:
    tokens = [match for match in _TOKEN.finditer(question) if any(letter.isalpha() for letter in match[0])]
    inner = [match for match in tokens if not _SENTENCE_START.search(question[: match.start()])]
    if any(len(match[0]) > 1 and match[0][0].isupper() and not content_words(match[0]) for match in inner):
        return []  # "How Do I Rotate The Key": with capitalized function words, capitals mean nothing
    capitalized = {match.start() for match in inner if match[0][0].isupper()}
    names = [match[0] for match in tokens if match.start() in capitalized or _looks_like_a_name(match[0])]
    return list(dict.fromkeys(name for name in names if len(name) > 1))


def _looks_like_a_name(word: str) -> bool:
    return any(letter.isupper() for letter in word[1:]) or any(letter.isdigit() for letter in word)


def _plain(text: str) -> str:
    return _NO_LETTER_OR_DIGIT.sub("", text.casefold())
