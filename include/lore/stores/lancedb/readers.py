"""Tables that stay at one commit for as long as a search lasts, and the event loop that their searches run on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

__all__ = ["AsyncTable", "LanceReaders", "run"]

AsyncTable: TypeAlias = Any
"""A `lancedb.AsyncTable`, whose own annotations lack half of what its queries can do."""

Result = TypeVar("Result")


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """What the coroutine returns or raises, run on the loop of LanceDB's own blocking methods.

    Each of those methods crosses over to that loop and back, so several steps are made one coroutine; none of them may
    be called within it, for it would wait for itself. A handle that was opened on this loop must be used on it.

    A process that forks gets another loop in its child; but LanceDB itself may crash there where the parent used it
    before, so fork first.
    """
    from lancedb.background_loop import LOOP

    result: Result = LOOP.run(coroutine)  # type: ignore[no-untyped-call]
    return result


class LanceReaders:
    """Handles on one table, each lent to one search at a time and brought to the newest commit before.

    Several steps of a search then see the same rows under the same numbers, whatever is written meanwhile. `open`
    gives a handle of a connection that does not look for newer commits by itself. As many handles are kept as searches
    ran at once.
    """

    def __init__(self, open: Callable[[], Awaitable[AsyncTable]]) -> None:
        self._open = open
        self._idle: list[AsyncTable] = []

    @asynccontextmanager
    async def newest(self) -> AsyncIterator[AsyncTable]:
        """A table at its newest commit; it is given up where reading it fails."""
        try:
            table = self._idle.pop()
        except IndexError:
            table = await self._open()
        else:
            await table.checkout_latest()
        yield table
        self._idle.append(table)
