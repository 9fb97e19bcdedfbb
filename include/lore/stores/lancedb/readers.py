"""Tables pinned to one commit for the length of a search, and the event loop that searches run on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

__all__ = ["AsyncTable", "LanceReaders", "run"]

AsyncTable: TypeAlias = Any
"""A `lancedb.AsyncTable`; its own annotations lack half of its query methods."""

Result = TypeVar("Result")


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run the coroutine on the event loop of LanceDB's blocking methods; return or raise what it does.

    Each blocking method crosses over to that loop and back, so combine several steps into one coroutine. Never call a
    blocking method inside it: it would wait for itself. Use a handle on the loop that opened it.

    A forked child gets a new loop, but LanceDB itself may crash there if the parent used it before: fork first.
    """
    from lancedb.background_loop import LOOP

    result: Result = LOOP.run(coroutine)  # type: ignore[no-untyped-call]
    return result


class LanceReaders:
    """A pool of handles on one table, each lent to one search at a time and moved to the newest commit first.

    All steps of a search then see the same rows under the same numbers, whatever is written meanwhile. `open` returns a
    handle of a connection that does not look for newer commits by itself. The pool grows with concurrent searches.
    """

    def __init__(self, open: Callable[[], Awaitable[AsyncTable]]) -> None:
        self._open = open
        self._idle: list[AsyncTable] = []

    @asynccontextmanager
    async def newest(self) -> AsyncIterator[AsyncTable]:
        """Lend a table at its newest commit; a handle whose read failed is discarded."""
        try:
            table = self._idle.pop()
        except IndexError:
            table = await self._open()
        else:
            await table.checkout_latest()
        yield table
        self._idle.append(table)
