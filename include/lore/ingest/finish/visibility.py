"""Documents that are kept and not shown: their mark says so, and whoever makes passages of documents asks it.

The mark of a hidden document has a `~` behind its fingerprint, before the name of a strategy:

    3f1c…e0~
    3f1c…e0~+summary_parent-1:4000:openai:gpt-4.1-mini

So it is another mark than that of the same document shown, and every version of the index takes its passages out or
puts them back by itself; and without the `~` it still tells whether the document changed.
"""

from __future__ import annotations

__all__ = ["hidden", "is_hidden", "shown"]

HIDDEN = "~"


def is_hidden(mark: str) -> bool:
    """Whether a document with this mark is to have no passages."""
    return mark.partition("+")[0].endswith(HIDDEN)


def hidden(mark: str) -> str:
    """The mark of the same document, hidden."""
    fingerprint, plus, strategy = shown(mark).partition("+")
    return f"{fingerprint}{HIDDEN}{plus}{strategy}"


def shown(mark: str) -> str:
    """The mark of the same document, shown."""
    fingerprint, plus, strategy = mark.partition("+")
    return f"{fingerprint.removesuffix(HIDDEN)}{plus}{strategy}"
