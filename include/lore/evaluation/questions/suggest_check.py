"""Checks on a draft of a question before a person sees it: a language model's output is not trusted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from lore.query.content_words import content_words
from lore.types import Document

__all__ = ["LONGEST_QUOTE", "DraftCheck"]

LONGEST_QUESTION = 300
LONGEST_QUOTE = 600
FEWEST_WORDS = 4
"""Fewest words of a question or quotation that makes sense alone."""
FEWEST_TITLE_WORDS = 2
"""Fewest words for which a title is no longer just a term, such as "Backups"."""
NEARLY_EQUAL = 0.8
"""Share of common word stems from which two questions count as nearly equal."""

_POINTS_AT_THE_PAGE = re.compile(
    r"\b(?:this|the above|the given|the following|according to the) "
    r"(?:page|document|article|section|passage|text|guide|thread|issue)\b"
    r"|\bthe (?:document|passage|text|article)\b",
    re.IGNORECASE,
)


class DraftCheck:
    """Checks drafts in turn; each that passes is known to the next. `known` are existing questions."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._known = [_words(question) for question in known]

    def refusal(self, question: str, quote: str, document: Document) -> str:
        """Return why the draft is dropped, in words for a person; "" if it passes."""
        reason = _wrong_by_itself(question) or _wrong_on(question, quote, document)
        if reason:
            return reason
        words = _words(question)
        if any(_overlap(words, other) >= NEARLY_EQUAL for other in self._known):
            return "nearly the same question is there already"
        self._known.append(words)
        return ""


def _wrong_by_itself(question: str) -> str:
    if not question.strip():
        return "no question was found"
    if any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in question):
        return "the question holds control characters"
    if len(question) > LONGEST_QUESTION:
        return "the question is too long"
    if len(question.split()) < FEWEST_WORDS and question.isascii():
        return "the question is too short"
    if _POINTS_AT_THE_PAGE.search(question):
        return "the question speaks of the page instead of naming what it is about"
    return ""


def _wrong_on(question: str, quote: str, document: Document) -> str:
    title = _plain(document.title)
    if len(title.split()) >= FEWEST_TITLE_WORDS and f" {title} " in f" {_plain(question)} ":
        return "the question has the title of its page in it"
    if len(quote) > LONGEST_QUOTE:
        return "the quote is too long"
    if len(quote.split()) < FEWEST_WORDS and quote.isascii():
        return "the quote is too short to answer anything"
    if any(unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t" for character in quote):
        return "the quote holds control characters"
    if _spaced(quote) not in _spaced(document.text):
        return "the quote is not in the page"
    return ""


def _plain(text: str) -> str:
    """Return the words alone, in lower case."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _spaced(text: str) -> str:
    """Return the text with every run of white space as one space, since copied lines wrap differently."""
    return " ".join(text.split())


def _words(question: str) -> frozenset[str]:
    return frozenset(content_words(question)) or frozenset(_plain(question).split())


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return Jaccard's index."""
    return len(one & other) / len(one | other) if one or other else 0.0
