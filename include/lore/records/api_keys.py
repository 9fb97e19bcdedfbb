"""Keys of the API, in the database of the records: kept as hashes, shown once, void as soon as they are revoked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from secrets import token_hex, token_urlsafe
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select

from lore.errors import ConfigurationError
from lore.records.engine import explained, reading
from lore.records.tables import keys
from lore.types import PUBLIC

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["ApiKey", "ApiKeys"]

KEY_FORM = re.compile(r"lore_[0-9a-f]{8}_[\w-]{43}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. `rate` is the number of questions in ten minutes; 0 is no limit."""

    id: str
    name: str
    audiences: tuple[str, ...]
    rate: int
    created_at: datetime


class ApiKeys:
    """The keys. All methods are atomic, and raise RecordsError if the database fails."""

    def __init__(self, engine: Engine, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._engine = engine
        self._now = now

    def create(self, name: str, audiences: Collection[str], rate: int) -> tuple[ApiKey, str]:
        """Make a key for these audiences and the public; return it with its secret text, which isn't kept."""
        key = ApiKey(token_hex(4), name, tuple(dict.fromkeys((PUBLIC, *audiences))), rate, self._now())
        text = f"lore_{key.id}_{token_urlsafe(32)}"
        row = {
            "id": key.id,
            "digest": _digest(text),
            "name": key.name,
            "audiences": list(key.audiences),
            "rate": key.rate,
            "created_at": key.created_at,
        }
        with explained("written"), self._engine.begin() as connection:
            connection.execute(insert(keys).values(row))
        return key, text

    def find(self, text: str) -> ApiKey | None:
        """Return the key with that secret text; None if there is none, or none any more."""
        if not KEY_FORM.fullmatch(text):
            return None
        with explained("read"), reading(self._engine) as connection:
            row = connection.execute(select(keys).where(keys.c.digest == _digest(text))).mappings().first()
        return _key(row) if row else None

    def all(self) -> list[ApiKey]:
        """Return the keys, oldest first."""
        with explained("read"), reading(self._engine) as connection:
            rows = connection.execute(select(keys).order_by(keys.c.created_at, keys.c.id)).mappings()
            return [_key(row) for row in rows]

    def revoke(self, key_id: str) -> None:
        """Remove a key; nobody can ask with it any more. Raises ConfigurationError if there is none with that id."""
        with explained("removed"), self._engine.begin() as connection:
            gone = connection.execute(delete(keys).where(keys.c.id == key_id)).rowcount
        if not gone:
            raise ConfigurationError(f"There is no key {key_id!r}.", remedy="See them with: lore keys list")


def _digest(text: str) -> str:
    """Return the hash of a secret with 256 random bits; these need no slow hash."""
    return sha256(text.encode()).hexdigest()


def _key(row: Mapping[Any, Any]) -> ApiKey:
    return ApiKey(row["id"], row["name"], tuple(row["audiences"]), row["rate"], row["created_at"])
