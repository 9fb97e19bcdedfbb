"""How far channels were read: the cursor of the source `slack`."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from lore.sources.cursors import invalid_cursor
from lore.sources.payload import as_mapping, as_text
from lore.types import Cursor

__all__ = ["ChannelState", "ConversationDigests", "CursorWriter", "conversation_digest", "from_cursor"]

KEY_LENGTH = 4
MARK_LENGTH = 12


@dataclass(frozen=True, slots=True)
class ChannelState:
    """What is known of a channel. Times are Slack's own, in seconds since the epoch, so that no other clock matters.

    `shape` tells a channel's name and audience: when these change, all its documents do. `newest` is the last time at
    which anything was said. All from `todo` on was read, and nothing before it; None when nothing is left. `marks` tell
    the conversations of the look-back window as they were.
    """

    shape: str
    newest: float = 0.0
    todo: float | None = float("inf")
    marks: frozenset[str] = frozenset()


def conversation_digest(ts: str, *values: object) -> str:
    """Twelve characters that tell values from all others (48 bits of their sha256), and what they are values of."""
    digest = sha256(json.dumps(values, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).digest()
    return _key(ts) + urlsafe_b64encode(digest[:6]).decode()


class ConversationDigests:
    """The marks of conversations, to be found by the timestamps of these."""

    def __init__(self, marks: Iterable[str]) -> None:
        self._by_key: dict[str, set[str]] = {}
        for mark in marks:
            self._by_key.setdefault(mark[:KEY_LENGTH], set()).add(mark)

    def of(self, ts: str) -> frozenset[str]:
        """What is known of a conversation. Once in 16 million, another's marks are among it."""
        return frozenset(self._by_key.get(_key(ts), ()))


def _key(ts: str) -> str:
    return urlsafe_b64encode(sha256(ts.encode()).digest()[:3]).decode()


class CursorWriter:
    """Writes cursors of the states of channels, which change one at a time; `selection` tells which documents the
    declaration chose.
    """

    def __init__(self, selection: str, states: Mapping[str, ChannelState]) -> None:
        self._selection = selection
        self._channels = {identity: _values(state) for identity, state in states.items()}

    def after(self, identity: str, state: ChannelState) -> Cursor:
        """The cursor once the channel is in this state."""
        self._channels[identity] = _values(state)
        return json.dumps({"selection": self._selection, "channels": self._channels}, sort_keys=True)


def from_cursor(cursor: Cursor, selection: str, source_id: str) -> dict[str, ChannelState]:
    """The states in a cursor; none when the declaration chose other documents then. Raises SourceError."""
    try:
        stored = json.loads(cursor)
        if stored["selection"] != selection:
            return {}
        return {identity: _state(as_mapping(value)) for identity, value in stored["channels"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise invalid_cursor(source_id) from None


def _values(state: ChannelState) -> dict[str, str | None]:
    return {
        "shape": state.shape,
        "newest": f"{state.newest:.6f}",
        "todo": None if state.todo is None else f"{state.todo:.6f}",
        "marks": "".join(sorted(state.marks)),
    }


def _state(value: Mapping[str, object]) -> ChannelState:
    todo, marks = value["todo"], as_text(value["marks"])
    return ChannelState(
        shape=as_text(value["shape"]),
        newest=float(as_text(value["newest"])),
        todo=None if todo is None else float(as_text(todo)),
        marks=frozenset(marks[at : at + MARK_LENGTH] for at in range(0, len(marks), MARK_LENGTH)),
    )
