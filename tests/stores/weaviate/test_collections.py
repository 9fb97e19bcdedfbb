"""Collections: creation, layout, and errors about a wrong one."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from lore.errors import ConfigurationError, IndexMismatchError, StoreError
from lore.stores.weaviate.collections.schema import CollectionOptions
from lore.stores.weaviate.server.connection import WeaviateServer
from lore.stores.weaviate.store import WeaviateStore
from lore.types import Counts

from tests.contracts.store import RECIPE, assert_holds, embed, make_entry, texts
from tests.servers.weaviate import Address, client_of, names_at, remove
from tests.stores.weaviate.indexes import open_at

pytestmark = pytest.mark.xdist_group("weaviate")


def test_reading_makes_nothing_on_the_server(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.search("x", embed("x"), 5, 0.5)
    store.count()
    store.optimize()
    store.states()
    store.delete("fake", ["fake:a"])
    assert names_at(weaviate_index) == set()


def test_importing_the_store_loads_neither_the_client_nor_numpy() -> None:
    heavy = "weaviate", "grpc", "httpx", "numpy"
    code = f"import sys, lore.stores.weaviate.store; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("url", ["", "host", "ftp://host", "http://", "http://host:port", "http://host/path"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="LORE_WEAVIATE_URL"):
        WeaviateStore(WeaviateServer(url), RECIPE)


@pytest.mark.parametrize(
    ("index", "quantization"),
    [
        ("hnsw", "rq"),
        ("flat", "bq"),
        *(pytest.param(*pair, marks=pytest.mark.slow) for pair in (("hnsw", "bq"), ("flat", "none"))),
    ],
)
def test_index_and_quantization_are_what_was_set(weaviate_index: Address, index: str, quantization: str) -> None:
    entry = make_entry("a", ["one thing", "another thing"])
    store = open_at(weaviate_index, options=CollectionOptions(1, index, quantization))  # type: ignore[arg-type]
    store.replace([entry])
    assert_holds(store, [entry])
    assert texts(store.search("another", embed("another"), 1, 0.5)) == ["another thing"]
    open_at(weaviate_index, options=CollectionOptions(1, index, quantization)).replace([entry])  # type: ignore[arg-type]
    differing = open_at(weaviate_index)  # who only reads is not told
    assert differing.count() == Counts(1, 2, 2)
    if (index, quantization) != ("hnsw", "none"):
        with pytest.raises(IndexMismatchError) as caught:
            differing.replace([entry])
        assert f"vector index is {index}" in str(caught.value) or f"quantization is {quantization}" in str(caught.value)
        assert "lore index build" in caught.value.remedy


@pytest.mark.parametrize(
    ("shape", "setting"),
    [
        (CollectionOptions(2), "LORE_WEAVIATE_REPLICATION_FACTOR"),
        (CollectionOptions(vector_index="dynamic"), "LORE_WEAVIATE_VECTOR_INDEX"),
    ],
)
def test_what_the_server_cannot_make_names_the_setting_and_is_mended_by_it(
    weaviate_index: Address, shape: CollectionOptions, setting: str
) -> None:
    """The tests' server is a single node without asynchronous indexing."""
    entry = make_entry("a", ["text"])
    with pytest.raises(StoreError, match=setting):
        open_at(weaviate_index, options=shape).replace([entry])
    assert open_at(weaviate_index).count() == Counts(0, 0, 0)
    open_at(weaviate_index).replace([entry])
    assert_holds(open_at(weaviate_index), [entry])


def test_a_schema_that_differs_is_named_field_by_field(weaviate_index: Address) -> None:
    from weaviate.classes.config import Configure, DataType, Property, Tokenization, VectorDistances

    open_at(weaviate_index).replace([make_entry("a", ["text"])])
    name = f"{weaviate_index.prefix}Chunks_1"
    with client_of(weaviate_index) as client:
        client.alias.delete(alias_name=f"{weaviate_index.prefix}Chunks")
        client.collections.delete(name)
        client.collections.create(
            name,
            properties=[
                Property(name="words", data_type=DataType.TEXT, tokenization=Tokenization.WORD, index_searchable=False),
                Property(name="source_id", data_type=DataType.TEXT, index_filterable=False),
                Property(name="payload", data_type=DataType.NUMBER),
            ],
            vector_config=Configure.Vectors.self_provided(
                name="default", vector_index_config=Configure.VectorIndex.hnsw(distance_metric=VectorDistances.DOT)
            ),
        )
    with pytest.raises(IndexMismatchError) as caught:
        open_at(weaviate_index)
    for part in (
        f"{name}: words.indexSearchable is False, not True",
        f"{name}: words.tokenization is word, not whitespace",
        f"{name}: source_id.indexFilterable is False, not True",
        f"{name}: payload.dataType is number, not text",
        f"{name}: checksum is missing",
        f"{name}: stopwords.preset is en, not none",
        f"{name}: vector default.distance is dot, not cosine",
        "lore sync --all",
    ):
        assert part in str(caught.value)


def test_a_collection_that_is_gone_is_named(weaviate_index: Address) -> None:
    open_at(weaviate_index).replace([make_entry("a", ["text"])])
    with client_of(weaviate_index) as client:
        client.collections.delete(f"{weaviate_index.prefix}Documents")
    with pytest.raises(StoreError, match=r"Documents .* is gone.*LORE_WEAVIATE_PREFIX"):
        open_at(weaviate_index)


def test_several_that_make_the_index_at_once_make_one(weaviate_index: Address) -> None:
    stores = [open_at(weaviate_index) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: stores[number].replace([make_entry(f"d{number}", ["text"])]), range(4)))
    assert_holds(open_at(weaviate_index), [make_entry(f"d{number}", ["text"]) for number in range(4)])


def test_an_index_that_is_removed_meanwhile_is_made_again(weaviate_index: Address) -> None:
    entry, reader, writer = make_entry("a", ["text"]), open_at(weaviate_index), open_at(weaviate_index)
    writer.replace([entry])
    asking = reader.snapshot()
    assert reader.count() == asking.count() == Counts(1, 1, 1)
    remove(weaviate_index)
    with pytest.raises(StoreError) as caught:
        asking.count()
    assert caught.value.retryable
    assert reader.count() == Counts(0, 0, 0)
    writer.replace([entry])
    assert_holds(reader, [entry])
