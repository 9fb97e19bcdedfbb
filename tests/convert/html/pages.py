"""A page of prose around a piece of HTML."""

from __future__ import annotations

from lore.convert import convert

from tests.fakes import make_document

__all__ = ["PROSE", "text_around"]

PROSE = "The scheduler reads every file in the folder and starts what is due, once a minute by default."


def text_around(piece: str) -> str:
    """Convert a page with the piece between two paragraphs, and return the Markdown between them."""
    body = f"<html><head><title>Page</title></head><body><main><h1>Page</h1><p>{PROSE}</p>{piece}<p>{PROSE}</p></main>"
    text = convert(make_document(text=body, format="html", title="")).text
    start, end = f"# Page\n\n{PROSE}\n\n", f"{PROSE}\n"
    assert text.startswith(start) and text.endswith(end)
    return text[len(start) :].removesuffix(end).strip()
