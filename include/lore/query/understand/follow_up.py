"""A follow-up as a question of its own, without a language model: what it leaves out comes from the questions before.

The rule reads English. It is meant for "and in version 3?", "why?" and "how do I stop it?", and leaves a question that
names what it is about as it is: what was asked before is then about something else as often as not.
"""

from __future__ import annotations

import re

from lore.query.content_words import content_words
from lore.types import Question

__all__ = ["stand_alone", "with_subject"]

MAX_BORROWED = 12
"""Words that are borrowed from the questions before: a pasted log would outweigh what is asked now."""
MAX_WORDS = 14
"""A longer message says what it is about; "it" and "that" then mean something inside it."""

SELF_CONTAINED = 4
"""With so many content words before it, a pronoun means one of them."""
FRAGMENT = 3
"""So many content words or fewer, after "why" or "in": too little to be searched for alone."""

_WORD = re.compile(r"[^\W_](?:[\w.+-]*[^\W_])?")
_PRONOUN = re.compile(
    r"\b(?:it(?!['’]s\b)|its|this|these|those|they|them|their|there|one|ones|here|both|either|neither|instead|otherwise|"
    r"else|that(?=\W*$|[?!.,;]|\s+(?:is|was|one|up|on|off|in|for|with|too|again|work|mean)\b)|"
    r"the (?:same|others?|former|latter|first|second|last|previous)(?=\W*$|[?!.,;]))\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\b(?:is|are|was|were)\s+there\s+(?:a|an|any|some)\b", re.IGNORECASE)
"""Words that look like pronouns and stand for nothing: "is there a way"."""
_GOES_ON = re.compile(
    r"\W*(?:and|but|or|also|(?:what|how) about|what else|how come|elaborate|go on|continue)\b", re.IGNORECASE
)
_FRAGMENT = re.compile(r"\W*(?:why|so|then|what if|explain|more|in|on|for|with|without|from|instead)\b", re.IGNORECASE)
_DEFINITION = re.compile(r"\W*(?:what|who)\s*(?:is|are|['’]s|does|do)\b", re.IGNORECASE)


def stand_alone(question: Question) -> str:
    """The question, with the content words of what the user asked before where it cannot be understood without.

    Without history, and where the question says itself what it is about, it is returned as it is.
    """
    borrowed = _borrowed(question)
    return f"{question.text} {' '.join(borrowed)}" if borrowed else question.text


def with_subject(said: str, question: Question) -> str:
    """What a language model made of a question, with the words that it forgot of what the conversation is about.

    A message with a pronoun, or of one content word or none ("which strategies are there?"), gets its subject from
    before. A complete question that lacks most of those words has lost it. One that only begins with "and" may be about
    something else.
    """
    borrowed = _borrowed(question)
    if len(set(content_words(question.text))) > 1 and not _has_pronoun(question.text):
        return said
    there = set(content_words(said))
    lost = [word for word in borrowed if not set(content_words(word)) <= there]
    return f"{said} {' '.join(lost)}" if 2 * len(lost) > len(borrowed) else said


def _borrowed(question: Question) -> list[str]:
    """The content words of what was asked before, where the question leans on them and does not have them.

    Where the user asked nothing before, they come from what others wrote, from its beginning on: there a conversation
    says what it is about.
    """
    borrowed = list[str]()
    if not _leans(question.text):
        return borrowed
    seen = set(content_words(question.text))
    own = [message for message in question.history if message.role == "user"]
    others = [message for message in question.history if message.role == "other"]
    for message in (*reversed(own), *others):
        for word in _WORD.findall(message.content):
            stems = set(content_words(word))
            if stems and not stems <= seen and len(borrowed) < MAX_BORROWED:
                seen |= stems
                borrowed.append(word)
        if not _leans(message.content):
            break
    return borrowed


def _leans(text: str) -> bool:
    """Whether a message leans on what was said before it."""
    if len(_WORD.findall(text)) > MAX_WORDS:
        return False
    meaning = len(set(content_words(text)))
    if _GOES_ON.match(text) or (meaning <= FRAGMENT and _FRAGMENT.match(text)):
        return True
    if meaning <= 1 and not _DEFINITION.match(text):
        return True
    return _has_pronoun(text)


def _has_pronoun(text: str) -> bool:
    """Whether a message has a pronoun that stands for nothing in the message itself."""
    text = _PLACEHOLDER.sub(" ", text)
    pronoun = _PRONOUN.search(text)
    return pronoun is not None and len(set(content_words(text[: pronoun.start()]))) < SELF_CONTAINED
