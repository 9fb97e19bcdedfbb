"""The questions that wait, in an order that is fair: in turn for each asker, and one after the other in a thread."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from threading import Condition

from lore.slackbot.queue.leases import Lease

__all__ = ["FairQueue"]


class FairQueue:
    """A bounded queue. Askers take turns, so that one's ten questions hold nobody up; of one asker at most
    `each` are answered at once. The questions of a thread are answered one by one, since one may follow up the other.
    """

    def __init__(self, capacity: int, *, each: int) -> None:
        self._capacity = capacity
        self._each = each
        self._waiting: OrderedDict[str, deque[Lease]] = OrderedDict()
        self._working: list[Lease] = []
        self._closed = False
        self._changed = Condition()

    def put(self, lease: Lease) -> bool:
        """Let a question wait; False where the queue is full or closed."""
        with self._changed:
            if self._closed or len(self) >= self._capacity:
                return False
            self._waiting.setdefault(lease.question.asker, deque()).append(lease)
            self._changed.notify()
            return True

    def take(self) -> Lease | None:
        """The next question, waited for; None once the queue is closed. Say `done` when it is answered."""
        with self._changed:
            while not self._closed:
                if lease := self._next():
                    self._working.append(lease)
                    return lease
                self._changed.wait()
            return None

    def done(self, lease: Lease) -> None:
        """It is no longer worked on: what waited for it may begin."""
        with self._changed:
            self._working.remove(lease)
            self._changed.notify_all()

    def close(self) -> list[Lease]:
        """Give out and take in nothing more; returns what waited."""
        with self._changed:
            self._closed = True
            waiting = self._in_order()
            self._waiting.clear()
            self._changed.notify_all()
            return waiting

    def working(self) -> list[Lease]:
        """What is being answered."""
        with self._changed:
            return list(self._working)

    def waiting(self) -> list[Lease]:
        """What waits, in the order in which it is likely to be answered."""
        with self._changed:
            return self._in_order()

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait so long until nothing waits or is being answered; whether that came true."""
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
            (turn, place, lease)
            for place, leases in enumerate(self._waiting.values())
            for turn, lease in enumerate(leases)
        ]
        return [lease for _, _, lease in sorted(turns, key=lambda one: one[:2])]


def _thread(lease: Lease) -> tuple[str, str]:
    """What is answered one after the other; each command is by itself."""
    return (lease.question.channel, lease.question.thread_ts or lease.question.key)
