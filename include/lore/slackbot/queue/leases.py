"""Questions that this process holds: claimed in the records, extended while they wait and are answered.

What a crash must not forget of a question is noted in its claim, before and after the first message that the asker
sees. Whoever takes it over then knows whether to answer it or to apologize.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock, RLock
from time import monotonic
from typing import TYPE_CHECKING, Any

from lore.errors import RecordsError
from lore.slackbot.types import SlackCallError, SlackQuestion

if TYPE_CHECKING:
    from lore.records.leases import LeaseRecord, LeaseStore

__all__ = ["LEASE_SECONDS", "HeldLeases", "Lease", "LeaseLost", "question_of"]

LEASE_SECONDS = 30.0
"""How long after its process died a question is taken over."""

logger = logging.getLogger(__name__)

TURN_SECONDS = 5.0

KNOWN_KEYS = 10_000
"""So many of the last questions are known without asking the records: a mention alone comes as two events."""

_IDS = {"via": "way"} | {name: name for name in ("team", "channel", "room", "user", "ts", "thread_ts", "external")}
"""What is kept of a question, and the name it is kept under: records of an earlier Lore have these."""


class LeaseLost(Exception):  # noqa: N818  it is no failure: somebody else answers
    """No more is to be said to the question from here: another process has it, or it was closed."""


class Lease:
    """A question that this process alone may answer, until it is finished, released or lost.

    All that is said to the asker is said inside `speaking`, so that closing it from another thread is the last word.
    """

    def __init__(
        self, question: SlackQuestion, leases: HeldLeases, *, attempts: int, data: Mapping[str, Any], until: float
    ) -> None:
        self.question = question
        self.attempts = attempts
        self.data = dict(data)
        self.until = until
        self.closed = False
        self.doing = ""
        """What is being done, in words for the asker."""
        self.sign = ""
        """What the asker was last told, and when."""
        self.signed_at = 0.0
        self.signing = False
        """Whether the asker is about to be told."""
        self.refused: SlackCallError | None = None
        """Why nothing can be said to the asker, where that is known."""
        self._leases = leases
        self._lock = RLock()

    @property
    def kind(self) -> str:
        """What of the answer stands in Slack, or may stand there: "" for nothing, "placeholder", "message", "stream" or
        "ephemeral".
        """
        return str(self.data.get("kind", ""))

    @property
    def shown(self) -> str:
        """The ts of the message that the answer is in; "" where there is none, or where it is not known."""
        return str(self.data.get("shown", ""))

    @property
    def quick_reply(self) -> str:
        """What is to be done where nothing was asked, such as greeting; "" for a question."""
        return str(self.data.get("courtesy", ""))

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Nobody else speaks to the asker meanwhile. Raises LeaseLost."""
        with self._lock:
            if not self.closed and self._leases.clock() >= self.until:
                self._leases.extend_one(self)
            if self.closed:
                raise LeaseLost(self.question.key)
            yield

    def note(self, **data: str) -> None:
        """Keep something for whoever takes the question over. Raises LeaseLost, and RecordsError."""
        if not self._leases.claims.note(self.question.key, self._leases.owner, data):
            self.closed = True
            raise LeaseLost(self.question.key)
        self.data |= data

    def others(self) -> list[Mapping[str, Any]]:
        """What is noted of the other questions in the same thread. Raises RecordsError."""
        known = self._leases.claims.noted("thread_ts", self.question.thread_ts)
        return [
            one.data
            for one in known
            if one.key != self.question.key and one.data.get("channel") == self.question.channel
        ]

    def close(self, seconds: float = -1) -> bool:
        """Let nothing more be said to the asker; waits so long for what is being said. False where that took longer."""
        if not self._lock.acquire(timeout=seconds):
            self.closed = True
            return False
        self.closed = True
        self._lock.release()
        return True

    def finish(self) -> None:
        """The question is answered, or will never be: nobody takes it over. Raises RecordsError."""
        self._leave()
        self._leases.claims.finish(self.question.key, self._leases.owner)

    def release(self) -> None:
        """Let somebody else take the question over at once. Raises RecordsError."""
        self._leave()
        self._leases.claims.release(self.question.key, self._leases.owner)

    def abandon(self) -> None:
        """Let somebody else take the question over when the lease ends: this process cannot answer it now."""
        self._leave()

    def _leave(self) -> None:
        self.closed = True
        self._leases.forget(self)


class HeldLeases:
    """All that this process holds. `clock` is in seconds and never goes back; leases last for `lease` seconds, and what
    is to be kept waits `turn` seconds for its turn.
    """

    def __init__(
        self,
        claims: LeaseStore,
        owner: str,
        *,
        lease_seconds: float = LEASE_SECONDS,
        turn: float = TURN_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.claims = claims
        self.owner = owner
        self.lease_seconds = lease_seconds
        self._turn = turn
        self.clock = clock
        self._held: dict[str, Lease] = {}
        self._lock = Lock()
        self._writing = Lock()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._failing = False

    def first(self, question: SlackQuestion, *, quick_reply: str = "") -> Lease | None:
        """Hold a question that came in, or a `courtesy`; None where it was delivered before. Raises RecordsError."""
        data = {key: getattr(question, name) for name, key in _IDS.items()} | (
            {"courtesy": quick_reply} if quick_reply else {}
        )
        with self._in_turn():
            if question.key in self._known:
                return None
            until = self.clock() + self.lease_seconds
            is_first = self.claims.first(question.key, self.owner, self.lease_seconds, data)
            self._known[question.key] = None
            if len(self._known) > KNOWN_KEYS:
                self._known.popitem(last=False)
        if not is_first:
            return None
        return self._keep(Lease(question, self, attempts=1, data=data, until=until))

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Writers queue up here in order, where SQLite would let them poll for its lock. Raises RecordsError for one
        whose turn does not come: what it would keep is delivered again long before.
        """
        if not self._writing.acquire(timeout=self._turn):
            raise RecordsError("The records are too slow to keep a question.", retryable=True)
        try:
            yield
        finally:
            self._writing.release()

    def take_over(self, claim: LeaseRecord) -> Lease | None:
        """Hold a question whose owner died; None where somebody else was faster, or where this process has it and was
        only too slow to extend it. Its text is not known yet.
        """
        with self._lock:
            if claim.key in self._held:
                return None
        until = self.clock() + self.lease_seconds
        taken = self.claims.take(claim.key, self.owner, self.lease_seconds)
        if taken is None:
            return None
        return self._keep(Lease(question_of(taken), self, attempts=taken.attempts, data=taken.data, until=until))

    def reopen(self, lease: Lease) -> Lease:
        """A question that was closed, held anew, so that something can be said to it once more."""
        return self._keep(Lease(lease.question, self, attempts=lease.attempts, data=lease.data, until=lease.until))

    def extend(self) -> None:
        """Hold all for another lease; those that were lost are closed. Never raises."""
        with self._lock:
            held = dict(self._held)
        until = self.clock() + self.lease_seconds
        try:
            kept = self.claims.extend_all(held.keys(), self.owner, self.lease_seconds)
        except RecordsError as error:
            if not self._failing:
                logger.warning("What is being answered cannot be held: %s", error)
            self._failing = True
            return
        if self._failing:
            logger.warning("What is being answered is held again.")
        self._failing = False
        for key, lease in held.items():
            if key in kept:
                lease.until = until
            else:
                lease.closed = True
                self.forget(lease)

    def extend_one(self, lease: Lease) -> None:
        """Hold one whose lease may have ended for another lease; it is closed where that cannot be."""
        until = self.clock() + self.lease_seconds
        try:
            kept = self.claims.extend(lease.question.key, self.owner, self.lease_seconds)
        except RecordsError:
            kept = False
        lease.until = until
        lease.closed = lease.closed or not kept

    def forget(self, lease: Lease) -> None:
        """Extend it no more."""
        with self._lock:
            if self._held.get(lease.question.key) is lease:
                del self._held[lease.question.key]

    def _keep(self, lease: Lease) -> Lease:
        with self._lock:
            self._held[lease.question.key] = lease
        return lease


def question_of(claim: LeaseRecord) -> SlackQuestion:
    """The question that a claim is of, without its text: that is not kept."""
    ids = {name: claim.data.get(key, "") for name, key in _IDS.items()}
    return SlackQuestion(key=claim.key, text="", **{**ids, "external": bool(ids["external"])})
