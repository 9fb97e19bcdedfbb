"""A pool of connections that nobody uses while the process forks."""

from __future__ import annotations

from collections import Counter
from threading import Condition, get_ident
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy.pool import QueuePool

if TYPE_CHECKING:
    from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

__all__ = ["ForkGate", "ForkSafePool"]


class ForkGate:
    """Lets threads use connections, except while one of them forks the process."""

    def __init__(self) -> None:
        self._changed = Condition()  # held during the fork, so that the child gets it in a known state
        self._users: Counter[int] = Counter()

    def enter(self) -> None:
        """Begin to use a connection; wait while the process forks."""
        with self._changed:
            self._users[get_ident()] += 1

    def leave(self, thread: int) -> None:
        """End a use that the thread began."""
        with self._changed:
            self._users[thread] -= 1
            self._users += Counter()  # drops those at 0
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """Wait so long for all other threads to end their uses, and keep new ones out until `open`."""
        self._changed.acquire()
        self._changed.wait_for(lambda: self._users.keys() <= {get_ident()}, seconds)

    def open(self, *, in_child: bool) -> None:
        """Let threads in again; of them, a child has the one that forked."""
        if in_child:
            self._users = Counter({thread: uses for thread, uses in self._users.items() if thread == get_ident()})
        self._changed.release()


class ForkSafePool(QueuePool):
    """A pool whose connections are used inside its gate, from before they are opened until they are back."""

    gate: ForkGate

    def connect(self) -> PoolProxiedConnection:
        self.gate.enter()
        try:
            connection = super().connect()
        except BaseException:
            self.gate.leave(get_ident())
            raise
        cast(dict[str, Any], connection.record_info)["thread"] = get_ident()  # another one may return it
        return connection

    def recreate(self) -> ForkSafePool:
        pool = cast(ForkSafePool, super().recreate())
        pool.gate = self.gate
        return pool

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        super()._do_return_conn(record)
        thread = cast(dict[str, Any], record.record_info).pop("thread", None)
        if thread is not None:  # else `connect` failed, and leaves itself
            self.gate.leave(thread)
