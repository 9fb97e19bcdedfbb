"""Whether what was found has anything to do with the question: the rule that makes an honest "not found" possible.

A passage's kinship is its cosine to the question plus a quarter of the share of the question's words that it holds.
Nothing that was found answers when the best kinship is below a floor, or when no candidate mentions a thing that the
question calls by its name.

Names count, and the higher floor holds, only for a question that is told in English sentences: one in another language
shares no words with English pages, and a few keywords may all be names. The floor was chosen on airflow_so, scifact and
raydocs, with all-MiniLM-L6-v2 (docs/reranking.md has the figures). Embedders that give higher cosines find less to be
irrelevant, and the language model's own verdict decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lore.query.content_words import content_words
from lore.types import Hit

__all__ = ["irrelevant", "unmentioned"]

FLOOR = 0.60
FLOOR_OTHERWISE = 0.40
"""For questions that are not told in English sentences, and for what not even a language model need read."""
COVERAGE_WEIGHT = 0.25
COVERAGE_ENOUGH = 0.75
"""With this share of the question's words in one passage no cosine can make it irrelevant: it may name a flag or an
error that the embedder has never seen."""
FUNCTION_WORDS = 0.20
"""The least share of English function words in a question that is told in sentences."""
SHORT_NAME = 5
"""Fewer letters are found inside other words too easily."""

_LETTERS = re.compile(r"[^\W\d_]{2,}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TOKEN = re.compile(r"\w+(?:[.-]\w+)*")
_SENTENCE_START = re.compile(r"(?:^|[.?!:\n]|\s[-–—])[\s\"'`“‘(\[]*$")
_NO_LETTER_OR_DIGIT = re.compile(r"[\W_]+")


def irrelevant(
    question: str, passages: Sequence[Hit], candidates: Sequence[Hit] = (), *, last_word: bool = True
) -> bool:
    """True when no passage speaks for itself, by meaning or by words (compared as stems). No passages: True.

    `candidates` are all hits of the search, of which `passages` are the best; by default there were no others. Without
    the `last_word`, because a language model is to read the passages, only what is far off is irrelevant: people name
    their own company and machines, which no page mentions.
    """
    if last_word and unmentioned(question, candidates or passages):
        return True
    wanted = set(content_words(question))
    floor = FLOOR if last_word and _in_sentences(question) else FLOOR_OTHERWISE
    return not any(_is_kin(hit, wanted, floor) for hit in passages)


def unmentioned(question: str, candidates: Sequence[Hit]) -> tuple[str, ...]:
    """The names in the question, of a product, a class, an error, that none of the candidates mentions.

    None of a question that is not told in English sentences.

    A name is a word with a capital inside or a digit beside letters, or one that is capitalized within a sentence.
    Words are compared as stems, and without what stands between letters: `Deep-Speed` is `DeepSpeed`.
    """
    names = {name: set(content_words(name)) for name in _names(question)} if _in_sentences(question) else {}
    missing = _missing(set().union(*names.values()), candidates)
    doubtful = [name for name, stems in names.items() if stems & missing]
    if not doubtful:
        return ()
    texts = [_plain(hit.chunk.passage) for hit in candidates]
    return tuple(
        name for name in doubtful if len(_plain(name)) < SHORT_NAME or not any(_plain(name) in text for text in texts)
    )


def _is_kin(hit: Hit, wanted: set[str], floor: float) -> bool:
    shared = len(wanted & set(content_words(hit.chunk.passage)))
    coverage = shared / len(wanted) if wanted else 0.0
    if coverage >= COVERAGE_ENOUGH:
        return True
    if hit.vector_score is None:  # found without a vector: words are all there is to go by
        return shared > 0
    return hit.vector_score + COVERAGE_WEIGHT * coverage >= floor


def _missing(wanted: set[str], candidates: Iterable[Hit]) -> set[str]:
    """Which of the words none of the candidates holds; most questions are done after a few."""
    missing = set(wanted)
    for hit in candidates:
        if not missing:
            break
        missing.difference_update(content_words(hit.chunk.passage))
    return missing


def _in_sentences(question: str) -> bool:
    words = _LETTERS.findall(_CAMEL.sub(" ", question))
    function_words = sum(not content_words(word) for word in words)
    return bool(words) and function_words >= FUNCTION_WORDS * len(words)


def _names(question: str) -> list[str]:
    tokens = [match for match in _TOKEN.finditer(question) if any(letter.isalpha() for letter in match[0])]
    inner = [match for match in tokens if not _SENTENCE_START.search(question[: match.start()])]
    if any(len(match[0]) > 1 and match[0][0].isupper() and not content_words(match[0]) for match in inner):
        return []  # "How Do I Rotate The Key": where function words are capitalized, capitals tell nothing
    capitalized = {match.start() for match in inner if match[0][0].isupper()}
    names = [match[0] for match in tokens if match.start() in capitalized or _looks_like_a_name(match[0])]
    return list(dict.fromkeys(name for name in names if len(name) > 1))


def _looks_like_a_name(word: str) -> bool:
    return any(letter.isupper() for letter in word[1:]) or any(letter.isdigit() for letter in word)


def _plain(text: str) -> str:
    return _NO_LETTER_OR_DIGIT.sub("", text.casefold())
