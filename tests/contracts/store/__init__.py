"""The contract of every store. A store's test inherits `StoreContract` and says how to open it."""

from __future__ import annotations

from tests.contracts.store.concurrency import ConcurrencyContract
from tests.contracts.store.entries import (
    DIMENSIONS,
    EMBEDDER,
    OTHER_MODEL,
    RECIPE,
    assert_holds,
    embed,
    make_entry,
    open_named,
    texts,
)
from tests.contracts.store.searching import SearchContract
from tests.contracts.store.versions import VersionsContract
from tests.contracts.store.writing import WritingContract

__all__ = [
    "DIMENSIONS",
    "EMBEDDER",
    "OTHER_MODEL",
    "RECIPE",
    "StoreContract",
    "assert_holds",
    "embed",
    "make_entry",
    "open_named",
    "texts",
]


class StoreContract(WritingContract, SearchContract, ConcurrencyContract, VersionsContract):
    """The whole contract of a store; `StoreFixtures` says what an inheritor provides."""
