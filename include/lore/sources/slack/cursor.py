"""The cursor of the source `slack`: the state of each channel."""

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
    """The state of a channel. Times are Slack's own, in seconds since the epoch, so that no other clock matters.

    `shape` identifies a channel's name and audience; when these change, all its documents do. `newest` is the time of
    its last activity. Everything from `todo` on was read, and nothing before; None when all was read. `marks` are the
    digests of the conversations in the look-back window.
    """

    shape: str
    newest: float = 0.0
    todo: float | None = float("inf")
    marks: frozenset[str] = frozenset()


def conversation_digest(ts: str, *values: object) -> str:
    """Return twelve characters that identify a conversation and its values (48 bits of their sha256)."""
    digest = sha256(json.dumps(values, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).digest()
    return _key(ts) + urlsafe_b64encode(digest[:6]).decode()


class ConversationDigests:
    """Digests of conversations, by their timestamps."""

    def __init__(self, marks: Iterable[str]) -> None:
        self._by_key: dict[str, set[str]] = {}
        for mark in marks:
            self._by_key.setdefault(mark[:KEY_LENGTH], set()).add(mark)

    def of(self, ts: str) -> frozenset[str]:
        """Return a conversation's digests. Once in 16 million, another conversation's are among them."""
        return frozenset(self._by_key.get(_key(ts), ()))


def _key(ts: str) -> str:
    return urlsafe_b64encode(sha256(ts.encode()).digest()[:3]).decode()


class CursorWriter:
    """Writes cursors for the states of channels, which change one at a time; `selection` identifies the declaration's
    selection.
    """

    def __init__(self, selection: str, states: Mapping[str, ChannelState]) -> None:
        self._selection = selection
        self._channels = {identity: _values(state) for identity, state in states.items()}

    def after(self, identity: str, state: ChannelState) -> Cursor:
        """Return the cursor once the channel is in this state."""
        self._channels[identity] = _values(state)
        return json.dumps({"selection": self._selection, "channels": self._channels}, sort_keys=True)


def from_cursor(cursor: Cursor, selection: str, source_id: str) -> dict[str, ChannelState]:
    """Read the states in a cursor; none if it belongs to another selection. Raises SourceError if it is invalid."""
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
