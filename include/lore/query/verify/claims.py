"""What the sentences of an answer claim: each is held against the passages that it cites, and marked where they do not
bear it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lore.query.content_words import content_words
from lore.query.verify.citation_syntax import CHECKED
from lore.query.verify.commands import KnownCode
from lore.query.verify.support import Support

__all__ = ["LEGEND", "MARK", "Review", "Statements", "mark_names"]

MARK = "(?)"
"""Stands after the citation of a sentence that its passage does not bear out. A citation before it stays a citation."""
LEGEND = f"*{MARK} The source does not clearly say this: check it before you rely on it.*"
FEWEST_WORDS = 2
FEWEST_UNCITED_WORDS = 3
"""A sentence of fewer content words states nothing, or nothing that needs a source."""
FEWEST_QUOTED_WORDS = 4
"""Shorter quotations are names, labels and words that are talked about."""
LONGEST_TOLD = 200

_CODE_SPAN = re.compile(r"(?<![`\\])(`+)(?!`)(.*?)(?<!`)\1(?!`)")
_MARKERS = re.compile(r"^\s*(?:>\s*|[-*+]\s+|\d{1,9}[.)]\s+)*")
_QUOTATION = re.compile(r"“([^“”]+)[”“]|„([^„“”]+)[“”]|«([^«»]+)»|(?<![\w\"])\"([^\"]+)\"(?!\w)")
_WIDE_WORDS = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]{4}")
_LEFT_OUT = re.compile(r"\s*(?:…|\.\.\.|\[…\]|\[\.\.\.\])\s*")
_NO_STATEMENT = re.compile(r"#{1,6}\s|\|?[\s:|-]+\|?$|\*[^*]+\*$|\([^()]+\)$")


@dataclass
class Review:
    """What was found while the sentences were read."""

    unsupported: list[str] = field(default_factory=list)
    misquoted: list[str] = field(default_factory=list)
    uncited: int = 0
    cited: int = 0
    supported: int = 0


class Statements:
    """Reviews the sentences of one answer. `texts` are the passages, by number from 1, and `known` is their code."""

    def __init__(self, support: Support, texts: Sequence[str], question: str, known: KnownCode) -> None:
        self._support = support
        self._texts = [_plain(text) for text in texts]
        self._question = _plain(question)
        self._known = known
        self.review = Review()

    def read(self, sentence: str) -> str:
        """A sentence or line that was checked already, with a mark where it needs one."""
        found = map(int, CHECKED.findall(_CODE_SPAN.sub("", sentence)))
        numbers = [number for number in found if 1 <= number <= len(self._texts)]
        marked = self._mark_code(sentence)
        bare = " ".join(CHECKED.sub("", _MARKERS.sub("", sentence)).split())
        if _NO_STATEMENT.match(bare) or bare.rstrip("*_").endswith((":", "?", "：", "？")):
            return marked
        misquoted = list(self._misquoted(sentence, bare, numbers))
        self.review.misquoted.extend(misquoted)
        words = FEWEST_UNCITED_WORDS if _WIDE_WORDS.search(bare) else len(set(content_words(bare)))
        states = words >= FEWEST_WORDS and bool(numbers)
        unsupported = states and not self._support.supports(bare, numbers)
        self.review.cited += states
        self.review.supported += states and not unsupported
        if unsupported:
            self.review.unsupported.append(bare[:LONGEST_TOLD])
        if words >= FEWEST_UNCITED_WORDS and not numbers:
            self.review.uncited += 1
        return _marked(marked) if unsupported or misquoted else marked

    def _mark_code(self, sentence: str) -> str:
        """Mark names in code spans that are in no source."""

        def mark(span: re.Match[str]) -> str:
            if self._known.allows_inline(span[2]) is not None:
                return span[0]
            self.review.unsupported.append(span[0][:LONGEST_TOLD])
            return f"{span[0]} {MARK}"

        return _CODE_SPAN.sub(mark, sentence)

    def _misquoted(self, sentence: str, bare: str, numbers: Sequence[int]) -> Iterable[str]:
        cited = [self._texts[number - 1] for number in numbers] or self._texts
        prose = _CODE_SPAN.sub(" ", bare)
        quotations = [next(filter(None, match.groups())) for match in _QUOTATION.finditer(prose)]
        if sentence.lstrip().startswith(">"):
            quotations = [bare]
        for quotation in quotations:
            pieces = [_plain(piece) for piece in _LEFT_OUT.split(quotation)]
            if len(" ".join(pieces).split()) < FEWEST_QUOTED_WORDS:
                continue
            if not all(any(piece in text for text in (*cited, self._question)) for piece in pieces):
                yield quotation[:LONGEST_TOLD]


def mark_names(names: Sequence[str]) -> str:
    """A line below a code block that names what is in no source."""
    return f"*{MARK} In no source: {', '.join(f'`{name}`' for name in names)}.*"


def _marked(sentence: str) -> str:
    """The mark stands after the last citation, else at the end before the full stop."""
    ends = [match.end() for match in CHECKED.finditer(sentence)]
    end = ends[-1] if ends else len(sentence.rstrip().rstrip(".!?。！？|").rstrip())
    return f"{sentence[:end]} {MARK}{sentence[end:]}"


def _plain(text: str) -> str:
    """A text as quotations are compared: words in one case, without markup and punctuation at its ends."""
    text = re.sub(r"[*_`\\]|\]\([^)\s]*\)|\[", "", text)
    text = text.translate(str.maketrans("’‘“”„«»", '\'\'"""""'))
    return " ".join(text.lower().split()).strip(" .,;:!?…\"'")
