"""The reply that the planning call asks a language model for, parsed leniently."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, Field

__all__ = ["WORDINGS", "PlanReply", "distinct", "usable_lines"]

WORDINGS = 3
MAX_ITEMS = 20
MAX_REPLY_CHARACTERS = 4_000
"""Characters read of each text of a reply, which bound the work on a model that doesn't stop."""

ROUTES = ("search", "context", "small_talk")

_DECORATION = re.compile(
    r"^(?:[-*+•#>]+\s+|\(?\d{1,2}[.):](?!\d)\s*|(?:query|wording|question)\s*\d*\s*:\s*)+", re.IGNORECASE
)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [one for one in values[:MAX_ITEMS] if isinstance(one, str)]


def _route(value: Any) -> str:
    return value if value in ROUTES else "search"


Text: TypeAlias = Annotated[str, BeforeValidator(_text)]
Texts: TypeAlias = Annotated[list[str], BeforeValidator(_texts)]


class PlanReply(BaseModel):
    """The reply of the planning call. A value of a wrong type counts as missing."""

    question: Text = Field("", description="The user's last message as a complete question, in its own language")
    wordings: Texts = Field(
        default_factory=list,
        description="Exactly three different search queries for it",
        json_schema_extra={"minItems": WORDINGS, "maxItems": WORDINGS},  # binds the model, not the parser
    )
    route: Annotated[Literal["search", "context", "small_talk"], BeforeValidator(_route)] = Field(
        "search", description="search, unless <assistant> states the answer (context) or nothing is asked (small_talk)"
    )
    sources: Texts = Field(default_factory=list, description="Ids from <sources> that the message names, mostly none")
    updated_after: Text = Field("", description="YYYY-MM-DD, only if the message asks for what is newer; else empty")
    updated_before: Text = Field("", description="YYYY-MM-DD, only if the message asks for what is older; else empty")


def usable_lines(texts: Iterable[str], limit: int, *, like: str) -> Iterator[str]:
    """Yield the usable lines of a model's texts, without numbers, bullets and quotation marks.

    Lines longer than `limit` are left out, and so are lines in a script that `like`, the conversation, doesn't use.
    Latin is always allowed, because software is written about in it everywhere.
    """
    scripts = {"LATIN", *_scripts(like)}
    for text in texts:
        for raw in text[:MAX_REPLY_CHARACTERS].splitlines():
            line = " ".join(_DECORATION.sub("", raw.strip()).strip().strip("\"'“”„«»`*_").split())
            if len(line) <= limit and re.search(r"\w{2}", line) and set(_scripts(line)) <= scripts:
                yield line


def distinct(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that differ in more than case, spaces and punctuation."""
    seen: set[str] = set()
    for line in lines:
        key = " ".join(re.findall(r"\w+", line.casefold()))
        if key not in seen:
            seen.add(key)
            yield line


def _scripts(text: str) -> Iterator[str]:
    """Yield the scripts of a text's letters by the first word of their Unicode names: LATIN, CJK, CYRILLIC …"""
    for letter in set(text):  # few letters, however long the conversation
        if letter.isalpha():
            yield unicodedata.name(letter, "LATIN").split()[0].removeprefix("FULLWIDTH")
