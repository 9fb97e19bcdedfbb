"""Hits for the tests of rerankers."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

import numpy as np
from lore.types import Chunk, Hit


def make_hit(page: str, text: str, *, vector: np.ndarray | None = None, score: float = 0.0) -> Hit:
    chunk = Chunk(
        id=str(uuid5(NAMESPACE_URL, page + repr(text))),
        document_id=f"fake:{page}",
        source_id="fake",
        url=f"https://docs.example.com/{page}",
        title=f"Page {page}",
        headings=(),
        text=text,
        position=0,
        start=0,
        end=len(text),
    )
    return Hit(chunk, score, vector=vector)
