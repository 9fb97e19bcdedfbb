"""Telling whether a document is the one that is already indexed, before any work is done on it."""

from __future__ import annotations

import json
from hashlib import sha256

from include.lore.convert import CONVERTER_VERSION
from include.lore.protocols import Embedder, Splitter
from include.lore.types import Document

__all__ = ["fingerprint", "recipe_of"]


def recipe_of(splitter: Splitter, embedder: Embedder) -> str:
    """Names how documents are made: by another converter, splitter or embedder they are made anew."""
    return f"converter-{CONVERTER_VERSION} {splitter.name} {embedder.name}"


def fingerprint(document: Document, recipe: str) -> str:
    """sha256 over all that the stored document is made of, and over the `recipe` (converter, splitter, embedder).

    It covers the document as the source has it, so that an unchanged one is skipped before conversion. `updated_at`
    is left out: a fresh checkout changes every file's date and no file's content.
    """
    values = (
        document.id,
        document.url,
        document.title,
        document.format,
        document.text,
        sha256(document.data).hexdigest() if document.data is not None else None,
        dict(document.metadata),
        document.audiences,
        recipe,
    )
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
