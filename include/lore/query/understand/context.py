"""The assistant's global context: a short text of the team's own that answers the easy questions without a search.

It is handed over and cited like any passage, so that an answer from it is checked like any other.

A language model chooses which questions it answers. Without one, a line of it is quoted only where that is certain: a
question for a place, person or time, all of whose words stand in that line, and more of them than the assistant's own
name has. Measured with all-MiniLM-L6-v2 on two contexts of seven lines: of 178 questions that their documents answer
none is taken from the search so, and of 27 that a context answers 9 are quoted; the others are searched for.
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
CERTAIN = 0.80
"""Kinship (cosine, and a quarter of the share of words that a line holds) from which a line is quoted."""
ABSURD = 0.30
"""Kinship below which a model that would answer from the context is not believed: 0 of 27 right choices, 61 of 178
wrong ones."""

_LOOKS_UP = re.compile(r"\W*(?:where|who|whom|which|when)\b", re.IGNORECASE)


class GlobalContext:
    """What the assistant knows of itself. `file` is the name of the declaration, which citations name."""

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
        """All of it."""
        return self._hit(self.text, 0)

    def holds(self, question: str) -> bool:
        """False where a question is so far from every line that no model's word for it is taken."""
        try:
            return self._nearest(question)[1] >= ABSURD
        except ModelError:  # nothing to judge by
            return True

    def line_for(self, question: str) -> Hit | None:
        """The line that answers the question, where that is certain without a language model."""
        wanted = set(content_words(question))
        if not _LOOKS_UP.match(question) or not wanted - set(content_words(self.name)):
            return None
        try:
            number, kinship = self._nearest(question)
        except ModelError:  # the search will say so
            return None
        line = self._lines[number]
        if kinship < CERTAIN or not wanted <= set(content_words(line)):
            return None
        return self._hit(line, self.text.index(line))

    def _nearest(self, question: str) -> tuple[int, float]:
        """The number of the line with the highest kinship, and that."""
        with self._lock:
            if self._vectors is None:
                self._vectors = self._embedder.embed_documents(self._lines)
        cosines = self._vectors @ self._embedder.embed_query(question)
        wanted = set(content_words(question))
        kinships = [
            float(cosine) + COVERAGE_WEIGHT * len(wanted & set(content_words(line))) / max(1, len(wanted))
            for cosine, line in zip(cosines, self._lines, strict=True)
        ]
        best = max(range(len(kinships)), key=kinships.__getitem__)
        return best, kinships[best]

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
