"""The contract of every store. A store's test inherits `StoreContract` and says how it is opened."""

from __future__ import annotations

from tests.contracts.store.concurrency import ConcurrencyContract
from tests.contracts.store.entries import (
    DIMENSIONS,
    EMBEDDER,
    OTHER_MODEL,
    RECIPE,
    embed,
    held,
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
    "embed",
    "held",
    "make_entry",
    "open_named",
    "texts",
]


class StoreContract(WritingContract, SearchContract, ConcurrencyContract, VersionsContract):
    """All that a store must do: see `StoreFixtures` for what an inheritor sets."""
