"""The lines of passages that answer a question, chosen without a language model.

A unit is a sentence, a list item, a table row or a code block. Its score adds up the cosine of the question and the
unit below its headings, the weighted share of the question's words that it contains, and a little for the form that
the question asks for: a number, a command, a definition. `excerpts` adds what a reader needs to understand the unit.

Another excerpt follows if its unit scores nearly as well, or has words of the question that are still missing.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from lore.languages.detection import stems_of
from lore.query.answer.blocks import ASKS, blocks, sentences
from lore.query.answer.excerpts import Excerpt, QuotablePassage, Unit, is_question, make_excerpt
from lore.query.content_words import content_words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["find_evidence"]

Embed: TypeAlias = "Callable[[Sequence[str]], npt.NDArray[np.float32]]"
"""Texts → unit vectors, one a row; the first text is the question."""

MAX_PASSAGES = 5
MAX_EMBEDDED = 32
"""Units compared by meaning: those with most words of the question, and the first of each passage."""
MAX_EXCERPTS = 3

COVERAGE_WEIGHT = 0.6
CONTEXT_WEIGHT = 0.5
"""Weight of a word that only the headings or the title contain, relative to one in the unit."""
FORM_GAIN = 0.1
NAME_GAIN = 0.15
"""Gain of a unit with a name of the question, such as `max_active_runs`; twice that if it defines the name."""
QUESTION_LOSS = 0.2
"""Loss of a unit that is a question, or part of a paragraph that ends with one: its answer comes after it."""
RANK_LOSS = 0.03
"""Loss for each passage ranked before the unit's own."""
AS_GOOD = 0.9
"""Share of the best score from which a unit is a second answer in its own right."""
WORTH_ADDING = 0.8
"""Share of the best score that a unit with missing words needs."""
MISSING_SHARE = 0.3
"""Share of the question's weight that such a unit must add."""

CROWDED = 0.6
"""Least cosine of several units from which an embedder gives all texts high ones, as e5 does: it counts as 0 then."""
ENOUGH_UNITS = 8

_NUMBER_FORM = re.compile(
    r"\b(?:how (?:many|much|long|often|large|big|far|old)|when|default|max|min|limit|port|versions?|dates?|cost"
    r"|wie (?:viele?|lange|oft|groß|hoch|teuer)|wann)"
    r"|何[日回分秒個人時年月件]|いくつ|いくら|いつ|どのくらい|どれくらい|ポート",
    re.I,
)
_COMMAND_FORM = re.compile(
    r"\bhow (?:do|can|to|should|is|are)\b|\b(?:command|function|option|setting)\b"
    r"|\bwie (?:kann|muss|soll|wird|werden)\b|\b(?:befehl|kommando)\b|どうすれば|どうやって|方法|コマンド",
    re.I,
)
_MEANING_FORM = re.compile(r"\bwhat (?:does|do|is|are)\b|\bmeans?\b", re.I)
_NAME = re.compile(r"(?<!\w)(?:--?\w[\w-]*|\w+(?:[_.]\w+)+|[a-z]+[A-Z]\w*|[A-Z]\w*[a-z][A-Z]\w*)(?!\w)")
_TERM = re.compile(r"[\s>*+\-\d.`\"|]*([^:|—–]{2,60}?)[`*\"]*\s*(?::|—|–|\||\bis\b|\bare\b|\bmeans\b)")
_STEPS = re.compile(r"\s*(?:how (?:do|can|to|should)|what (?:do|must|should) i)\b", re.I)
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"`|^\s{4}", re.MULTILINE)


def find_evidence(question: str, sources: Sequence[QuotablePassage], embed: Embed | None = None) -> tuple[Excerpt, ...]:
    """Choose the excerpts that answer the question, the best first; empty only if no source has words.

    `embed` gives the vectors of the question and of units; without it, words alone decide.
    """
    language = stems_of(question)
    units = [unit for number, source in enumerate(sources[:MAX_PASSAGES]) for unit in _units(number, source, language)]
    if not units:
        return ()
    weights = _weights(question, units, language)
    scores = _scores(question, units, sources, weights, embed)
    excerpts: list[Excerpt] = []
    missing = frozenset(weights)
    best = max(scores)
    for at in sorted(range(len(units)), key=lambda at: -scores[at]):
        added = _share(weights, missing & (units[at].words | units[at].context))
        as_good = len(excerpts) < 2 and scores[at] >= AS_GOOD * best
        if len(excerpts) == MAX_EXCERPTS or scores[at] < WORTH_ADDING * best:
            break
        asks = is_question(units[at], sources[units[at].source].text)
        if excerpts and (asks or (not as_good and added < MISSING_SHARE)):
            continue
        excerpt = make_excerpt(units[at], units, scores, sources, steps=bool(_STEPS.match(question)))
        if not any(excerpt.overlaps(other) for other in excerpts):
            excerpts.append(excerpt)
            missing -= _shown(excerpt, sources, language)
    return tuple(excerpts)


def _units(number: int, source: QuotablePassage, language: str) -> Iterator[Unit]:
    """Yield the units of a passage; the words of a question count as context of the two units after it."""
    place = frozenset(content_words(source.place, language))
    asked: list[tuple[int, frozenset[str]]] = []
    for block in blocks(source.text):
        context = place.union(*(content_words(name, language) for name in block.headings))
        spans = [(block.start, block.end)]
        if block.kind == "paragraph":
            spans = sentences(source.text, block.start, block.end)
        elif block.kind == "row" and block.lead:
            context = context.union(content_words(source.text[slice(*block.lead)], language))
        for start, end in spans:
            words = frozenset(content_words(source.text[start:end], language))
            if words:
                asked = [(left - 1, others) for left, others in asked if left]
                yield Unit(number, block, start, end, words, context.union(*(others for _, others in asked)))
            if block.asks or source.text[start:end].endswith(ASKS):
                asked.append((2, words))


def _weights(question: str, units: Sequence[Unit], language: str) -> dict[str, float]:
    """Weigh each word of the question by how few units contain it; a word that none contains weighs nothing."""
    counts = Counter(word for unit in units for word in unit.words | unit.context)
    wanted = {word: counts[word] for word in content_words(question, language)}
    return {word: math.log(1 + len(units) / count) for word, count in wanted.items() if count}


def _scores(
    question: str,
    units: Sequence[Unit],
    sources: Sequence[QuotablePassage],
    weights: dict[str, float],
    embed: Embed | None,
) -> list[float]:
    coverage = [_coverage(unit, weights) for unit in units]
    gains = _form_gains(question, units, sources, weights)
    scores = [
        COVERAGE_WEIGHT * share + gain - RANK_LOSS * unit.source
        for share, gain, unit in zip(coverage, gains, units, strict=True)
    ]
    if embed is None:
        return scores
    compared = _to_embed(units, coverage)
    vectors = embed([question, *(_in_context(units[at], sources) for at in compared)])
    cosines = dict(zip(compared, map(float, vectors[1:] @ vectors[0]), strict=True))
    least = min(cosines.values())
    base = least if least > CROWDED and len(cosines) >= ENOUGH_UNITS else 0.0
    return [score + (cosines.get(at, least) - base) / (1 - base) for at, score in enumerate(scores)]


def _coverage(unit: Unit, weights: dict[str, float]) -> float:
    """Return the weighted share of the question's words in the unit; those in its headings count less."""
    around = unit.context - unit.words
    return _share(weights, unit.words) + CONTEXT_WEIGHT * _share(weights, around)


def _share(weights: dict[str, float], words: frozenset[str]) -> float:
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in words) / total if total else 0.0


def _form_gains(
    question: str, units: Sequence[Unit], sources: Sequence[QuotablePassage], weights: dict[str, float]
) -> Iterator[float]:
    """Yield each unit's gain for the form that the question asks for, and the loss of questions."""
    wants_number, wants_command = _NUMBER_FORM.search(question), _COMMAND_FORM.search(question)
    wants_meaning = bool(_MEANING_FORM.search(question))
    names = set(_NAME.findall(question))
    for unit in units:
        text = sources[unit.source].text[unit.start : unit.end]
        gain = 0.0
        if wants_number and _DIGIT.search(text):
            gain += FORM_GAIN
        if wants_command and (unit.block.kind == "code" or _CODE.search(text)):
            gain += FORM_GAIN
        if (
            wants_meaning
            and (term := _TERM.match(text))
            and weights.keys() & set(content_words(term[1], stems_of(question)))
        ):
            gain += FORM_GAIN
        if is_question(unit, sources[unit.source].text):
            gain -= QUESTION_LOSS
        yield gain + sum(NAME_GAIN * (1 + (wants_meaning and _begins(text, name))) for name in names if name in text)


def _begins(text: str, name: str) -> bool:
    return text.lstrip(' *-+`>"|').startswith(name)


def _to_embed(units: Sequence[Unit], coverage: Sequence[float]) -> list[int]:
    firsts = {unit.source: at for at, unit in reversed(list(enumerate(units)))}.values()
    best = sorted(range(len(units)), key=lambda at: -coverage[at])
    return sorted({*firsts, *best[:MAX_EMBEDDED]})


def _in_context(unit: Unit, sources: Sequence[QuotablePassage]) -> str:
    """Return the unit below its title, headings and table header: alone, a row or item says too little."""
    source = sources[unit.source]
    header = source.text[slice(*unit.block.lead)] if unit.block.kind == "row" and unit.block.lead else ""
    lines = (source.place, *unit.block.headings, header, source.text[unit.start : unit.end])
    return "\n".join(line for line in lines if line)


def _shown(excerpt: Excerpt, sources: Sequence[QuotablePassage], language: str) -> frozenset[str]:
    source = sources[excerpt.source]
    texts = (source.place, *excerpt.headings, *(source.text[slice(*piece)] for piece in excerpt.pieces))
    return frozenset(word for text in texts for word in content_words(text, language))
