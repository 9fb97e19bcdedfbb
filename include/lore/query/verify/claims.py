"""Claims of an answer: sentences that their cited passages don't support, or misquote, get a mark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lore.markdown import CODE_SPAN
from lore.query.content_words import content_words
from lore.query.verify.citation_syntax import CHECKED
from lore.query.verify.commands import AllowedCode
from lore.query.verify.support import SupportChecker

__all__ = ["LEGEND", "MARK", "ClaimChecker", "ClaimFindings", "unknown_names_note"]

MARK = "(?)"
"""The mark after the citation of a sentence that its passage doesn't support."""
LEGEND = f"*{MARK} The source does not clearly say this: check it before you rely on it.*"
MIN_CLAIM_WORDS = 2
MIN_UNCITED_WORDS = 3
"""A sentence of fewer content words claims nothing, or nothing that needs a source."""
MIN_QUOTED_WORDS = 4
"""Shorter quotations are names, labels and mentioned words."""
MAX_REPORTED_CHARACTERS = 200

_CONTAINERS = re.compile(r"^\s*(?:>\s*|[-*+]\s+|\d{1,9}[.)]\s+)*")
_QUOTATION = re.compile(r"“([^“”]+)[”“]|„([^„“”]+)[“”]|«([^«»]+)»|(?<![\w\"])\"([^\"]+)\"(?!\w)")
_ELLIPSIS = re.compile(r"\s*(?:…|\.\.\.|\[…\]|\[\.\.\.\])\s*")
_NO_CLAIM = re.compile(r"#{1,6}\s|\|?[\s:|-]+\|?$|\*[^*]+\*$|\([^()]+\)$")


@dataclass
class ClaimFindings:
    """Findings about the sentences of an answer."""

    unsupported: list[str] = field(default_factory=list)
    misquoted: list[str] = field(default_factory=list)
    uncited: int = 0
    cited: int = 0
    supported: int = 0


class ClaimChecker:
    """Checks the sentences of one answer. `texts` are the passages, by number from 1, and `allowed` is their code."""

    def __init__(self, support: SupportChecker, texts: Sequence[str], question: str, allowed: AllowedCode) -> None:
        self._support = support
        self._texts = [_normalized(text) for text in texts]
        self._question = _normalized(question)
        self._allowed = allowed
        self.findings = ClaimFindings()

    def check(self, sentence: str) -> str:
        """Return a cleaned sentence or line, with a mark if it needs one."""
        found = map(int, CHECKED.findall(CODE_SPAN.sub("", sentence)))
        numbers = [number for number in found if 1 <= number <= len(self._texts)]
        marked = self._mark_code(sentence)
        bare = " ".join(CHECKED.sub("", _CONTAINERS.sub("", sentence)).split())
        if _NO_CLAIM.match(bare) or bare.rstrip("*_").endswith((":", "?", "：", "？")):
            return marked
        misquoted = list(self._misquoted(sentence, bare, numbers))
        self.findings.misquoted.extend(misquoted)
        words = len(set(content_words(bare)))
        is_claim = words >= MIN_CLAIM_WORDS and bool(numbers)
        unsupported = is_claim and not self._support.supports(bare, numbers)
        self.findings.cited += is_claim
        self.findings.supported += is_claim and not unsupported
        if unsupported:
            self.findings.unsupported.append(bare[:MAX_REPORTED_CHARACTERS])
        if words >= MIN_UNCITED_WORDS and not numbers:
            self.findings.uncited += 1
        return _marked(marked) if unsupported or misquoted else marked

    def _mark_code(self, sentence: str) -> str:
        """Mark names in code spans that no source has."""

        def mark(span: re.Match[str]) -> str:
            if self._allowed.allows_inline(span[2]) is not None:
                return span[0]
            self.findings.unsupported.append(span[0][:MAX_REPORTED_CHARACTERS])
            return f"{span[0]} {MARK}"

        return CODE_SPAN.sub(mark, sentence)

    def _misquoted(self, sentence: str, bare: str, numbers: Sequence[int]) -> Iterable[str]:
        cited = [self._texts[number - 1] for number in numbers] or self._texts
        prose = CODE_SPAN.sub(" ", bare)
        quotations = [next(filter(None, match.groups())) for match in _QUOTATION.finditer(prose)]
        if sentence.lstrip().startswith(">"):
            quotations = [bare]
        for quotation in quotations:
            pieces = [_normalized(piece) for piece in _ELLIPSIS.split(quotation)]
            if len(" ".join(pieces).split()) < MIN_QUOTED_WORDS:
                continue
            if not all(any(piece in text for text in (*cited, self._question)) for piece in pieces):
                yield quotation[:MAX_REPORTED_CHARACTERS]


def unknown_names_note(names: Sequence[str]) -> str:
    """Return the line below a code block that lists names that no source has."""
    return f"*{MARK} In no source: {', '.join(f'`{name}`' for name in names)}.*"


def _marked(sentence: str) -> str:
    """Insert the mark after the last citation, else before the full stop."""
    without_code = CODE_SPAN.sub(lambda span: " " * len(span[0]), sentence)
    ends = [match.end() for match in CHECKED.finditer(without_code)]
    end = ends[-1] if ends else len(sentence.rstrip().rstrip(".!?。！？|").rstrip())
    return f"{sentence[:end]} {MARK}{sentence[end:]}"


def _normalized(text: str) -> str:
    """Normalize a text for comparing quotations: one case, no markup, no punctuation at its ends."""
    text = re.sub(r"[*_`\\]|\]\([^)\s]*\)|\[", "", text)
    text = text.translate(str.maketrans("’‘“”„«»", '\'\'"""""'))
    return " ".join(text.lower().split()).strip(" .,;:!?…\"'")
