"""The assistant's global context: a short text by the team that answers easy questions without a search.

The model gets and cites it like any passage, so that an answer from it is checked like any other.

A language model chooses the questions that it answers. Without one, a line is quoted only for a question about a place,
person or time. The line must have all of the question's words, which must be more than the assistant's name. Measured
with all-MiniLM-L6-v2 on two contexts of seven lines: none of 178 questions for their documents is kept from the search.
Of 27 questions for a context, 9 are quoted and the others searched for.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

from lore.errors import ModelError
from lore.protocols import Embedder
from lore.query.content_words import content_words
from lore.types import Chunk, Hit

if TYPE_CHECKING:
    from lore.types import Matrix

__all__ = ["GlobalContext"]

SOURCE_ID = "assistant"
COVERAGE_WEIGHT = 0.25
MIN_LINE_RELEVANCE = 0.80
"""Relevance (cosine plus a quarter of the share of words that a line has) from which a line is quoted."""
MIN_CONTEXT_RELEVANCE = 0.30
"""Relevance below which a model's choice of the context is rejected: 0 of 27 right choices and 61 of 178 wrong ones."""

_LOOKUP = re.compile(r"\W*(?:where|who|whom|which|when)\b", re.IGNORECASE)


class GlobalContext:
    """The team's description of its assistant. Citations refer to it by `file`, the name of its declaration."""

    def __init__(self, name: str, text: str, embedder: Embedder, *, file: str = "assistant.yaml") -> None:
        self.name = name
        self.text = text.strip()
        self._file = file
        self._embedder = embedder
        self._lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        self._vectors: Matrix | None = None
        self._lock = threading.Lock()

    @property
    def passage(self) -> Hit:
        """The whole context as one passage."""
        return self._hit(self.text, 0)

    def may_answer(self, question: str) -> bool:
        """Return False if the question is so far from every line that no model's choice of the context is believed."""
        try:
            return self._nearest(question)[1] >= MIN_CONTEXT_RELEVANCE
        except ModelError:  # without vectors there is nothing to judge by
            return True

    def line_for(self, question: str) -> Hit | None:
        """Return the line that answers the question, if that is certain without a language model."""
        wanted = set(content_words(question))
        if not _LOOKUP.match(question) or not wanted - set(content_words(self.name)):
            return None
        try:
            number, relevance = self._nearest(question)
        except ModelError:  # the search reports it
            return None
        line = self._lines[number]
        if relevance < MIN_LINE_RELEVANCE or not wanted <= set(content_words(line)):
            return None
        return self._hit(line, self.text.index(line))

    def _nearest(self, question: str) -> tuple[int, float]:
        """Return the index and the relevance of the most relevant line."""
        with self._lock:
            if self._vectors is None:
                self._vectors = self._embedder.embed_documents(self._lines)
        cosines = self._vectors @ self._embedder.embed_query(question)
        wanted = set(content_words(question))
        relevances = [
            float(cosine) + COVERAGE_WEIGHT * len(wanted & set(content_words(line))) / max(1, len(wanted))
            for cosine, line in zip(cosines, self._lines, strict=True)
        ]
        best = max(range(len(relevances)), key=relevances.__getitem__)
        return best, relevances[best]

    def _hit(self, text: str, start: int) -> Hit:
        document_id = f"{SOURCE_ID}:{self._file}"
        chunk = Chunk(
            id=str(uuid5(NAMESPACE_URL, f"{document_id}\n{text}")),
            document_id=document_id,
            source_id=SOURCE_ID,
            url="",
            title=self.name,
            headings=(),
            text=text,
            position=0,
            start=start,
            end=start + len(text),
        )
        return Hit(chunk, 1.0)
