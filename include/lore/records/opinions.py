"""What people say of an answer in a chat, and what each of them thinks in the end: their last word.

A person may press a button, add and remove several reactions, and give a reason. Each of these is a voice, of which the
newest word by the chat's own clock is kept, so that an event that comes twice, or after a later one, changes nothing.
The newest word of all voices that is not taken back is what the person thinks, and stands in `lore_feedback`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update

from lore.records.clean import Redact, short_key, storable
from lore.records.engine import explained, insert_for, reading
from lore.records.tables import answers, feedback, opinions

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Engine

__all__ = ["Opinion", "Opinions", "PostedNotice", "Vote"]


@dataclass(frozen=True, slots=True)
class Vote:
    """Something that was said of an answer: helpful, not helpful, or None where it was taken back.

    `voice` names what said it, such as a button or one reaction to one message; `at` is when, in seconds since the
    epoch.
    """

    voice: str
    helpful: bool | None
    at: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PostedNotice:
    """Where others were told of an opinion: a message of a chat."""

    channel: str
    ts: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a person thinks of an answer now; `reason` is as it was stored. `news` is True where the last word changed
    that, and `told` where others were told of it.
    """

    helpful: bool | None
    reason: str
    news: bool = False
    told: PostedNotice | None = None


class Opinions:
    """Opinions of people, in the database of the records. All methods are atomic, and raise RecordsError."""

    def __init__(self, engine: Engine, redact: Redact, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._engine = engine
        self._redact = redact
        self._now = now

    def hear(self, answer_id: str, asker: str, word: Vote) -> Opinion | None:
        """Take a word of a person; returns what they think from then on, or None where there is no such answer (yet).

        A reason may follow the word that it belongs to, and is left out where the person has changed their mind
        meanwhile; it stays until they do or give another one.
        """
        key = {"answer_id": short_key(answer_id), "asker": short_key(asker)}
        with explained("written"), self._engine.begin() as connection:  # SQLite's lock is held from here on
            if connection.execute(select(answers.c.id).where(answers.c.id == key["answer_id"])).first() is None:
                return None
            new = insert_for(self._engine)(opinions).values({**key, "said": {}, "told": {}})
            connection.execute(new.on_conflict_do_nothing())
            row = connection.execute(select(opinions).where(*_of(opinions, key)).with_for_update()).mappings().one()
            said, before = row["said"], _stored(connection, key)
            if word.at > _time(said.get(word.voice)):
                said = {**said, word.voice: {"helpful": word.helpful, "at": word.at}}
                connection.execute(update(opinions).where(*_of(opinions, key)).values(said=said))
            now = self._thought(before, _newest(said), word)
            if now != before:
                self._store(connection, key, now)
        return Opinion(now.helpful, now.reason, now != before, _told(row["told"]))

    def begin_telling(self, answer_id: str, asker: str, seconds: float) -> bool:
        """Whether the caller is the one who tells others of the opinion: True for one alone, until `told` or the time
        is over.
        """
        key = {"answer_id": short_key(answer_id), "asker": short_key(asker)}
        now = self._now().timestamp()
        with explained("written"), self._engine.begin() as connection:
            query = select(opinions.c.told).where(*_of(opinions, key)).with_for_update()
            found = connection.execute(query).first()
            if found is None or _told(found.told) or found.told.get("until", 0.0) > now:
                return False
            connection.execute(update(opinions).where(*_of(opinions, key)).values(told={"until": now + seconds}))
        return True

    def told(self, answer_id: str, asker: str, where: PostedNotice) -> Opinion | None:
        """Remember where others were told of it; returns what the person thinks by now, None where they were forgotten
        meanwhile.
        """
        key = {"answer_id": short_key(answer_id), "asker": short_key(asker)}
        told = {"channel": where.channel, "ts": where.ts}
        with explained("written"), self._engine.begin() as connection:
            kept = connection.execute(update(opinions).where(*_of(opinions, key)).values(told=told)).rowcount
            now = _stored(connection, key)
        return Opinion(now.helpful, now.reason, told=where) if kept else None

    def of(self, asker: str) -> tuple[int, tuple[PostedNotice, ...]]:
        """How many opinions of a person stand, and where others were told of any."""
        who = short_key(asker)
        with explained("read"), reading(self._engine) as connection:
            given = connection.execute(select(feedback.c.answer_id).where(feedback.c.asker == who)).all()
            rows = connection.execute(select(opinions.c.told).where(opinions.c.asker == who)).scalars()
            return len(given), tuple(told for told in map(_told, rows) if told)

    def _thought(self, before: Opinion, helpful: bool | None, word: Vote) -> Opinion:
        if helpful is None:
            return Opinion(None, "")
        if word.reason and word.helpful == helpful:
            return Opinion(helpful, storable(word.reason, self._redact))
        return Opinion(helpful, before.reason if before.helpful == helpful else "")

    def _store(self, connection: Connection, key: Mapping[str, str], now: Opinion) -> None:
        if now.helpful is None:
            connection.execute(delete(feedback).where(*_of(feedback, key)))
            return
        row = {"helpful": now.helpful, "reason": now.reason, "given_at": self._now()}
        put = insert_for(self._engine)(feedback).values({**key, **row})
        connection.execute(put.on_conflict_do_update(index_elements=["answer_id", "asker"], set_=row))


def _of(table: Any, key: Mapping[str, str]) -> tuple[ColumnElement[bool], ...]:
    return (table.c.answer_id == key["answer_id"], table.c.asker == key["asker"])


def _stored(connection: Connection, key: Mapping[str, str]) -> Opinion:
    row = connection.execute(select(feedback.c.helpful, feedback.c.reason).where(*_of(feedback, key))).first()
    return Opinion(row.helpful, row.reason) if row else Opinion(None, "")


def _time(word: Mapping[str, Any] | None) -> float:
    return float(word["at"]) if word else 0.0


def _newest(said: Mapping[str, Mapping[str, Any]]) -> bool | None:
    """The newest word that is not taken back."""
    standing = [word for word in said.values() if word["helpful"] is not None]
    return bool(max(standing, key=_time)["helpful"]) if standing else None


def _told(bag: Mapping[str, Any]) -> PostedNotice | None:
    return PostedNotice(bag["channel"], bag["ts"]) if "ts" in bag else None
