"""Callers: holders of a key of the API, or people unknown, with what they may read and how often they may ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Request, Response

from lore.errors import LoreError
from lore.types import PUBLIC
from lore.web.access import reader_of

if TYPE_CHECKING:
    from lore.records.api_keys import ApiKey

__all__ = ["Caller", "Callers", "UnknownCallerError"]

KEY_PREFIX = "lore_"


class UnknownCallerError(LoreError):
    """A key is missing or invalid."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller. `rate` is the number of questions that `sender` may ask in ten minutes; 0 is no limit."""

    audiences: tuple[str, ...]
    sender: str
    rate: int
    key_id: str = ""

    def asker(self, request: Request, response: Response) -> str:
        """Return the id under which a question or an opinion is recorded; a new browser gets a cookie."""
        return f"key:{self.key_id}" if self.key_id else reader_of(request, response)


class Callers:
    """Tells callers apart. Without a key they are the public, limited to `rate`, unless keys are `required`."""

    def __init__(self, find_key: Callable[[str], ApiKey | None], *, required: bool, rate: int) -> None:
        self._find_key = find_key
        self._required = required
        self._rate = rate

    def identify(self, request: Request) -> Caller:
        """Return who sent a request. Reads the database if a key was sent.

        Raises UnknownCallerError for an invalid key and for a missing one where one is required, and RecordsError.
        """
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        text = sent.strip() if scheme.lower() == "bearer" else ""
        if text.startswith(KEY_PREFIX):
            if key := self._find_key(text):
                return Caller(key.audiences, f"key {key.id}", key.rate, key.id)
            raise UnknownCallerError("The API key is invalid or was revoked.", remedy="Ask for another one.")
        if self._required:
            raise UnknownCallerError(
                "This server answers holders of an API key.",
                remedy="Send Authorization: Bearer KEY. Whoever runs the server makes keys: lore keys create",
            )
        return Caller((PUBLIC,), f"address {request.client.host if request.client else ''}", self._rate)
