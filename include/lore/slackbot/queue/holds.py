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
from lore.slackbot.types import Ask, SlackError

if TYPE_CHECKING:
    from lore.records.claims import Claim, Claims

__all__ = ["LEASE_SECONDS", "ClaimLost", "Hold", "Holds", "ask_of"]

LEASE_SECONDS = 30.0
"""How long after its process died a question is taken over."""

logger = logging.getLogger(__name__)

TURN_SECONDS = 5.0

KNOWN_KEYS = 10_000
"""So many of the last questions are known without asking the records: a mention alone comes as two events."""

_IDS = ("way", "team", "channel", "room", "user", "ts", "thread_ts", "external")


class ClaimLost(Exception):  # noqa: N818  it is no failure: somebody else answers
    """No more is to be said to the question from here: another process has it, or it was closed."""


class Hold:
    """A question that this process alone may answer, until it is finished, released or lost.

    All that is said to the asker is said inside `speaking`, so that closing it from another thread is the last word.
    """

    def __init__(self, ask: Ask, holds: Holds, *, attempts: int, data: Mapping[str, Any], until: float) -> None:
        self.ask = ask
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
        self.refused: SlackError | None = None
        """Why nothing can be said to the asker, where that is known."""
        self._holds = holds
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
    def courtesy(self) -> str:
        """What is to be done where nothing was asked, such as greeting; "" for a question."""
        return str(self.data.get("courtesy", ""))

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Nobody else speaks to the asker meanwhile. Raises ClaimLost."""
        with self._lock:
            if not self.closed and self._holds.clock() >= self.until:
                self._holds.extend_one(self)
            if self.closed:
                raise ClaimLost(self.ask.key)
            yield

    def note(self, **data: str) -> None:
        """Keep something for whoever takes the question over. Raises ClaimLost, and RecordsError."""
        if not self._holds.claims.note(self.ask.key, self._holds.owner, data):
            self.closed = True
            raise ClaimLost(self.ask.key)
        self.data |= data

    def others(self) -> list[Mapping[str, Any]]:
        """What is noted of the other questions in the same thread. Raises RecordsError."""
        known = self._holds.claims.noted("thread_ts", self.ask.thread_ts)
        return [one.data for one in known if one.key != self.ask.key and one.data.get("channel") == self.ask.channel]

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
        self._holds.claims.finish(self.ask.key, self._holds.owner)

    def release(self) -> None:
        """Let somebody else take the question over at once. Raises RecordsError."""
        self._leave()
        self._holds.claims.release(self.ask.key, self._holds.owner)

    def abandon(self) -> None:
        """Let somebody else take the question over when the lease ends: this process cannot answer it now."""
        self._leave()

    def _leave(self) -> None:
        self.closed = True
        self._holds.forget(self)


class Holds:
    """All that this process holds. `clock` is in seconds and never goes back; leases last for `lease` seconds, and what
    is to be kept waits `turn` seconds for its turn.
    """

    def __init__(
        self,
        claims: Claims,
        owner: str,
        *,
        lease: float = LEASE_SECONDS,
        turn: float = TURN_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.claims = claims
        self.owner = owner
        self.lease = lease
        self._turn = turn
        self.clock = clock
        self._held: dict[str, Hold] = {}
        self._lock = Lock()
        self._writing = Lock()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._failing = False

    def first(self, ask: Ask, *, courtesy: str = "") -> Hold | None:
        """Hold a question that came in, or a `courtesy`; None where it was delivered before. Raises RecordsError."""
        data = {name: getattr(ask, name) for name in _IDS} | ({"courtesy": courtesy} if courtesy else {})
        with self._in_turn():
            if ask.key in self._known:
                return None
            until = self.clock() + self.lease
            is_first = self.claims.first(ask.key, self.owner, self.lease, data)
            self._known[ask.key] = None
            if len(self._known) > KNOWN_KEYS:
                self._known.popitem(last=False)
        if not is_first:
            return None
        return self._keep(Hold(ask, self, attempts=1, data=data, until=until))

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

    def take_over(self, claim: Claim) -> Hold | None:
        """Hold a question whose owner died; None where somebody else was faster, or where this process has it and was
        only too slow to extend it. Its text is not known yet.
        """
        with self._lock:
            if claim.key in self._held:
                return None
        until = self.clock() + self.lease
        taken = self.claims.take(claim.key, self.owner, self.lease)
        if taken is None:
            return None
        return self._keep(Hold(ask_of(taken), self, attempts=taken.attempts, data=taken.data, until=until))

    def reopen(self, hold: Hold) -> Hold:
        """A question that was closed, held anew, so that something can be said to it once more."""
        return self._keep(Hold(hold.ask, self, attempts=hold.attempts, data=hold.data, until=hold.until))

    def extend(self) -> None:
        """Hold all for another lease; those that were lost are closed. Never raises."""
        with self._lock:
            held = dict(self._held)
        until = self.clock() + self.lease
        try:
            kept = self.claims.extend_all(held.keys(), self.owner, self.lease)
        except RecordsError as error:
            if not self._failing:
                logger.warning("What is being answered cannot be held: %s", error)
            self._failing = True
            return
        if self._failing:
            logger.warning("What is being answered is held again.")
        self._failing = False
        for key, hold in held.items():
            if key in kept:
                hold.until = until
            else:
                hold.closed = True
                self.forget(hold)

    def extend_one(self, hold: Hold) -> None:
        """Hold one whose lease may have ended for another lease; it is closed where that cannot be."""
        until = self.clock() + self.lease
        try:
            kept = self.claims.extend(hold.ask.key, self.owner, self.lease)
        except RecordsError:
            kept = False
        hold.until = until
        hold.closed = hold.closed or not kept

    def forget(self, hold: Hold) -> None:
        """Extend it no more."""
        with self._lock:
            if self._held.get(hold.ask.key) is hold:
                del self._held[hold.ask.key]

    def _keep(self, hold: Hold) -> Hold:
        with self._lock:
            self._held[hold.ask.key] = hold
        return hold


def ask_of(claim: Claim) -> Ask:
    """The question that a claim is of, without its text: that is not kept."""
    ids = {name: claim.data.get(name, "") for name in _IDS}
    return Ask(key=claim.key, text="", **{**ids, "external": bool(ids["external"])})
