"""Opinions of answers given in a chat: what each person said, and what they think in the end.

A person may press a button, add and remove several reactions, and give a reason. Of each of these sources the newest
vote by the chat's own clock is kept, so that an event that comes twice, or late, changes nothing. The newest vote that
isn't taken back is the person's opinion, and is stored in `lore_feedback`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
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
    """A vote on an answer: helpful, not helpful, or None where it was taken back.

    `source` names what it came from, such as a button or one reaction to one message; `at` is in seconds since the
    epoch.
    """

    source: str
    helpful: bool | None
    at: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PostedNotice:
    """The message of a chat that tells others of the opinions of an answer, and where that answer is."""

    channel: str
    ts: str
    answer_channel: str = ""
    answer_ts: str = ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A person's current opinion of an answer; `reason` is as stored.

    `is_new` is True if the last vote changed it, and `notice` is the message that tells others of the answer.
    """

    helpful: bool | None
    reason: str
    is_new: bool = False
    notice: PostedNotice | None = None


class Opinions:
    """Opinions in the database of the records. All methods are atomic, and raise RecordsError."""

    def __init__(self, engine: Engine, redact: Redact, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._engine = engine
        self._redact = redact
        self._now = now

    def vote(self, answer_id: str, asker: str, vote: Vote) -> Opinion | None:
        """Take a person's vote, and return their opinion from then on; None if there is no such answer (yet).

        A reason may follow its vote, and is left out if the person has changed their mind meanwhile. It stays until
        they do, or give another one.
        """
        key = {"answer_id": short_key(answer_id), "asker": short_key(asker)}
        with explained("written"), self._engine.begin() as connection:  # SQLite is locked from here on
            if connection.execute(select(answers.c.id).where(answers.c.id == key["answer_id"])).first() is None:
                return None
            new = insert_for(self._engine)(opinions).values({**key, "said": {}, "told": {}})
            connection.execute(new.on_conflict_do_nothing())
            row = connection.execute(select(opinions).where(*_of(opinions, key)).with_for_update()).mappings().one()
            said, before = row["said"], _stored(connection, key)
            if vote.at > _time(said.get(vote.source)):
                said = {**said, vote.source: {"helpful": vote.helpful, "at": vote.at}}
                connection.execute(update(opinions).where(*_of(opinions, key)).values(said=said))
            now = self._opinion(before, _newest(said), vote)
            if now != before:
                self._store(connection, key, now)
            notice = _notice_about(connection, key["answer_id"])
        return Opinion(now.helpful, now.reason, now != before, notice)

    def begin_notice(self, answer_id: str, asker: str, seconds: float) -> bool:
        """Return True if the caller is the one who tells others of the answer.

        That is one alone, until `end_notice` is called or so many seconds are over.
        """
        key = {"answer_id": short_key(answer_id), "asker": short_key(asker)}
        now = self._now().timestamp()
        with explained("written"), self._engine.begin() as connection:
            same = select(opinions).where(opinions.c.answer_id == key["answer_id"]).with_for_update()
            rows = connection.execute(same).all()
            if any(_notice(row.told) or row.told.get("until", 0.0) > now for row in rows):
                return False
            if not any(row.asker == key["asker"] for row in rows):
                return False
            connection.execute(update(opinions).where(*_of(opinions, key)).values(told={"until": now + seconds}))
        return True

    def end_notice(self, answer_id: str, asker: str, notice: PostedNotice) -> Opinion | None:
        """Record the message that tells others, and return the opinion by now; None if the person was forgotten."""
        key = {"answer_id": short_key(answer_id), "asker": short_key(asker)}
        told = asdict(notice)
        with explained("written"), self._engine.begin() as connection:
            kept = connection.execute(update(opinions).where(*_of(opinions, key)).values(told=told)).rowcount
            now = _stored(connection, key)
        return Opinion(now.helpful, now.reason, notice=notice) if kept else None

    def about(self, answer_id: str) -> tuple[Opinion, ...]:
        """Return everybody's current opinion of an answer, those that were taken back included."""
        of_answer = opinions.c.answer_id == short_key(answer_id)
        same = (feedback.c.answer_id == opinions.c.answer_id) & (feedback.c.asker == opinions.c.asker)
        given = select(feedback.c.helpful, feedback.c.reason).select_from(opinions.outerjoin(feedback, same))
        with explained("read"), reading(self._engine) as connection:
            rows = connection.execute(given.where(of_answer).order_by(feedback.c.given_at, opinions.c.asker)).all()
        return tuple(Opinion(row.helpful, row.reason or "") for row in rows)

    def withdraw(self, asker: str) -> tuple[int, Mapping[str, tuple[PostedNotice, ...]]]:
        """Remove a person's opinions, and all of answers to the person.

        Returns how many the person had, and the messages that tell others of those answers, by the answers' ids. A
        message that is being posted meanwhile finds nothing to be recorded with: `end_notice` returns None.
        """
        who = short_key(asker)
        asked = select(answers.c.id).where(answers.c.asker == who)
        notices: dict[str, tuple[PostedNotice, ...]] = {}
        with explained("removed"), self._engine.begin() as connection:
            given = connection.execute(delete(feedback).where(feedback.c.asker == who)).rowcount
            judged = connection.execute(select(opinions.c.answer_id).where(opinions.c.asker == who)).scalars().all()
            theirs = opinions.c.answer_id.in_(asked) | opinions.c.answer_id.in_(judged)
            rows = connection.execute(select(opinions).where(theirs).with_for_update()).all()
            gone = opinions.c.answer_id.in_(asked) | (opinions.c.asker == who)
            connection.execute(delete(opinions).where(gone))
        for row in rows:
            if notice := _notice(row.told):
                notices[row.answer_id] = (*notices.get(row.answer_id, ()), notice)
        return given, notices

    def hand_on(self, answer_id: str, notice: PostedNotice) -> None:
        """Record the message with one of the opinions that are left, where the one that had it was forgotten."""
        of_answer = opinions.c.answer_id == short_key(answer_id)
        with explained("written"), self._engine.begin() as connection:
            if _notice_about(connection, short_key(answer_id)) is None:
                first = select(opinions.c.asker).where(of_answer).limit(1).scalar_subquery()
                connection.execute(
                    update(opinions).where(of_answer, opinions.c.asker == first).values(told=asdict(notice))
                )

    def _opinion(self, before: Opinion, helpful: bool | None, vote: Vote) -> Opinion:
        if helpful is None:
            return Opinion(None, "")
        if vote.reason and vote.helpful == helpful:
            return Opinion(helpful, storable(vote.reason, self._redact))
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


def _time(vote: Mapping[str, Any] | None) -> float:
    return float(vote["at"]) if vote else 0.0


def _newest(said: Mapping[str, Mapping[str, Any]]) -> bool | None:
    """Return the newest vote that isn't taken back."""
    valid = [vote for vote in said.values() if vote["helpful"] is not None]
    return bool(max(valid, key=_time)["helpful"]) if valid else None


def _notice(told: Mapping[str, Any]) -> PostedNotice | None:
    return PostedNotice(**told) if "ts" in told else None


def _notice_about(connection: Connection, answer_id: str) -> PostedNotice | None:
    """Return the message about an answer; the first of several, as older versions posted them."""
    rows = connection.execute(select(opinions.c.told).where(opinions.c.answer_id == answer_id)).scalars()
    return min((notice for row in rows if (notice := _notice(row))), key=lambda notice: notice.ts, default=None)
