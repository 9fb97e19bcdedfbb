"""Fixtures of the store contract."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from lore.protocols import Store, Versions

from tests.contracts.store.entries import (
    MakeStore,
    make_entry,
    open_named,
)


class StoreFixtures:
    """Inherit, set the openers and provide new indexes.

    `opener` is "module:function" of an address and a recipe (default: `RECIPE`), `versions_opener` of an address. They
    are named, not passed, because some tests open the same index from other processes.
    """

    opener: str
    versions_opener: str
    library_states: Sequence[object] = ("fresh", "optimized", "half")

    @pytest.fixture
    def address(self) -> str:
        """The address of a new index for one test."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    def new_address(self) -> Callable[[], str]:
        """A function that returns the address of a new index, which lives as long as the tests of the class."""
        raise NotImplementedError

    @pytest.fixture
    def make_store(self, address: str) -> MakeStore:
        """Opens the same index again at each call, optionally with a recipe."""
        return lambda *recipe: open_named(self.opener, address, *recipe)

    @pytest.fixture
    def store(self, make_store: MakeStore) -> Store:
        return make_store()

    @pytest.fixture
    def versions(self, address: str) -> Versions:
        return open_named(self.versions_opener, address)  # type: ignore[return-value]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "library" in metafunc.fixturenames:
            metafunc.parametrize("library", self.library_states, indirect=True, scope="class")

    @pytest.fixture(scope="class")
    def library(self, new_address: Callable[[], str], request: pytest.FixtureRequest) -> Store:
        """Thirty documents for tests that only search: unindexed, indexed, or half of each."""
        store = open_named(self.opener, new_address())
        entries = [
            make_entry(f"d{number:02}", [f"filler{number} common", f"topic{number} common words"])
            for number in range(28)
        ]
        entries += [make_entry("walk", ["Deployments were running overnight"]), make_entry("cafe", ["Café terraces"])]
        store.replace(entries[:20])
        if request.param == "half":
            store.optimize()
        store.replace(entries[20:])
        if request.param == "optimized":
            store.optimize()
        return store
