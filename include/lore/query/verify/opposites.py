"""Opposites between a statement and the sentences of its sources: other directions, orders, permissions, negations.

Only English words are known. It sees what shared words and embeddings don't: "raises" against "lowers".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from lore.query.content_words import content_words

__all__ = ["SourceSentence", "is_opposed", "source_sentences"]

NEAREST_SENTENCES = 2
_MORE = """
increas rais rise elev higher greater more upregul enhanc promot activ induc improv stimul facilit amplif gain larger
longer
"""
_LESS = """
decreas reduc declin lower fewer less downregul inhibit suppress impair block prevent attenu diminish abolish loss lack
smaller shorter
"""
_PAIR_LISTS = (
    (_MORE, _LESS),
    ("allow enabl permit accept", "forbid disabl deni reject refus"),
    ("before", "after"),
    ("always all every", "never none"),
    ("requir mandatori", "option"),
    ("maximum max", "minimum min"),
    ("unaffect unchang independ", "depend affect"),
)
_PAIRS = tuple((tuple(one.split()), tuple(other.split())) for one, other in _PAIR_LISTS)
"""Beginnings of words: a text with words of one side only is opposed to a text with words of the other only."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_NEGATION = re.compile(
    r"\b(?:not|no|never|without|cannot|neither|nor|lack(?:s|ed|ing)?|fail(?:s|ed)?|unable|except|unlikely|absence)\b|n't\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A sentence of a source, with its stems."""

    text: str
    terms: frozenset[str]


def source_sentences(text: str) -> tuple[SourceSentence, ...]:
    """Return the sentences and lines of a source."""
    parts = (part for part in _SENTENCE_END.split(text) if part.strip())
    return tuple(SourceSentence(part, frozenset(content_words(part))) for part in parts)


def is_opposed(statement: str, sentences: Iterable[SourceSentence]) -> bool:
    """Return True if the sentences that are nearest by words say the opposite, or lack the statement's negation."""
    terms = set(content_words(statement))
    nearest = sorted(sentences, key=lambda one: len(terms & one.terms), reverse=True)[:NEAREST_SENTENCES]
    text = " ".join(one.text for one in nearest)
    if _NEGATION.search(statement) and not _NEGATION.search(text):
        return True
    said, found = _words(statement), _words(text)
    return any(
        (_has(said, one) and not _has(said, other) and _has(found, other) and not _has(found, one))
        or (_has(said, other) and not _has(said, one) and _has(found, one) and not _has(found, other))
        for one, other in _PAIRS
    )


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def _has(words: Collection[str], beginnings: Sequence[str]) -> bool:
    return any(word.startswith(tuple(beginnings)) for word in words)
