"""Who handles an event: of all threads and processes, one at a time, and one that finishes it.

A claim is held until its lease ends. A process that works long extends it; after a process that died, another one may
take the event over. The clocks of the machines must agree to within a fraction of the lease.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, select, update

from lore.records.clean import short_key
from lore.records.engine import explained, insert_for, reading
from lore.records.tables import claims

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Engine, RowMapping

__all__ = ["LeaseRecord", "LeaseStore"]

HELD, FINISHED = "held", "finished"
KEPT_DAYS = 7.0
"""How long a finished event is remembered: longer than anybody delivers one again."""


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """An event whose handling did not end. `data` is what its owners left for whoever takes it over; `attempts` counts
    who claimed it.
    """

    key: str
    owner: str
    lease_until: datetime
    attempts: int
    data: Mapping[str, Any]


class LeaseStore:
    """Claims on events, in the database of the records. All methods are atomic, and raise RecordsError."""

    def __init__(self, engine: Engine, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._engine = engine
        self._now = now

    def first(self, key: str, owner: str, seconds: float, data: Mapping[str, Any] | None = None) -> bool:
        """Take an event that nobody ever took, for so many seconds: True for one caller only.

        `data` (JSON values) is for whoever takes the event over.
        """
        new = insert_for(self._engine)(claims).values(self._row(key, owner, seconds, data)).on_conflict_do_nothing()
        with explained("written"), self._engine.begin() as connection:
            return connection.execute(new.returning(claims.c.key)).first() is not None

    def take(self, key: str, owner: str, seconds: float, data: Mapping[str, Any] | None = None) -> LeaseRecord | None:
        """Take an event for so many seconds, until it is released or its lease ends: what is known of it for one caller
        only. None where somebody holds it, the same owner too, and where it is finished.

        `data` (JSON values) is kept from the first claim on; what is given back is the last that an owner left.
        """
        row = self._row(key, owner, seconds, data)
        taken_over = {name: row[name] for name in ("owner", "lease_until")} | {"attempts": claims.c.attempts + 1}
        free = and_(claims.c.state == HELD, claims.c.lease_until <= self._now())
        take = (
            insert_for(self._engine)(claims)
            .values(row)
            .on_conflict_do_update(index_elements=["key"], set_=taken_over, where=free)
        )
        with explained("written"), self._engine.begin() as connection:
            taken = connection.execute(take.returning(claims)).mappings().first()
        return _claim(taken) if taken else None

    def note(self, key: str, owner: str, data: Mapping[str, Any]) -> bool:
        """Leave more for whoever takes it over: each name in `data` (JSON values) takes the place of what it had, and
        other names stay. False, and nothing changes, where the owner lost it.
        """
        mine = _mine(short_key(key), short_key(owner))
        with explained("written"), self._engine.begin() as connection:  # SQLite's lock is held from here on
            found = connection.execute(select(claims.c.data).where(mine).with_for_update()).first()
            if found is None:
                return False
            connection.execute(update(claims).where(mine).values(data={**found.data, **data}))
        return True

    def extend(self, key: str, owner: str, seconds: float) -> bool:
        """Hold it for so many seconds from now; False where the owner lost it, and should leave it to another."""
        return self._change(key, owner, lease_until=self._now() + timedelta(seconds=seconds))

    def extend_all(self, keys: Collection[str], owner: str, seconds: float) -> frozenset[str]:
        """As `extend` for many at once: those of the keys that the owner still holds."""
        short = {short_key(key): key for key in keys}
        mine = (claims.c.key.in_(short), claims.c.owner == short_key(owner), claims.c.state == HELD)
        longer = update(claims).where(*mine).values(lease_until=self._now() + timedelta(seconds=seconds))
        if not short:
            return frozenset()
        with explained("written"), self._engine.begin() as connection:
            held = connection.execute(longer.returning(claims.c.key)).scalars().all()
        return frozenset(short[key] for key in held)

    def finish(self, key: str, owner: str) -> bool:
        """Say that it is done: nobody can claim it again. False where the owner lost it meanwhile."""
        return self._change(key, owner, state=FINISHED, lease_until=self._now())

    def release(self, key: str, owner: str) -> bool:
        """Give it back undone, so that another can claim it at once. False where the owner lost it meanwhile."""
        return self._change(key, owner, lease_until=self._now())

    def expired(self, limit: int = 100) -> list[LeaseRecord]:
        """Events whose lease ended before they were finished, longest ago first: claim one before handling it."""
        query = select(claims).where(claims.c.state == HELD, claims.c.lease_until <= self._now())
        with explained("read"), reading(self._engine) as connection:
            found = connection.execute(query.order_by(claims.c.lease_until).limit(limit)).mappings()
            return [_claim(row) for row in found]

    def noted(self, name: str, text: str) -> list[LeaseRecord]:
        """The events, finished ones too, whose data has this text under the name."""
        query = select(claims).where(claims.c.data[name].as_string() == text)
        with explained("read"), reading(self._engine) as connection:
            return [_claim(row) for row in connection.execute(query.order_by(claims.c.key)).mappings()]

    def prune(self, days: float = KEPT_DAYS) -> int:
        """Forget events that were finished, or given up, so long ago; returns how many."""
        old = claims.c.lease_until < self._now() - timedelta(days=days)
        with explained("removed"), self._engine.begin() as connection:
            return connection.execute(delete(claims).where(old)).rowcount

    def _row(self, key: str, owner: str, seconds: float, data: Mapping[str, Any] | None) -> dict[str, Any]:
        return {
            "key": short_key(key),
            "owner": short_key(owner),
            "state": HELD,
            "lease_until": self._now() + timedelta(seconds=seconds),
            "attempts": 1,
            "data": dict(data or {}),
        }

    def _change(self, key: str, owner: str, **values: Any) -> bool:
        mine = _mine(short_key(key), short_key(owner))
        with explained("written"), self._engine.begin() as connection:
            return connection.execute(update(claims).where(mine).values(values)).rowcount > 0


def _mine(key: str, owner: str) -> ColumnElement[bool]:
    return and_(claims.c.key == key, claims.c.owner == owner, claims.c.state == HELD)


def _claim(row: RowMapping) -> LeaseRecord:
    return LeaseRecord(row["key"], row["owner"], row["lease_until"], row["attempts"], row["data"])
