"""The stored form of an answer: redacted, bounded, and made of characters that every database accepts.

Text by people and models goes through `redact`: question, conversation, plan, answer, checks and notes. Passages are
stored as the index has them, since they were redacted when they were read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, TypeAlias, TypeVar

from lore.types import Answer, Question, Trace

__all__ = ["KEY_CHARACTERS", "MAX_CHARACTERS", "MAX_ITEMS", "Redact", "short_key", "storable", "storable_answer"]

Value = TypeVar("Value")
Redact: TypeAlias = Callable[[str], str]
"""Removes from a text what must not be stored."""

MAX_CHARACTERS = 100_000
"""Longest text; a note at its end says what was cut off."""
KEY_CHARACTERS = 200
"""Longest key: PostgreSQL doesn't index longer texts."""
MAX_ITEMS = 1_000
"""Largest number of passages, messages or notes of one kind."""

_MARGIN = 8_000  # a secret that stands across the cut is still seen whole by the redactor
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # PostgreSQL takes no NUL, and UTF-8 no lone surrogate


def storable(text: str, redact: Redact | None = None) -> str:
    """Redact and bound a text, with U+FFFD for characters that can't be stored."""
    kept = _UNSTORABLE.sub("\ufffd", text[: MAX_CHARACTERS + _MARGIN])
    if redact:
        kept = redact(kept)
    if len(text) <= MAX_CHARACTERS:
        return kept
    return f"{kept[:MAX_CHARACTERS]} … [cut: it had {len(text):,} characters]"


def short_key(text: str) -> str:
    """Return an id as it is stored and looked up: bounded, equal for equal texts and different for others."""
    key = _UNSTORABLE.sub("\ufffd", text)
    if len(key) <= KEY_CHARACTERS and key == text:
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{key[: KEY_CHARACTERS - len(digest) - 1]}#{digest}"


def storable_answer(answer: Answer, redact: Redact) -> Answer:
    """Return the answer as it is stored, still complete enough to be shown."""
    private = partial(storable, redact=redact)
    return replace(
        _each(answer, storable, skip=("question", "text", "trace", "id")),
        question=_question(answer.question, private),
        text=private(answer.text),
        trace=_trace(answer.trace, private),
        id=short_key(answer.id),
    )


def _question(question: Question, private: Redact) -> Question:
    return replace(
        _each(question, private, skip=("history", "surface", "asker")),
        history=_walk(question.history[-MAX_ITEMS:], private),  # the last turns say most
        surface=short_key(question.surface),
        asker=short_key(question.asker),
    )


def _trace(trace: Trace, private: Redact) -> Trace:
    lengths = {"passages": len(trace.passages), "candidates": len(trace.ranking), "notes": len(trace.notes)}
    cut = tuple(
        f"Of {length:,} {name} the first {MAX_ITEMS:,} were recorded."
        for name, length in lengths.items()
        if length > MAX_ITEMS
    )
    outside = ("passages", "ranking")
    kept = _each(trace, private, skip=outside)
    return replace(
        kept,
        notes=kept.notes + cut,
        **{name: _walk(getattr(trace, name), storable) for name in outside},
    )


def _each(value: Value, change: Redact, skip: tuple[str, ...] = ()) -> Value:
    """Return the frozen value with `change` applied to every text in it, except for the named fields."""
    frozen: Any = value
    names = (field.name for field in fields(frozen) if field.name not in skip)
    changed: Value = replace(frozen, **{name: _walk(getattr(value, name), change) for name in names})
    return changed


def _walk(value: Any, change: Redact) -> Any:
    if isinstance(value, str):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _each(value, change)
    if isinstance(value, Mapping):
        return {_walk(key, change): _walk(item, change) for key, item in list(value.items())[:MAX_ITEMS]}
    if isinstance(value, tuple | list):
        return tuple(_walk(item, change) for item in value[:MAX_ITEMS])
    return value
