"""Callers: holders of a key of the API, people who logged in, or people unknown; what they may read, and how often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fastapi import Request, Response

from lore.errors import LoreError
from lore.types import PUBLIC
from lore.web.access import reader_of

if TYPE_CHECKING:
    from lore.records.api_keys import ApiKey

__all__ = ["Caller", "Callers", "FindCaller", "UnknownCallerError", "bearer_token", "caller_by_key"]

KEY_PREFIX = "lore_"


class UnknownCallerError(LoreError):
    """A key or a login is missing or invalid. `login` is the path at which people log in, empty if there is none."""

    def __init__(self, message: str, *, remedy: str, login: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.login = login


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller. `rate` is the number of questions that `sender` may ask in ten minutes; 0 is no limit.

    `id` is recorded with questions: `key:ID` or `user:ID`, empty for people unknown. `name` is shown to the person.
    """

    audiences: tuple[str, ...]
    sender: str
    rate: int
    id: str = ""
    name: str = ""

    def asker(self, request: Request, response: Response) -> str:
        """Return the id under which a question or an opinion is recorded; a new browser gets a cookie."""
        return self.id or reader_of(request, response)


FindCaller: TypeAlias = Callable[[Request], Caller | None]
"""Returns who sent a request, None if it can't tell. Raises UnknownCallerError for an invalid proof."""


def bearer_token(request: Request) -> str:
    """Return the token of the request's Authorization header, empty without one."""
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    return sent.strip() if scheme.lower() == "bearer" else ""


def caller_by_key(find_key: Callable[[str], ApiKey | None]) -> FindCaller:
    """Return a function that finds the holder of a key; it reads the database if a key was sent."""

    def find(request: Request) -> Caller | None:
        text = bearer_token(request)
        if not text.startswith(KEY_PREFIX):
            return None
        if key := find_key(text):
            return Caller(key.audiences, f"key {key.id}", key.rate, f"key:{key.id}", key.name)
        raise UnknownCallerError("The API key is invalid or was revoked.", remedy="Ask for another one.")

    return find


class Callers:
    """Tells callers apart by the first of `ways` that knows one.

    Others are the public, limited to `rate` questions in ten minutes, unless `required` says that everybody proves who
    they are. `login` is the path at which people do that.
    """

    def __init__(self, ways: Sequence[FindCaller], *, required: bool, rate: int, login: str = "") -> None:
        self._ways = tuple(ways)
        self._required = required
        self._rate = rate
        self.login = login

    def identify(self, request: Request) -> Caller:
        """Return who sent a request.

        Raises UnknownCallerError for an invalid proof and for a missing one where one is required, and RecordsError.
        """
        for find in self._ways:
            if caller := find(request):
                return caller
        if not self._required:
            return Caller((PUBLIC,), f"address {request.client.host if request.client else ''}", self._rate)
        if self.login:
            raise UnknownCallerError("You aren't logged in.", remedy="Log in, and ask again.", login=self.login)
        raise UnknownCallerError(
            "This server answers holders of an API key.",
            remedy="Send Authorization: Bearer KEY. Whoever runs the server makes keys: lore keys create",
        )
