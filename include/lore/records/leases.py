"""Leases on events in the database: of all threads and processes, one at a time handles an event, and one finishes it.

A lease lasts until its end, unless its owner extends it. After that, another process may take the event over. The
clocks of the machines must agree to within a fraction of a lease.
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
"""Time for which a finished event is remembered: longer than any service redelivers one."""


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """An event that isn't finished. `data` is what its owners noted, and `attempts` counts them."""

    key: str
    owner: str
    lease_until: datetime
    attempts: int
    data: Mapping[str, Any]


class LeaseStore:
    """Leases in the database of the records. All methods are atomic, and raise RecordsError."""

    def __init__(self, engine: Engine, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._engine = engine
        self._now = now

    def add(self, key: str, owner: str, seconds: float, data: Mapping[str, Any] | None = None) -> bool:
        """Lease an event that nobody ever leased, with `data` (JSON values): True for one caller only."""
        new = insert_for(self._engine)(claims).values(self._row(key, owner, seconds, data)).on_conflict_do_nothing()
        with explained("written"), self._engine.begin() as connection:
            return connection.execute(new.returning(claims.c.key)).first() is not None

    def take(self, key: str, owner: str, seconds: float, data: Mapping[str, Any] | None = None) -> LeaseRecord | None:
        """Lease an event that is new, was released, or whose lease ended: the record for one caller only.

        None where somebody holds it, the same owner too, and where it is finished. `data` (JSON values) is kept for a
        new event; else the record has what was noted last.
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
        return _record(taken) if taken else None

    def note(self, key: str, owner: str, data: Mapping[str, Any]) -> bool:
        """Add `data` (JSON values) to what is noted, replacing equal names; False if the owner lost the lease."""
        mine = _mine(short_key(key), short_key(owner))
        with explained("written"), self._engine.begin() as connection:  # SQLite is locked from here on
            found = connection.execute(select(claims.c.data).where(mine).with_for_update()).first()
            if found is None:
                return False
            connection.execute(update(claims).where(mine).values(data={**found.data, **data}))
        return True

    def extend(self, key: str, owner: str, seconds: float) -> bool:
        """Extend a lease to so many seconds from now; False if the owner lost it."""
        return bool(self.extend_all([key], owner, seconds))

    def extend_all(self, keys: Collection[str], owner: str, seconds: float) -> frozenset[str]:
        """Extend many leases at once, and return the keys that the owner still holds."""
        short = {short_key(key): key for key in keys}
        mine = (claims.c.key.in_(short), claims.c.owner == short_key(owner), claims.c.state == HELD)
        longer = update(claims).where(*mine).values(lease_until=self._now() + timedelta(seconds=seconds))
        if not short:
            return frozenset()
        with explained("written"), self._engine.begin() as connection:
            held = connection.execute(longer.returning(claims.c.key)).scalars().all()
        return frozenset(short[key] for key in held)

    def finish(self, key: str, owner: str) -> bool:
        """Mark an event as finished, so that nobody leases it again; False if the owner lost the lease."""
        return self._change(key, owner, state=FINISHED, lease_until=self._now())

    def release(self, key: str, owner: str) -> bool:
        """End a lease, so that another process can take it at once; False if the owner lost it."""
        return self._change(key, owner, lease_until=self._now())

    def expired(self, limit: int = 100) -> list[LeaseRecord]:
        """Return events whose lease ended before they were finished, longest ago first; `take` one to handle it."""
        query = select(claims).where(claims.c.state == HELD, claims.c.lease_until <= self._now())
        with explained("read"), reading(self._engine) as connection:
            found = connection.execute(query.order_by(claims.c.lease_until).limit(limit)).mappings()
            return [_record(row) for row in found]

    def noted(self, name: str, text: str) -> list[LeaseRecord]:
        """Return the events, finished ones too, for which this text is noted under the name."""
        query = select(claims).where(claims.c.data[name].as_string() == text)
        with explained("read"), reading(self._engine) as connection:
            return [_record(row) for row in connection.execute(query.order_by(claims.c.key)).mappings()]

    def prune(self, days: float = KEPT_DAYS) -> int:
        """Remove events whose lease ended, or that were finished, so long ago; return how many."""
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


def _record(row: RowMapping) -> LeaseRecord:
    return LeaseRecord(row["key"], row["owner"], row["lease_until"], row["attempts"], row["data"])
