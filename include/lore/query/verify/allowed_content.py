"""Content of the sources that an answer may repeat: links, code and names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from lore.query.verify.commands import AllowedCode
from lore.query.verify.injection import contains_injection
from lore.query.verify.links import AllowedLinks
from lore.types import Hit

__all__ = ["AllowedContent"]

_MENTION = re.compile(r"(?<![\w@/])@(?=([A-Za-z][\w.-]*\w))")
_GROUPS = frozenset(("channel", "here", "everyone", "all", "group", "team"))


@dataclass(frozen=True, slots=True)
class AllowedContent:
    """The links and the code that the sources of one answer have."""

    links: AllowedLinks
    code: AllowedCode

    @classmethod
    def of(cls, passages: Sequence[Hit], question: str = "") -> AllowedContent:
        """Return the content of these passages and of the question; passages with a prompt injection add nothing."""
        texts = [hit.chunk.passage for hit in passages]
        trusted = [not contains_injection(text) for text in texts]
        return cls(AllowedLinks(compress(passages, trusted)), AllowedCode([question, *compress(texts, trusted)]))

    def clean_prose(self, prose: str) -> str:
        """Return prose without mentions of people that no source mentions, and without risky commands of no source.

        Mentions of groups (`@channel`) never stay.
        """
        return self.code.remove_risky_commands(_MENTION.sub(self._mention, prose))

    def _mention(self, match: re.Match[str]) -> str:
        return "@" if match[1].lower() not in _GROUPS and self.code.has(f"@{match[1]}") else ""
