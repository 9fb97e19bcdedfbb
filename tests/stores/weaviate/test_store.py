"""The contract of stores, on a real Weaviate server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from tests.contracts.store import StoreContract
from tests.servers.weaviate import Address, remove

pytestmark = pytest.mark.xdist_group("weaviate")


class TestWeaviateStore(StoreContract):
    opener = "tests.stores.weaviate.indexes:open_store"
    versions_opener = "tests.stores.weaviate.indexes:open_versions"
    library_states = (  # `optimize` does nothing here
        "fresh",
        *(pytest.param(state, marks=pytest.mark.slow) for state in ("optimized", "half")),
    )

    @pytest.fixture
    def address(self, weaviate_index: Address) -> str:
        return str(weaviate_index)

    @pytest.fixture(scope="class")
    def new_address(self, weaviate_server: Address) -> Iterator[Callable[[], str]]:
        addresses: list[Address] = []

        def new() -> str:
            addresses.append(weaviate_server.but(prefix=f"T{uuid4().hex}_"))
            return str(addresses[-1])

        yield new
        for address in addresses:
            remove(address)
