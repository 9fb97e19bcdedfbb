"""Telling whether a document is the one that is already indexed, before any work is done on it."""

from __future__ import annotations

import json
from hashlib import sha256

from lore.convert import CONVERTER_VERSION
from lore.types import Document

__all__ = ["CONVERTER", "fingerprint", "recipe_of"]

CONVERTER = f"converter-{CONVERTER_VERSION}"
"""Names how kept documents are made: by another converter they are made anew."""


def recipe_of(redaction: str) -> str:
    """The converter together with the name of what was redacted: documents that either makes differently differ."""
    return f"{CONVERTER}+{redaction}" if redaction else CONVERTER


def fingerprint(document: Document, recipe: str = CONVERTER) -> str:
    """sha256 over all that the kept document is made of, and over the recipe that it is made by.

    It covers the document as the source has it, so that an unchanged one is skipped before conversion. `updated_at`
    is left out: a fresh checkout changes every file's date and no file's content. So are splitter and embedder: a
    version of the index has one of each, and marks which state of a document its passages were made of.
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
