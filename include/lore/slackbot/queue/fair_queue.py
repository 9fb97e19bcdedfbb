"""The questions that wait, in an order that is fair: in turn for each asker, and one after the other in a thread."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from threading import Condition

from lore.slackbot.queue.holds import Hold

__all__ = ["FairQueue"]


class FairQueue:
    """A bounded queue. Askers take turns, so that one's ten questions hold nobody up; of one asker at most
    `each` are answered at once. The questions of a thread are answered one by one, since one may follow up the other.
    """

    def __init__(self, capacity: int, *, each: int) -> None:
        self._capacity = capacity
        self._each = each
        self._waiting: OrderedDict[str, deque[Hold]] = OrderedDict()
        self._working: list[Hold] = []
        self._closed = False
        self._changed = Condition()

    def put(self, hold: Hold) -> bool:
        """Let a question wait; False where the queue is full or closed."""
        with self._changed:
            if self._closed or len(self) >= self._capacity:
                return False
            self._waiting.setdefault(hold.ask.asker, deque()).append(hold)
            self._changed.notify()
            return True

    def take(self) -> Hold | None:
        """The next question, waited for; None once the queue is closed. Say `done` when it is answered."""
        with self._changed:
            while not self._closed:
                if hold := self._next():
                    self._working.append(hold)
                    return hold
                self._changed.wait()
            return None

    def done(self, hold: Hold) -> None:
        """It is no longer worked on: what waited for it may begin."""
        with self._changed:
            self._working.remove(hold)
            self._changed.notify_all()

    def close(self) -> list[Hold]:
        """Give out and take in nothing more; returns what waited."""
        with self._changed:
            self._closed = True
            waiting = self._in_order()
            self._waiting.clear()
            self._changed.notify_all()
            return waiting

    def working(self) -> list[Hold]:
        """What is being answered."""
        with self._changed:
            return list(self._working)

    def waiting(self) -> list[Hold]:
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

    def _next(self) -> Hold | None:
        busy = Counter(hold.ask.asker for hold in self._working)
        threads = {_thread(hold) for hold in self._working}
        for asker, holds in self._waiting.items():
            free = next((hold for hold in holds if _thread(hold) not in threads), None)
            if free is None or busy[asker] >= self._each:
                continue
            holds.remove(free)
            self._waiting.move_to_end(asker)  # the others come first now
            if not holds:
                del self._waiting[asker]
            return free
        return None

    def _in_order(self) -> list[Hold]:
        turns = [
            (turn, place, hold) for place, holds in enumerate(self._waiting.values()) for turn, hold in enumerate(holds)
        ]
        return [hold for _, _, hold in sorted(turns, key=lambda one: one[:2])]


def _thread(hold: Hold) -> tuple[str, str]:
    """What is answered one after the other; each command is by itself."""
    return (hold.ask.channel, hold.ask.thread_ts or hold.ask.key)
