"""Summaries without a language model: the sentences of a passage that say most of what it says.

The choice is SumBasic's (A. Nenkova and L. Vanderwende, "The Impact of Frequency on Summarization", MSR-TR-2005-101):
take the sentence whose words are the most probable in the passage, square the probabilities of the words that it has
just said, and go on until the summary is full. The passage's first sentence is always taken, because documentation
says first what it is about. Sentences stay verbatim and in their order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from include.lore.stemming import stem
from include.lore.types import Chunk

__all__ = ["ExtractiveSummarizer"]

SUMMARY_CHARACTERS = 900
"""With title and headings that is what the local embedder reads to its end."""
LONGEST_SENTENCE = 300
LONGEST_WORD = 60

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}).*?(?:^[ \t]*(?:`{3,}|~{3,})[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?。！？][\"')\]]*(?=\s)|(?=\n)|\Z)")
_BEFORE, _BEHIND = " \t>#*+|-=:", " \t|*"
"""The signs that lines of Markdown begin and end with."""
_WORD = re.compile(r"\w\w+")
_STOP_WORD_LIST = """
about after all also am an and any are as at be because been before being below between both but by can cannot could
did do does during each for from further had has have he her here him his how if in into is it its itself just me more
most must my no nor not of off on once only or other our out over own same she should so some such than that the their
them then there these they this those through to too under until up us use used using very was we were what when where
which while who why will with would you your
"""
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())


class ExtractiveSummarizer:
    """Sentences of the passage itself; costs nothing and says the same each time."""

    name = "extractive"

    def summarize(self, chunks: Sequence[Chunk]) -> list[str]:
        """One summary for each passage, "" for one that is not longer than its summary would be."""
        return [_summary(chunk.text) for chunk in chunks]


def _summary(text: str) -> str:
    if len(text) <= SUMMARY_CHARACTERS:
        return ""
    sentences = _sentences(text)
    chosen: set[int] = set()
    words = [_words(sentence) for sentence in sentences]
    counted = Counter(word for said in words for word in said)
    total = sum(counted.values())
    weights = {word: count / total for word, count in counted.items()}
    left = SUMMARY_CHARACTERS
    candidates = {number for number, said in enumerate(words) if said}

    def weight(number: int) -> tuple[float, int]:
        return fmean(weights[word] for word in words[number]), -number

    lead = number = min(candidates, default=None)
    while number is not None:
        chosen.add(number)
        left -= len(sentences[number]) + 1
        for word in set(words[number]) if number != lead else ():  # the lead names the subject, which is to be told of
            weights[word] **= 2
        candidates = {other for other in candidates - {number} if len(sentences[other]) <= left}
        number = max(candidates, key=weight, default=None)
    return " ".join(sentences[number] for number in sorted(chosen))


def _sentences(text: str) -> list[str]:
    """The sentences and headings, each once, without code and without the signs that lines begin with."""
    found = (match[0].lstrip(_BEFORE).rstrip(_BEHIND) for match in _SENTENCE.finditer(_FENCE.sub("\n", text)))
    return list(dict.fromkeys(sentence[:LONGEST_SENTENCE] for sentence in found if sentence))


def _words(sentence: str) -> list[str]:
    words = (word[:LONGEST_WORD].lower() for word in _WORD.findall(sentence))
    return [stem(word) for word in words if word not in _STOP_WORDS]
