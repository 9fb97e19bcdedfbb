"""The database of records: add, find, list, judge and remove answers.

Every method is one transaction (`expire` one for each call) and thread-safe. All raise RecordsError if the database
fails.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import Select, delete, func, insert, select

from lore.errors import ConfigurationError
from lore.records.api_keys import ApiKeys
from lore.records.clean import Redact, short_key, storable, storable_answer
from lore.records.engine import BUSY_SECONDS, explained, insert_for, open_engine, reading
from lore.records.entries import Feedback, Record, Summary
from lore.records.leases import LeaseStore
from lore.records.opinions import Opinions
from lore.records.posted_answers import PostedAnswers
from lore.records.recorder import Finished
from lore.records.rows import PACKED, PARTS, Rows, answer_of, rows_of
from lore.records.schema import bring_up_to_date
from lore.records.sqlite_file import damaged_copies, remove_copies
from lore.records.tables import answers, calls, feedback, opinions, places
from lore.types import Answer

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, ScalarSelect

__all__ = ["Records"]

log = logging.getLogger(__name__)

SHORTEST_ID = 4
BATCH = 200


class Records:
    """The database of questions and answers. Close it when done, or use it in a `with`."""

    def __init__(self, engine: Engine, redact: Redact, retention_days: int = 0) -> None:
        self.engine = engine
        self._redact = redact
        self._retention = timedelta(days=retention_days)
        self._file = Path(engine.url.database or "") if engine.dialect.name == "sqlite" else None

    @classmethod
    def open(cls, url: str, redact: Redact, retention_days: int = 0) -> Records:
        """Open the records behind the URL, creating them or migrating them to this version's schema.

        A damaged file is moved aside, now or later, and begun anew; the log says where it is kept.

        Every text goes through `redact` before it is stored. `tidy` removes answers older than `retention_days`; 0
        keeps them.

        Raises ConfigurationError for an invalid URL and for records of a newer version of Lore, and RecordsError.
        """
        return cls(open_engine(url, bring_up_to_date), redact, retention_days)

    def __enter__(self) -> Records:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def add(self, answer: Answer, asked_at: datetime | None = None) -> str:
        """Keep an answer and return its id. Adding it again changes nothing.

        `asked_at` is the time of the question; by default the start of the answering.
        """
        if asked_at is None:
            asked_at = datetime.now(UTC) - timedelta(seconds=answer.trace.seconds.get("total", 0.0))
        return self.add_all([Finished(answer, asked_at)])[0]

    def add_all(self, finished: Sequence[Finished]) -> list[str]:
        """Keep several answers, all or none, and return their ids."""
        kept = [(storable_answer(one.answer, self._redact), one.asked_at) for one in finished]
        named = [(answer.id or uuid4().hex, answer, asked_at) for answer, asked_at in kept]
        made = {name: rows_of(answer, asked_at) for name, answer, asked_at in reversed(named)}
        new = insert_for(self.engine)(answers).on_conflict_do_nothing().returning(answers.c.id)
        with explained("written"), self.engine.begin() as connection:
            rows = [{**rows.answer, "id": name} for name, rows in made.items()]
            added = set(connection.execute(new, rows).scalars())
            for table in (table for table in PARTS if table not in PACKED):
                parts = [{**part, "answer_id": name} for name in added for part in made[name].parts[table.name]]
                if parts:
                    connection.execute(insert(table), parts)
        return [name for name, _, _ in named]

    def get(self, answer_id: str) -> Record:
        """Return the record with that id or unique beginning of one. Raises ConfigurationError otherwise."""
        with explained("read"), reading(self.engine) as connection:
            found = self._find(connection, answer_id)
            [row] = _rows(connection, select(answers).where(answers.c.id == found))
            parts = {table.name: _rows(connection, select(table).where(table.c.answer_id == found)) for table in PARTS}
            given = _rows(connection, select(feedback).where(feedback.c.answer_id == found))
        ordered = {name: sorted(rows, key=lambda part: part["ordinal"]) for name, rows in parts.items()}
        return Record(
            answer_of(Rows(row, ordered)),
            row["asked_at"],
            tuple(
                Feedback(one["asker"], one["helpful"], one["reason"], one["given_at"])
                for one in sorted(given, key=lambda one: one["given_at"])
            ),
        )

    def latest(
        self, limit: int, *, since: datetime | None = None, found: bool | None = None, asker: str | None = None
    ) -> list[Summary]:
        """Return summaries of the answers, newest first, filtered by `found` and `asker`."""
        query = _summaries().order_by(answers.c.asked_at.desc(), answers.c.id).limit(limit)
        if since is not None:
            query = query.where(answers.c.asked_at >= since)
        if found is not None:
            query = query.where(answers.c.found == found)
        if asker is not None:
            query = query.where(answers.c.asker == short_key(asker))
        with explained("read"), reading(self.engine) as connection:
            return [_summary(row) for row in _rows(connection, query)]

    def count(self) -> int:
        """Return the number of answers."""
        with explained("read"), reading(self.engine) as connection:
            return connection.execute(select(func.count()).select_from(answers)).scalar_one()

    # --------------------------------------------------------------------------------------------------- feedback

    def judge(self, answer_id: str, helpful: bool, *, asker: str = "", reason: str = "") -> str:
        """Keep a person's feedback on an answer, replacing their earlier one; return the answer's full id.

        Raises ConfigurationError unless exactly one answer matches.
        """
        row = {"asker": short_key(asker), "helpful": helpful, "reason": storable(reason, self._redact)}
        with explained("written"), self.engine.begin() as connection:
            row |= {"answer_id": self._find(connection, answer_id), "given_at": datetime.now(UTC)}
            changed = {name: row[name] for name in ("helpful", "reason", "given_at")}
            put = insert_for(self.engine)(feedback).values(row)
            connection.execute(put.on_conflict_do_update(index_elements=["answer_id", "asker"], set_=changed))
        return str(row["answer_id"])

    def withdraw(self, answer_id: str, *, asker: str = "") -> bool:
        """Remove a person's feedback on an answer; return True if there was any."""
        with explained("written"), self.engine.begin() as connection:
            found = self._find(connection, answer_id)
            gone = delete(feedback).where(feedback.c.answer_id == found, feedback.c.asker == short_key(asker))
            return connection.execute(gone).rowcount > 0

    def opinions(self) -> Opinions:
        """Return people's opinions in a chat, from which their feedback follows."""
        return Opinions(self.engine, self._redact)

    def api_keys(self) -> ApiKeys:
        """Return the keys of the API."""
        return ApiKeys(self.engine)

    # ---------------------------------------------------------------------------------------------------- removal

    def forget(self, asker: str) -> int:
        """Remove everything recorded about a person: their questions with the answers, the messages that held these,
        and their feedback on others' answers.

        Returns the number of removed answers. Raises ConfigurationError for "", which stands for all unknown people.
        """
        who = short_key(asker)
        if not who:
            raise ConfigurationError("No person is named.", remedy="Give the id that `lore answers list` shows.")
        with explained("removed"), self.engine.begin() as connection:
            connection.execute(delete(feedback).where(feedback.c.asker == who))
            connection.execute(delete(opinions).where(opinions.c.asker == who))
            connection.execute(delete(places).where(places.c.asker == who))
            gone = connection.execute(delete(answers).where(answers.c.asker == who)).rowcount
        self._write_over()
        if self._file is not None and (copies := damaged_copies(self._file)):
            log.warning(
                "What damaged records held of the person is not removed. Delete: %s", ", ".join(map(str, copies))
            )
        return gone

    def expire(self, before: datetime, limit: int = BATCH) -> int:
        """Remove the oldest answers asked before the moment, at most `limit`; return their number."""
        old = select(answers.c.id).where(answers.c.asked_at < before).order_by(answers.c.asked_at).limit(limit)
        with explained("removed"), self.engine.begin() as connection:
            gone = connection.execute(delete(answers).where(answers.c.id.in_(old))).rowcount
        if 0 < gone < limit:
            self._write_over()
        return gone

    def tidy(self) -> bool:
        """Remove a batch of expired answers; return True if there may be more."""
        if self._retention:
            before = datetime.now(UTC) - self._retention
            if self.expire(before):
                return True
            PostedAnswers(self.engine).expire(before)
            if self._file is not None:
                remove_copies(self._file, before)
        LeaseStore(self.engine).prune()
        return False

    def _write_over(self) -> None:
        """Erase removed data from SQLite's log too, as far as readers allow."""
        if self.engine.dialect.name == "sqlite":
            with explained("removed"), self.engine.connect() as connection:
                raw = connection.connection.dbapi_connection
                assert raw is not None  # noqa: S101  the connection is open
                raw.execute("PRAGMA busy_timeout = 500")  # writers wait meanwhile; a later checkpoint does it, too
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                raw.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}")

    def _find(self, connection: Connection, beginning: str) -> str:
        beginning = short_key(beginning)
        wanted = select(answers.c.id).where(answers.c.id == beginning)
        if (exact := connection.execute(wanted).scalar()) is not None:
            return str(exact)
        if len(beginning) < SHORTEST_ID:
            raise ConfigurationError(
                f"The id {beginning!r} is too short.", remedy=f"Give at least {SHORTEST_ID} characters of it."
            )
        like = answers.c.id.startswith(beginning, autoescape=True)
        found = connection.execute(select(answers.c.id).where(like).order_by(answers.c.id).limit(4)).scalars().all()
        if len(found) == 1:
            return str(found[0])
        if not found:
            raise ConfigurationError(f"There is no answer {beginning!r}.", remedy="See them with: lore answers list")
        raise ConfigurationError(
            f"Several answers begin with {beginning!r}: {', '.join(found[:3])}{' …' if found[3:] else ''}.",
            remedy="Give more characters of the id.",
        )


def _rows(connection: Connection, query: Select[Any]) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.execute(query).mappings()]


def _summaries() -> Select[Any]:
    columns = ("id", "asked_at", "surface", "asker", "question", "found", "seconds")
    return select(
        *(answers.c[name] for name in columns),
        _of_calls(func.count()).label("calls"),
        _of_calls(func.count(calls.c.cost)).label("priced"),
        _of_calls(func.sum(calls.c.cost)).label("cost"),
        _opinions(helpful=True).label("helpful"),
        _opinions(helpful=False).label("unhelpful"),
    )


def _of_calls(figure: Any) -> ScalarSelect[Any]:
    return select(figure).select_from(calls).where(calls.c.answer_id == answers.c.id).scalar_subquery()


def _opinions(*, helpful: bool) -> ScalarSelect[Any]:
    of_answer = (feedback.c.answer_id == answers.c.id, feedback.c.helpful == helpful)
    return select(func.count()).select_from(feedback).where(*of_answer).scalar_subquery()


def _summary(row: Mapping[str, Any]) -> Summary:
    values = dict(row)
    complete = values.pop("priced") == values["calls"]
    values["cost"] = (values["cost"] or 0.0) if complete else None
    return Summary(**values)
