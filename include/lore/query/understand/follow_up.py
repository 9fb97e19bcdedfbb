"""Completion of a follow-up without a language model, by the words of earlier questions.

The rules read English, and serve "and in version 3?", "why?" and "how do I stop it?". In another language a message is
completed only if it begins with "and", or has no content word. A question that names its subject stays
unchanged, because the earlier questions often have another subject.
"""

from __future__ import annotations

import re

from lore.languages.detection import stems_of
from lore.query.content_words import content_words
from lore.query.understand.small_talk import is_small_talk
from lore.types import Question

__all__ = ["restore_subject", "standalone_question"]

MAX_BORROWED = 12
"""Most words borrowed from earlier questions: a pasted log would outweigh the present one."""
MAX_WORDS = 14
"""A longer message names its subject; "it" and "that" then refer to something inside it."""

MIN_ANTECEDENT_WORDS = 4
"""With this many content words before it, a pronoun refers to one of them."""
MIN_CLAUSE_WORDS = 2
"""With this many content words in a clause before its own, a pronoun refers to one of them."""
MAX_FRAGMENT_WORDS = 3
"""Content words after "why" or "in" that are too few for a search."""

_WORD = re.compile(r"[^\W_](?:[\w.+-]*[^\W_])?")
_PRONOUN = re.compile(
    r"\b(?:it(?!['’]s\b)|its|this|these|those|they|them|their|there|one|ones|here|both|either|neither|instead|otherwise|"
    r"else|that(?=\W*$|[?!.,;]|\s+(?:is|was|one|up|on|off|in|for|with|too|again|work|mean)\b)|"
    r"the (?:same|others?|former|latter|first|second|last|previous)(?=\W*$|[?!.,;]))\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\b(?:is|are|was|were)\s+there\s+(?:a|an|any|some)\b", re.IGNORECASE)
"""Words that look like pronouns but refer to nothing: "is there a way"."""
_CONTINUATION = re.compile(
    r"\W*(?:and|but|or|also|(?:what|how) about|what else|how come|elaborate|go on|continue)\b", re.IGNORECASE
)
_FRAGMENT = re.compile(r"\W*(?:why|so|then|what if|explain|more|in|on|for|with|without|from|instead)\b", re.IGNORECASE)
_AND = re.compile(
    r"\W*(?:(?:und|aber|oder|auch|warum|wieso|et|mais|ou|pourquoi|y|pero|por qué|e|ma|en|maar|waarom|i|ale|a|и|но"
    r"|почему)\b"
    r"|では|じゃあ|それ|そして|また|なぜ|他に|那|还有|为什么|그럼|그리고|왜)",
    re.IGNORECASE,
)
"""Beginnings of follow-ups in other languages."""
_JOIN = re.compile(r"\b(?:and|or|but|because|when|if)\b", re.IGNORECASE)
_DEFINITION = re.compile(r"\W*(?:what|who)\s*(?:is|are|['’]s|does|do)\b", re.IGNORECASE)


def standalone_question(question: Question) -> str:
    """Return the question, completed by content words of the user's earlier questions if it depends on them."""
    borrowed = _borrowed_words(question)
    return f"{question.text} {' '.join(borrowed)}" if borrowed else question.text


def restore_subject(rewritten: str, question: Question) -> str:
    """Return a language model's rewritten question, with the conversation's subject added if it was lost.

    A message with a pronoun, or with at most one content word ("which strategies are there?"), has its subject in the
    conversation. A rewriting that lacks most of those words has lost it. A message that only begins with "and" may have
    another subject.
    """
    borrowed = _borrowed_words(question)
    if len(set(content_words(question.text))) > 1 and not _has_pronoun(question.text):
        return rewritten
    present = set(content_words(rewritten))
    lost = [word for word in borrowed if not set(content_words(word)) <= present]
    return f"{rewritten} {' '.join(lost)}" if 2 * len(lost) > len(borrowed) else rewritten


def _borrowed_words(question: Question) -> list[str]:
    """Return the content words of earlier questions that the question depends on and lacks.

    If the user asked nothing before, they come from the messages of others, oldest first: a conversation names its
    subject at its beginning.
    """
    borrowed = list[str]()
    if not _depends_on_history(question.text):
        return borrowed
    seen = set(content_words(question.text))
    own = [one for one in question.history if one.role == "user" and not is_small_talk(one.content)]
    others = [message for message in question.history if message.role == "other"]
    for message in (*reversed(own), *others):
        for word in _WORD.findall(message.content):
            stems = set(content_words(word))
            if stems and not stems <= seen and len(borrowed) < MAX_BORROWED:
                seen |= stems
                borrowed.append(word)
        if not _depends_on_history(message.content):
            break
    return borrowed


def _depends_on_history(text: str) -> bool:
    """Return True if a message depends on the conversation before it."""
    if len(_WORD.findall(text)) > MAX_WORDS:
        return False
    language = stems_of(text)
    count = len(set(content_words(text, language)))
    if language != "en":
        return count == 0 or (count <= MAX_FRAGMENT_WORDS and bool(_AND.match(text)))
    if _CONTINUATION.match(text) or (count <= MAX_FRAGMENT_WORDS and _FRAGMENT.match(text)):
        return True
    if count <= 1 and not _DEFINITION.match(text):
        return True
    return _has_pronoun(text)


def _has_pronoun(text: str) -> bool:
    """Return True if a message has a pronoun that refers to nothing in the message itself."""
    text = _PLACEHOLDER.sub(" ", text)
    pronoun = _PRONOUN.search(text)
    if pronoun is None:
        return False
    before = text[: pronoun.start()]
    clause = max((join.start() for join in _JOIN.finditer(before)), default=0)
    return not (
        len(set(content_words(before))) >= MIN_ANTECEDENT_WORDS
        or len(set(content_words(before[:clause]))) >= MIN_CLAUSE_WORDS
    )
