"""Tables that stay at one commit for as long as a search lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from include.lore.stores.lance_folder import Table

__all__ = ["LanceReaders"]


class LanceReaders:
    """Handles on one table, each lent to one search at a time and brought to the newest commit before.

    Several steps of a search then see the same rows under the same numbers, whatever is written meanwhile. `open`
    gives a handle of a connection that does not look for newer commits by itself. As many handles are kept as searches
    ran at once.
    """

    def __init__(self, open: Callable[[], Table]) -> None:
        self._open = open
        self._idle: list[Table] = []

    @contextmanager
    def newest(self) -> Iterator[Table]:
        """A table at its newest commit; it is given up where reading it fails."""
        try:
            table = self._idle.pop()
        except IndexError:
            table = self._open()
        else:
            table.checkout_latest()
        yield table
        self._idle.append(table)
