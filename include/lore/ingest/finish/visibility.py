"""Hidden documents: a fingerprint says whether its document is shown, and everything that makes passages reads it.

The fingerprint of a hidden document has a `~` behind its hash, before the name of a strategy:

    3f1c…e0~
    3f1c…e0~+summary_parent-1:4000:openai:gpt-4.1-mini

It differs from the fingerprint of the same document shown, so every version of the index removes its passages or adds
them again by itself. Without the `~` it still tells whether the document changed.
"""

from __future__ import annotations

__all__ = ["as_hidden", "as_shown", "is_hidden"]

HIDDEN = "~"


def is_hidden(fingerprint: str) -> bool:
    """Return True if a document with this fingerprint has no passages."""
    return fingerprint.partition("+")[0].endswith(HIDDEN)


def as_hidden(fingerprint: str) -> str:
    """Return the fingerprint of the same document, hidden."""
    digest, plus, strategy = as_shown(fingerprint).partition("+")
    return f"{digest}{HIDDEN}{plus}{strategy}"


def as_shown(fingerprint: str) -> str:
    """Return the fingerprint of the same document, shown."""
    digest, plus, strategy = fingerprint.partition("+")
    return f"{digest.removesuffix(HIDDEN)}{plus}{strategy}"
