"""The server store on a real server, held to the contract, and what is its own: schema, rights, limits."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest
from lore.doctor import Finding, check_weaviate, guarded
from lore.errors import ConfigurationError, IndexMismatchError, StoreError
from lore.settings import Settings
from lore.stores.weaviate.collections.schema import CollectionOptions
from lore.stores.weaviate.objects import batches, read
from lore.stores.weaviate.objects.batches import NewObject, insert
from lore.stores.weaviate.server.connection import WeaviateServer
from lore.stores.weaviate.store import WeaviateStore
from lore.stores.weaviate.versions import WeaviateVersions
from lore.types import Counts, Recipe, SourceState
from pydantic import SecretStr

from tests.contracts.store import DIMENSIONS, RECIPE, StoreContract, embed, held, make_entry, texts
from tests.servers.weaviate import WRITER, Address, client_of, names_at, remove
from tests.stores.conftest import key_with

pytestmark = pytest.mark.xdist_group("weaviate")


def open_at(address: Address, recipe: Recipe = RECIPE, **options: object) -> WeaviateStore:
    return WeaviateStore(address.server, recipe, prefix=address.prefix, **options)  # type: ignore[arg-type]


def versions_at(address: Address, **options: object) -> WeaviateVersions:
    return WeaviateVersions(address.server, prefix=address.prefix, **options)  # type: ignore[arg-type]


def open_store(address: str, recipe: Recipe = RECIPE) -> WeaviateStore:
    return open_at(Address.parse(address), recipe)


def open_versions(address: str) -> WeaviateVersions:
    return versions_at(Address.parse(address))


class TestWeaviateStore(StoreContract):
    opener = "tests.stores.test_weaviate:open_store"
    versions_opener = "tests.stores.test_weaviate:open_versions"

    @pytest.fixture
    def address(self, weaviate_index: Address) -> str:
        return str(weaviate_index)


# ------------------------------------------------------------------------------------------------------ what is made


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


@pytest.mark.parametrize(("index", "quantization"), [("hnsw", "rq"), ("hnsw", "bq"), ("flat", "none"), ("flat", "bq")])
def test_index_and_quantization_are_what_was_set(weaviate_index: Address, index: str, quantization: str) -> None:
    entry = make_entry("a", ["one thing", "another thing"])
    store = open_at(weaviate_index, options=CollectionOptions(1, index, quantization))  # type: ignore[arg-type]
    store.replace([entry])
    held(store, [entry])
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
    """The server of the tests is alone and indexes at once."""
    entry = make_entry("a", ["text"])
    with pytest.raises(StoreError, match=setting):
        open_at(weaviate_index, options=shape).replace([entry])
    assert open_at(weaviate_index).count() == Counts(0, 0, 0)
    open_at(weaviate_index).replace([entry])
    held(open_at(weaviate_index), [entry])


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
    held(open_at(weaviate_index), [make_entry(f"d{number}", ["text"]) for number in range(4)])


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
    held(reader, [entry])


# ----------------------------------------------------------------------------------------------------------- limits


def test_a_document_may_have_more_chunks_than_one_query_gives(weaviate_index: Address) -> None:
    store = open_at(
        weaviate_index, options=CollectionOptions(vector_index="flat")
    )  # so many are quicker without a graph
    large, small = make_entry("large", [f"passage {number}" for number in range(10_050)]), make_entry("small", ["x"])
    store.replace([large, small])
    assert store.count() == Counts(2, 10_051, 10_051)
    assert store.chunks("fake:large") == list(large.chunks)
    shorter = make_entry("large", [f"passage {number}" for number in range(10_045)])
    store.replace([shorter])
    assert store.count() == Counts(2, 10_046, 10_046)
    assert store.delete("fake", ["fake:large"]) == 1
    held(store, [small])


@pytest.mark.parametrize("most", [4, 100], ids=["at the limit", "larger than the server says"])
def test_a_source_may_have_more_documents_than_one_query_gives(
    weaviate_index: Address, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    store = open_at(weaviate_index)
    store.replace([make_entry(f"d{number}", [f"passage {number}"]) for number in range(4)])
    store.replace([make_entry("other", ["passage"], source_id="fake ")])  # the server takes this for the same source
    if most == 4:
        for module in (read, batches):
            monkeypatch.setattr(module, "WINDOW", most)
    else:
        monkeypatch.setattr(batches, "fetch_in_one_query", lambda *_: None)  # what one query does not give
    names = {f"fake:d{number}" for number in range(4)}
    assert set(store.document_fingerprints("fake")) == set(store.fingerprints("fake")) == names
    assert {document.id for document in store.documents("fake")} == names
    assert {outline.id for outline in store.document_infos("fake")} == names
    assert store.document_fingerprints("fake ") == {"fake :other": "1"}


def test_a_document_that_the_server_does_not_take_is_named_and_the_others_are_stored(weaviate_index: Address) -> None:
    """The server of the tests takes messages of 6 MB."""
    store = open_at(weaviate_index)
    good, other = make_entry("good", ["good"]), make_entry("other", ["other"])
    store.replace([good, make_entry("huge", ["was small"])])
    huge = make_entry("huge", ["still small", "x" * 7_000_000], fingerprint="2")
    with pytest.raises(StoreError) as caught:
        store.replace([other, huge])
    assert "fake:huge" in str(caught.value)
    assert "fake:other" not in str(caught.value)
    assert not caught.value.retryable
    assert store.fingerprints("fake") == {"fake:good": "1", "fake:other": "1", "fake:huge": ""}
    assert "was small" in [chunk.text for chunk in store.chunks("fake:huge")]


def test_a_document_whose_chunk_is_not_taken_stays_unfinished_and_keeps_what_it_had(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace([make_entry("a", ["before"])])
    entry = make_entry("a", ["taken", "refused"], fingerprint="2")
    huge = replace(entry.chunks[1], summary="x" * 7_000_000)
    with pytest.raises(StoreError, match="fake:a"):
        store.replace([replace(entry, chunks=(entry.chunks[0], huge))])
    assert store.fingerprints("fake") == {"fake:a": ""}
    assert {chunk.text for chunk in store.chunks("fake:a")} == {"before", "taken"}
    store.replace([entry])
    held(store, [entry])


def test_large_documents_are_read_in_more_messages_than_one(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    bare = [make_entry(f"d{number}", []) for number in range(8)]
    entries = [replace(entry, document=replace(entry.document, text="large " * 250_000)) for entry in bare]
    store.replace(entries)
    held(store, entries)
    assert store.delete("fake", [entry.document.id for entry in entries]) == 8


def test_one_object_that_is_refused_does_not_take_the_others_with_it(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace([make_entry("a", ["one"])])
    with client_of(weaviate_index) as client:
        chunks = client.collections.use(f"{weaviate_index.prefix}Chunks")
        rows = [
            NewObject(f"d{number}", uuid4(), {"document_id": str(number)}, np.ones(DIMENSIONS - number % 2, np.float32))
            for number in range(4)
        ]
        refused = insert(chunks, rows)
        assert [failure.document_id for failure in refused] == ["d1", "d3"]
        assert all("vector" in failure.reason for failure in refused)
        assert chunks.aggregate.over_all(total_count=True).total_count == 3


# ------------------------------------------------------------------------------------------------------------ search


def test_searches_side_by_side_find_what_each_finds_alone(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace([make_entry(f"d{number}", [f"topic{number % 7} words{number}"]) for number in range(60)])

    def found(number: int) -> list[tuple[str, float]]:
        hits = store.search(f"topic{number % 7}", embed(f"topic{number % 7}"), 20, 0.5)
        return [(hit.chunk.id, hit.score) for hit in hits]

    alone = [found(number) for number in range(7)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(found, range(56))) == alone * 8


def test_an_audience_is_compared_to_the_letter(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace(
        [make_entry("a", ["secret plan"], audiences=("team ",)), make_entry("b", ["plan"], audiences=("Team",))]
    )
    for alpha in (0.0, 0.5, 1.0):
        assert store.search("plan", embed("plan"), 5, alpha, audiences=("team",)) == []
        assert len(store.search("plan", embed("plan"), 5, alpha, audiences=("team ", "Team"))) == 2


def test_what_others_wrote_into_the_index_is_told_and_its_lack_of_a_vector_passed_over(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace([make_entry("a", ["topic"]), make_entry("b", ["cluster"])])
    (topic,), (other,) = store.chunks("fake:a"), store.chunks("fake:b")
    with client_of(weaviate_index) as client:
        data = client.collections.use(f"{weaviate_index.prefix}Chunks_1").data
        row = client.collections.use(f"{weaviate_index.prefix}Chunks_1").query.fetch_object_by_id(topic.id)
        data.delete_by_id(topic.id)
        data.insert(row.properties, uuid=topic.id)  # without its vector
        with pytest.raises(StoreError, match=r"0, 64; .*lore index build --new"):
            store.search("topic", embed("topic"), 5, 0.5)
        assert set(store.vectors_for([topic.content_hash, other.content_hash])) == {other.content_hash}
        data.update(other.id, properties={"payload": "{}"})
        for read_it in (lambda: store.chunks("fake:b"), lambda: store.search("cluster", embed("cluster"), 5, 0.0)):
            with pytest.raises(StoreError, match="lore index build --new"):
                read_it()


def test_words_of_the_title_count_as_much_as_is_set(weaviate_index: Address) -> None:
    entries = [
        make_entry("title", ["much about other things here"], title="Backups"),
        make_entry("text", ["backups " * 3]),
    ]
    open_at(weaviate_index).replace(entries)

    def best(weight: float) -> str:
        return open_at(weaviate_index, title_weight=weight).search("backup", None, 5, 0.0)[0].chunk.document_id

    assert (best(0.0), best(9.0)) == ("fake:text", "fake:title")


def test_a_document_without_direction_does_not_disturb(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    entry = make_entry("zero", ["overnight"])
    store.replace([make_entry("a", ["text"]), replace(entry, vectors=entry.vectors * 0)])
    hits = store.search("overnight", embed("text"), 5, 0.5)
    assert {hit.chunk.text: hit.vector_score for hit in hits}["overnight"] == 0.0
    assert "text" in texts(hits)


# ------------------------------------------------------------------------------------------------------------ rights


def test_a_key_that_may_only_read_asks_and_never_writes(weaviate_index: Address, reader_key: str) -> None:
    entry = make_entry("a", ["Deployments were running"])
    reading = weaviate_index.but(api_key=reader_key)
    assert open_at(reading).count() == Counts(0, 0, 0)
    with pytest.raises(StoreError, match="LORE_WEAVIATE_API_KEY"):
        open_at(reading).replace([entry])
    assert names_at(weaviate_index) == set()
    open_at(weaviate_index).replace([entry])
    reader = open_at(reading)
    held(reader, [entry])
    assert texts(reader.search("deployed", embed("deployed"), 5, 0.5)) == ["Deployments were running"]
    for write in (
        lambda: reader.replace([make_entry("b", ["b"])]),
        lambda: reader.delete("fake", ["fake:a"]),
        lambda: reader.save_state(SourceState("fake")),
    ):
        with pytest.raises(StoreError) as caught:
            write()
        assert not caught.value.retryable
        assert reader_key not in str(caught.value)
        assert "role" in caught.value.remedy
        assert f"lacks the right update_data on {weaviate_index.prefix}" in caught.value.message
        assert "status code" not in caught.value.message
    assert "the state of source 'fake'" in caught.value.message, "not a document"
    held(open_at(weaviate_index), [entry])


def test_a_key_that_syncs_needs_no_more_than_the_rights_in_the_readme(weaviate_index: Address, writer_key: str) -> None:
    store = open_at(weaviate_index.but(api_key=writer_key))
    entries = [make_entry("a", ["one", "two"]), make_entry("b", ["three"])]
    store.replace(entries)
    store.replace([make_entry("a", ["one"])])
    store.save_state(SourceState("fake"))
    assert store.delete("fake", ["fake:b"]) == 1
    held(store, [make_entry("a", ["one"])])


def test_the_doctor_names_version_and_rights(weaviate_index: Address, reader_key: str, writer_key: str) -> None:
    def examined(key: str) -> Finding:
        return check_weaviate(
            Settings.of(
                store="weaviate",
                weaviate_url=weaviate_index.url,
                weaviate_grpc_port=weaviate_index.grpc_port,
                weaviate_api_key=SecretStr(key),
                weaviate_prefix=weaviate_index.prefix,
            )
        )

    assert examined(WRITER).status == examined(writer_key).status == "ok"
    assert "version 1." in examined(WRITER).detail
    finding = examined(reader_key)
    assert (finding.status, "does not write" in finding.detail) == ("warning", True)
    assert finding.detail.endswith(f"lacks the right delete_collections on {weaviate_index.prefix}*")
    assert "Enough for asking" in finding.remedy
    with pytest.raises(StoreError, match="LORE_WEAVIATE_API_KEY"):
        examined("wrong-key")
    assert names_at(weaviate_index) == set()


@pytest.mark.parametrize(
    ("lacking", "there"),
    [
        ("read_collections", True),
        ("read_collections", False),
        ("read_data", True),
        ("read_data", False),
        ("read_aliases", True),  # the server lets any key look for an alias that is not there
    ],
)
def test_the_doctor_names_what_a_key_may_not_read(weaviate_index: Address, lacking: str, there: bool) -> None:
    from weaviate.classes.rbac import Permissions

    if there:
        open_at(weaviate_index).replace([make_entry("a", ["text"])])
    below = f"{weaviate_index.prefix}*"
    rights = {
        "read_collections": Permissions.collections(collection=below, read_config=True),
        "read_data": Permissions.data(collection=below, read=True),
        "read_aliases": Permissions.alias(alias=below, collection=below, read=True),
    }
    with key_with(weaviate_index, [right for name, right in rights.items() if name != lacking]) as key:
        settings = Settings.of(
            store="weaviate",
            weaviate_url=weaviate_index.url,
            weaviate_grpc_port=weaviate_index.grpc_port,
            weaviate_api_key=SecretStr(key),
            weaviate_prefix=weaviate_index.prefix,
        )
        finding = guarded("weaviate", lambda: check_weaviate(settings))
    assert finding.status == "problem"
    assert f"lacks the right {lacking} on {weaviate_index.prefix}" in finding.detail
    assert "Enough" not in finding.remedy
