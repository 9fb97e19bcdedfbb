"""The messages of a chat that hold answers, and the threads that have one.

A message names an answer without being part of it: the answer may be written later, or have been removed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from lore.records.clean import short_key
from lore.records.engine import explained, insert_for, reading
from lore.records.tables import places

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Engine

__all__ = ["PostedAnswers"]


class PostedAnswers:
    """Messages with answers, in the database of the records, whose `forget` removes those of a person.

    All methods are atomic, and raise RecordsError.
    """

    def __init__(self, engine: Engine, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._engine = engine
        self._now = now

    def keep(self, team: str, channel: str, ts: str, *, thread_ts: str, answer_id: str, asker: str) -> None:
        """Record that the message `ts` holds (a part of) an answer; `answer_id` is "" while it isn't complete.

        A message whose answer is known doesn't change.
        """
        texts = {
            "team": team,
            "channel": channel,
            "ts": ts,
            "thread_ts": thread_ts,
            "answer_id": answer_id,
            "asker": asker,
        }
        row = {name: short_key(text) for name, text in texts.items()} | {"kept_at": self._now()}
        keep = insert_for(self._engine)(places).values(row)
        key = [column.name for column in places.primary_key]
        complete = {"answer_id": row["answer_id"]}
        keep = keep.on_conflict_do_update(index_elements=key, set_=complete, where=places.c.answer_id == "")
        with explained("written"), self._engine.begin() as connection:
            connection.execute(keep)

    def answer_at(self, team: str, channel: str, ts: str) -> str | None:
        """Return the id of the answer in a message; None if it holds none, or one that isn't complete."""
        with explained("read"), reading(self._engine) as connection:
            query = select(places.c.answer_id).where(*_in(team, channel), places.c.ts == short_key(ts))
            found: str | None = connection.execute(query).scalar()
        return found or None

    def answered_in(self, team: str, channel: str, thread_ts: str) -> bool:
        """Return True if the bot answered in that thread, or has begun to."""
        with explained("read"), reading(self._engine) as connection:
            query = select(places.c.ts).where(*_in(team, channel), places.c.thread_ts == short_key(thread_ts))
            return connection.execute(query.limit(1)).first() is not None

    def expire(self, before: datetime) -> int:
        """Remove what was recorded before the moment; return how many messages."""
        with explained("removed"), self._engine.begin() as connection:
            return connection.execute(delete(places).where(places.c.kept_at < before)).rowcount


def _in(team: str, channel: str) -> tuple[ColumnElement[bool], ...]:
    return (places.c.team == short_key(team), places.c.channel == short_key(channel))
