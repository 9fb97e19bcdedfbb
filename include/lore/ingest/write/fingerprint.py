"""Fingerprints of documents: an unchanged document is skipped before any work is done on it."""

from __future__ import annotations

import json
from hashlib import sha256

from lore.convert import CONVERTER_VERSION
from lore.types import Document

__all__ = ["CONVERTER", "document_recipe", "fingerprint"]

CONVERTER = f"converter-{CONVERTER_VERSION}"
"""Name of the converter: documents made by another one are made again."""


def document_recipe(redaction: str) -> str:
    """Return the names of converter and redaction: documents made by another recipe are made again."""
    return f"{CONVERTER}+{redaction}" if redaction else CONVERTER


def fingerprint(document: Document, recipe: str = CONVERTER) -> str:
    """Return the sha256 over everything that the kept document is made of, and over the recipe.

    It covers the document as the source has it, so that an unchanged one is skipped before conversion. It leaves out
    `updated_at`: a fresh checkout changes every file's date and no file's content. It leaves out splitter and embedder:
    each version of the index has its own, and records which state of a document its passages are made of.
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
