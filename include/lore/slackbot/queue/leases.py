"""Leases on questions: which process answers one, and what the asker may already see.

Each question, and each "help" or "forget me", is one row of the table `lore_claims`, inserted once, however often Slack
delivers it. The row goes through these states:

    received ──▶ leased ──▶ posted ──▶ answered | failed
                   ▲           │
                   └───────────┘  the lease ended, or was given back

    received   inserted by the process that Slack delivered it to, before Slack gets its acknowledgement
    leased     waits in one process's queue, or is being answered there; which extends the lease
    posted     the asker may see something: `kind` says what, noted before it is posted, and `shown` where, noted after
    answered   finished: the answer is complete, and no process takes the question again
    failed     finished: the asker was told why there is no answer

A lease ends when its process dies or stands still, and is given back when the bot stops. Another process, or the next
start, then takes the question over; `interrupted.settle` decides by `kind`, and by the messages in Slack, whether the
question is answered from the beginning or ends with an apology.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock, RLock
from time import monotonic
from typing import TYPE_CHECKING, Any

from lore.errors import LoreError, RecordsError
from lore.slackbot.slack_api.error_log import ErrorLog, describe_error
from lore.slackbot.types import SlackCallError, SlackQuestion

if TYPE_CHECKING:
    from lore.records.leases import LeaseRecord, LeaseStore

__all__ = ["LEASE_SECONDS", "HeldLeases", "Lease", "LeaseLost", "question_of"]

LEASE_SECONDS = 30.0
"""Time after which the question of a dead process is taken over."""
TURN_SECONDS = 5.0
KNOWN_KEYS = 10_000
"""So many of the last questions are known without asking the records: a mention comes as two events."""

_STORED = {"via": "way"} | {name: name for name in ("team", "channel", "room", "user", "ts", "thread_ts", "external")}
"""The attributes of a question that are stored, and their names there."""

logger = logging.getLogger(__name__)


class LeaseLost(Exception):  # noqa: N818  not a failure: another process answers
    """The question must get no more messages from here: another process has it, or the lease was closed."""


class Lease:
    """The right to answer one question, until it is finished, released or lost.

    Everything said to the asker is said inside `speaking`, so that closing the lease from another thread is the last
    word.
    """

    def __init__(
        self, question: SlackQuestion, leases: HeldLeases, *, attempts: int, data: Mapping[str, Any], until: float
    ) -> None:
        self.question = question
        self.attempts = attempts
        self.data = dict(data)
        self.until = until
        self.closed = False
        self.status = ""
        """The bot's current activity, in words for the asker."""
        self.shown_status = ""
        self.shown_status_at = 0.0
        self.is_showing_status = False
        """True while a background thread is about to show the status."""
        self.refusal: SlackCallError | None = None
        """Why Slack takes no message to the asker, where that is known."""
        self._leases = leases
        self._lock = RLock()

    @property
    def kind(self) -> str:
        """The part of the answer that the asker may see: "" for none, "placeholder", "message" or "stream".

        Only the asker sees "ephemeral", an answer, and "told", a notice.
        """
        return str(self.data.get("kind", ""))

    @property
    def shown(self) -> str:
        """The ts of the answer's first message; "" where there is none, or it isn't known."""
        return str(self.data.get("shown", ""))

    @property
    def quick_reply(self) -> str:
        """The reply to somebody who asked nothing, such as a greeting; "" for a question."""
        return str(self.data.get("courtesy", ""))

    @property
    def is_awaited(self) -> bool:
        """True if somebody waits for a reply: the message speaks to the bot, as far as is known."""
        return self.question.via not in ("thread", "auto") or "addressed" in self.data

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Keep every other thread from speaking to the asker meanwhile. Raises LeaseLost."""
        with self._lock:
            if not self.closed and self._leases.clock() >= self.until:
                self._leases.extend_one(self)
            if self.closed:
                raise LeaseLost(self.question.key)
            yield

    @contextmanager
    def handling(self, errors: ErrorLog) -> Iterator[None]:
        """Log what goes wrong, and end the lease: what Slack refuses is finished, the rest is taken over later."""
        try:
            yield
        except LeaseLost:
            logger.info("Another process answers a question in %s.", self.question.channel)
            self.abandon()
        except LoreError as error:
            errors.report(error, self.question.channel)
            self.abandon()
            if isinstance(error, RecordsError):
                self._leases.is_store_down = True
            elif isinstance(error, SlackCallError) and not error.retryable:
                with self.handling(errors):
                    self.finish()
        except Exception as error:
            logger.error("A question in %s was not answered: %s", self.question.channel, describe_error(error))
            self.abandon()

    def note(self, **data: str) -> None:
        """Store what the next owner of the lease must know. Raises LeaseLost and RecordsError."""
        if not self._leases.renew(self, lambda: self._leases.store.note(self.question.key, self._leases.owner, data)):
            self.closed = True
            raise LeaseLost(self.question.key)
        self.data |= data

    def others(self) -> list[Mapping[str, Any]]:
        """Return what is noted for the other questions in the thread. Raises RecordsError."""
        question = self.question
        same = self._leases.store.noted("thread_ts", question.thread_ts)
        return [one.data for one in same if one.key != question.key and one.data.get("channel") == question.channel]

    def close(self, seconds: float = -1) -> bool:
        """Stop all messages to the asker, after waiting so long for the current one; False if that took longer."""
        is_quiet = self._lock.acquire(timeout=seconds)
        self.closed = True
        if is_quiet:
            self._lock.release()
        return is_quiet

    def finish(self) -> None:
        """End it for good: no process takes the question again. Raises RecordsError."""
        self._close()
        self._leases.renew(self, lambda: self._leases.store.finish(self.question.key, self._leases.owner))

    def release(self) -> None:
        """Give the question to the next process that looks. Raises RecordsError."""
        self._close()
        self._leases.renew(self, lambda: self._leases.store.release(self.question.key, self._leases.owner))

    def abandon(self) -> None:
        """Leave the question to the process that looks first after the lease has ended."""
        self._close()
        with suppress(RecordsError):
            self._leases.add_again(self)

    def _close(self) -> None:
        self.closed = True
        self._leases.drop(self)


class HeldLeases:
    """All leases of this process, kept in `store`.

    A lease lasts `lease_seconds` and a write waits at most `turn` seconds for its turn. `clock` is in seconds and never
    goes back.
    """

    def __init__(
        self,
        store: LeaseStore,
        owner: str,
        *,
        lease_seconds: float = LEASE_SECONDS,
        turn: float = TURN_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.store = store
        self.owner = owner
        self.clock = clock
        self.is_store_down = False
        """True if the last attempt to reach the store failed."""
        self._seconds = lease_seconds
        self._turn = turn
        self._held: dict[str, Lease] = {}
        self._lock = Lock()
        self._writing = Lock()
        self._known: OrderedDict[str, None] = OrderedDict()

    def acquire(self, question: SlackQuestion, *, quick_reply: str = "") -> Lease | None:
        """Take a question that came in, or a message that gets a `quick_reply`; None if it was delivered before.

        Raises RecordsError.
        """
        data = {key: getattr(question, name) for name, key in _STORED.items()}
        if quick_reply:
            data["courtesy"] = quick_reply
        with self._in_turn():
            if question.key in self._known:
                return None
            until = self.clock() + self._seconds
            is_new = self.store.add(question.key, self.owner, self._seconds, data)
            self._known[question.key] = None
            if len(self._known) > KNOWN_KEYS:
                self._known.popitem(last=False)
        return self._keep(Lease(question, self, attempts=1, data=data, until=until)) if is_new else None

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Queue up writers in order, where SQLite would let them poll for its lock.

        Raises RecordsError where the turn doesn't come in time: Slack delivers the question again.
        """
        if not self._writing.acquire(timeout=self._turn):
            raise RecordsError("The records are too slow to store a question.", retryable=True)
        try:
            yield
        finally:
            self._writing.release()

    def take_over(self, record: LeaseRecord) -> Lease | None:
        """Take a question whose lease ended, without its text; None if another process was faster, or if this one still
        holds it and was only too slow to extend it. Raises RecordsError.
        """
        with self._lock:
            if record.key in self._held:
                return None
        until = self.clock() + self._seconds
        taken = self.store.take(record.key, self.owner, self._seconds)
        if taken is None:
            return None
        return self._keep(Lease(question_of(taken), self, attempts=taken.attempts, data=taken.data, until=until))

    def reopen(self, lease: Lease) -> Lease:
        """Return a closed lease anew, so that the asker can get one more message."""
        return self._keep(Lease(lease.question, self, attempts=lease.attempts, data=lease.data, until=lease.until))

    def add_again(self, lease: Lease) -> bool:
        """Store a lease of which the store knows nothing, because the records were damaged and begun anew.

        False if the store knows it. Raises RecordsError.
        """
        return self.store.add(lease.question.key, self.owner, self._seconds, lease.data)

    def renew(self, lease: Lease, write: Callable[[], bool]) -> bool:
        """Write to a stored lease, which is stored again if it is missing; False if it is lost. Raises RecordsError."""
        return write() or (self.add_again(lease) and write())

    def extend(self) -> None:
        """Extend all leases, and close those that were lost. Never raises."""
        with self._lock:
            held = dict(self._held)
        until = self.clock() + self._seconds
        was_down = self.is_store_down
        try:
            kept = self.store.extend_all(held.keys(), self.owner, self._seconds)
            kept |= {key for key, lease in held.items() if key not in kept and self.add_again(lease)}
        except RecordsError as error:
            self.is_store_down = True
            if not was_down:
                logger.warning("Couldn't extend the leases on questions: %s", error)
            return
        self.is_store_down = False
        for key, lease in held.items():
            if key in kept:
                lease.until = until
            else:
                lease.abandon()

    def extend_one(self, lease: Lease) -> None:
        """Extend a lease that may have ended; close it where that fails."""
        until = self.clock() + self._seconds
        try:
            is_kept = self.renew(lease, lambda: self.store.extend(lease.question.key, self.owner, self._seconds))
        except RecordsError:
            is_kept = False
        lease.until = until
        lease.closed = lease.closed or not is_kept

    def drop(self, lease: Lease) -> None:
        """Stop extending a lease."""
        with self._lock:
            if self._held.get(lease.question.key) is lease:
                del self._held[lease.question.key]

    def _keep(self, lease: Lease) -> Lease:
        with self._lock:
            self._held[lease.question.key] = lease
        return lease


def question_of(record: LeaseRecord) -> SlackQuestion:
    """Return the question of a lease without its text, which isn't stored."""
    ids = {name: record.data.get(key, "") for name, key in _STORED.items()}
    return SlackQuestion(key=record.key, text="", **{**ids, "external": bool(ids["external"])})
