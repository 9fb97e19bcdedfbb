"""What the sources hold, so that it may stand in an answer: their links, and their code with all other words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from lore.query.verify.commands import KnownCode
from lore.query.verify.injection import gives_orders
from lore.query.verify.links import KnownLinks
from lore.types import Hit

__all__ = ["Known", "known_to"]

_CODE_SPAN = re.compile(r"((?<![`\\])(`+)(?!`).*?(?<!`)\2(?!`))")
_MENTION = re.compile(r"(?<![\w@/])@(?=([A-Za-z][\w.-]*\w))")
_CALLS_ALL = frozenset(("channel", "here", "everyone", "all", "group", "team"))


@dataclass(frozen=True, slots=True)
class Known:
    """The links and the code of the sources of one answer."""

    links: KnownLinks
    code: KnownCode

    def prose_cleaned(self, line: str) -> str:
        """The line with nobody called by an @ whom no source names so, and never everybody; and with no command that
        destroys or loads something, unless a source has it. Code spans stay as they are.
        """
        pieces = _CODE_SPAN.split(line)
        prose = range(0, len(pieces), 3)  # between them stand the code spans and their ticks, which are left alone
        for place in prose:
            pieces[place] = self.code.without_risks(_MENTION.sub(self._mention, pieces[place]))
        return "".join(piece for place, piece in enumerate(pieces) if place % 3 != 2)

    def _mention(self, match: re.Match[str]) -> str:
        return "@" if match[1].lower() not in _CALLS_ALL and self.code.holds(f"@{match[1]}") else ""


def known_to(passages: Sequence[Hit], question: str = "") -> Known:
    """What these passages hold that may stand in an answer; of those that give orders to a language model nothing."""
    texts = [hit.chunk.passage for hit in passages]
    honest = [not gives_orders(text) for text in texts]
    return Known(KnownLinks(compress(passages, honest)), KnownCode([question, *compress(texts, honest)]))
