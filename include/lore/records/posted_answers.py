"""Where the bot answered: which answer a chat's message holds, and in which threads there are answers.

A place names an answer and is no part of it: answers are written by a queue of their own and may come later, or have
been removed.
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
    from sqlalchemy import Engine

__all__ = ["PostedAnswers"]


class PostedAnswers:
    """Places of answers, in the database of the records, whose `forget` removes those of a person, too. All methods are
    atomic, and raise RecordsError.
    """

    def __init__(self, engine: Engine, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._engine = engine
        self._now = now

    def keep(self, team: str, channel: str, ts: str, *, thread_ts: str, answer_id: str, asker: str) -> None:
        """Remember that the message `ts` holds (a part of) an answer; `answer_id` is "" while it is not complete. Of a
        message whose answer is known, nothing changes.
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
        """The id of the answer in a message; None where it is not one of the bot's answers, or not complete yet."""
        there = (
            places.c.team == short_key(team),
            places.c.channel == short_key(channel),
            places.c.ts == short_key(ts),
        )
        with explained("read"), reading(self._engine) as connection:
            found: str | None = connection.execute(select(places.c.answer_id).where(*there)).scalar()
        return found or None

    def answered_in(self, team: str, channel: str, thread_ts: str) -> bool:
        """Whether the bot answered in that thread, or has begun to."""
        there = (
            places.c.team == short_key(team),
            places.c.channel == short_key(channel),
            places.c.thread_ts == short_key(thread_ts),
        )
        with explained("read"), reading(self._engine) as connection:
            return connection.execute(select(places.c.ts).where(*there).limit(1)).first() is not None

    def expire(self, before: datetime) -> int:
        """Remove the places that were kept before the moment; returns how many."""
        with explained("removed"), self._engine.begin() as connection:
            return connection.execute(delete(places).where(places.c.kept_at < before)).rowcount
