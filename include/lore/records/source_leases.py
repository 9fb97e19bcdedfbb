"""Leases on sources in the database of the records, which several machines may share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import sleep

from lore.errors import LoreError, RecordsError, SyncError
from lore.records.leases import LeaseStore

__all__ = ["LEASE_SECONDS", "StoredSourceLeases"]

LEASE_SECONDS = 60.0
"""Time after which another run takes the source of a dead process."""
PAUSE_SECONDS = 900.0
"""Time that a run keeps its source between two steps, which may wait for a free worker."""
POLL_SECONDS = 2.0


class StoredSourceLeases:
    """Leases of sources; `open_store` gives the database when a step begins.

    `machine` names the place in which `source_lock` holds, "" if it holds nowhere: a lease that a process of the same
    place left when it died is taken at once. So is one that a run of the same `scheduler` left between its steps: that
    begins no run of a source before the last one has ended.
    """

    def __init__(
        self,
        open_store: Callable[[], LeaseStore],
        *,
        machine: str = "",
        scheduler: str = "",
        seconds: float = LEASE_SECONDS,
        pause: float = PAUSE_SECONDS,
        poll: float = POLL_SECONDS,
    ) -> None:
        self._open = open_store
        self._machine = machine
        self._scheduler = scheduler
        self._seconds = seconds
        self._pause = pause
        self._poll = poll

    @contextmanager
    def begin(self, source_id: str, run_id: str, *, ends: bool, on_wait: Callable[[], object]) -> Iterator[None]:
        """See `SourceLeases.begin`."""
        store, key = self._open(), _key(source_id)
        waits = False
        while not (store.extend(key, run_id, self._seconds) or store.take(key, run_id, self._seconds)):
            if self._end_of_dead(store, key):
                continue
            if not waits:
                waits = True
                on_wait()
            sleep(self._poll)
        store.note(key, run_id, {"run": run_id, "machine": self._machine})
        with self._kept(store, source_id, run_id, ends=ends):
            yield
            if not store.note(key, run_id, {"machine": self._scheduler}):
                raise _superseded(source_id)

    @contextmanager
    def go_on(self, source_id: str, run_id: str, *, ends: bool) -> Iterator[None]:
        """See `SourceLeases.go_on`."""
        store, key = self._open(), _key(source_id)
        last = any(one.key == key for one in store.noted("run", run_id))
        again = last and (store.extend(key, run_id, self._seconds) or store.take(key, run_id, self._seconds))
        if not again and not store.add(key, run_id, self._seconds, {"run": run_id}):  # added if the records are new
            raise _superseded(source_id)
        with self._kept(store, source_id, run_id, ends=ends):
            yield

    def _end_of_dead(self, store: LeaseStore, key: str) -> bool:
        """Release the lease of a process that held the `source_lock` of this place, as the caller does now, or of a
        run that the scheduler has ended.
        """
        places = [place for place in (self._machine, self._scheduler) if place]
        left = [one for place in places for one in store.noted("machine", place) if one.key == key]
        return bool([one for one in left if store.release(key, one.owner)])

    @contextmanager
    def _kept(self, store: LeaseStore, source_id: str, run_id: str, *, ends: bool) -> Iterator[None]:
        """Extend the lease while the step runs, and end it with the run: with an error that no retry helps, too."""
        key, done = _key(source_id), Event()

        def extend() -> None:
            while not done.wait(self._seconds / 4):
                with suppress(RecordsError):  # the next time may be early enough
                    store.extend(key, run_id, self._seconds)

        keeper = Thread(target=extend, name=f"lease of {source_id}", daemon=True)
        keeper.start()
        goes_on = False
        try:
            yield
            goes_on = not ends
        except LoreError as error:
            goes_on = error.retryable and not ends
            raise
        finally:
            done.set()
            keeper.join()
            with suppress(RecordsError):
                if goes_on:
                    store.extend(key, run_id, self._pause)
                else:
                    store.release(key, run_id)


def _key(source_id: str) -> str:
    return f"sync:{source_id}"


def _superseded(source_id: str) -> SyncError:
    return SyncError(
        f"Another sync of {source_id} has begun since this run read it, so nothing more of this run is indexed.",
        remedy="Nothing is lost: what the other sync reads is newer.",
    )
