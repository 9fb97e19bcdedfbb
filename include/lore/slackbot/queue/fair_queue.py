"""The questions that wait, in a fair order: in turn for each asker, and one after the other in a thread."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from threading import Condition

from lore.slackbot.queue.leases import Lease

__all__ = ["FairQueue"]


class FairQueue:
    """A bounded queue. Askers take turns, so that ten questions of one asker delay nobody else.

    At most `each` questions of one asker are answered at the same time, and one of a thread, since the next may be a
    follow-up.
    """

    def __init__(self, capacity: int, *, each: int) -> None:
        self._capacity = capacity
        self._each = each
        self._waiting: OrderedDict[str, deque[Lease]] = OrderedDict()
        self._working: list[Lease] = []
        self._closed = False
        self._changed = Condition()

    def put(self, lease: Lease) -> bool:
        """Let a question wait; return False if the queue is full or closed."""
        with self._changed:
            if not self.has_room():
                return False
            self._waiting.setdefault(lease.question.asker, deque()).append(lease)
            self._changed.notify()
            return True

    def has_room(self) -> bool:
        """Return True if another question may wait."""
        with self._changed:
            return not self._closed and len(self) < self._capacity

    def take(self) -> Lease | None:
        """Wait for the next question; None once the queue is closed. Call `done` when it is answered."""
        with self._changed:
            while not self._closed:
                if lease := self._next():
                    self._working.append(lease)
                    return lease
                self._changed.wait()
            return None

    def done(self, lease: Lease) -> None:
        """Say that a question is no longer worked on, so that those that waited for it may begin."""
        with self._changed:
            self._working.remove(lease)
            self._changed.notify_all()

    def close(self) -> list[Lease]:
        """Give out and take in nothing more, and return the questions that waited."""
        with self._changed:
            self._closed = True
            waiting = self._in_order()
            self._waiting.clear()
            self._changed.notify_all()
            return waiting

    def working(self) -> list[Lease]:
        """Return the questions being answered."""
        with self._changed:
            return list(self._working)

    def waiting(self) -> list[Lease]:
        """Return the questions that wait, in the order in which they are likely to be answered."""
        with self._changed:
            return self._in_order()

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait so long until no question waits or is being answered; return True if that came true."""
        with self._changed:
            return self._changed.wait_for(lambda: not (self._working or self._waiting), seconds)

    def __len__(self) -> int:
        with self._changed:
            return sum(map(len, self._waiting.values()))

    def _next(self) -> Lease | None:
        busy = Counter(lease.question.asker for lease in self._working)
        threads = {_thread(lease) for lease in self._working}
        for asker, leases in self._waiting.items():
            free = next((lease for lease in leases if _thread(lease) not in threads), None)
            if free is None or busy[asker] >= self._each:
                continue
            leases.remove(free)
            self._waiting.move_to_end(asker)  # the others come first now
            if not leases:
                del self._waiting[asker]
            return free
        return None

    def _in_order(self) -> list[Lease]:
        turns = [
            (turn, place, lease) for place, own in enumerate(self._waiting.values()) for turn, lease in enumerate(own)
        ]
        return [lease for _, _, lease in sorted(turns, key=lambda one: one[:2])]


def _thread(lease: Lease) -> tuple[str, str]:
    """Return the thread of a question; each command is a thread of its own."""
    return (lease.question.channel, lease.question.thread_ts or lease.question.key)
