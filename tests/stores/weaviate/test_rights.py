"""Keys with exactly the rights that they need, and errors about those with fewer."""

from __future__ import annotations

import pytest
from lore.doctor import Finding, check_weaviate, guarded
from lore.errors import StoreError
from lore.settings import Settings
from lore.types import Counts, SourceState
from pydantic import SecretStr

from tests.contracts.store import assert_holds, embed, make_entry, texts
from tests.servers.weaviate import WRITER, Address, names_at
from tests.stores.weaviate.conftest import key_with
from tests.stores.weaviate.indexes import open_at

pytestmark = pytest.mark.xdist_group("weaviate")


def test_a_key_that_may_only_read_asks_and_never_writes(weaviate_index: Address, reader_key: str) -> None:
    entry = make_entry("a", ["Deployments were running"])
    reading = weaviate_index.but(api_key=reader_key)
    assert open_at(reading).count() == Counts(0, 0, 0)
    with pytest.raises(StoreError, match="LORE_WEAVIATE_API_KEY"):
        open_at(reading).replace([entry])
    assert names_at(weaviate_index) == set()
    open_at(weaviate_index).replace([entry])
    reader = open_at(reading)
    assert_holds(reader, [entry])
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
    assert_holds(open_at(weaviate_index), [entry])


def test_a_key_that_syncs_needs_no_more_than_the_rights_in_the_readme(weaviate_index: Address, writer_key: str) -> None:
    store = open_at(weaviate_index.but(api_key=writer_key))
    entries = [make_entry("a", ["one", "two"]), make_entry("b", ["three"])]
    store.replace(entries)
    store.replace([make_entry("a", ["one"])])
    store.save_state(SourceState("fake"))
    assert store.delete("fake", ["fake:b"]) == 1
    assert_holds(store, [make_entry("a", ["one"])])


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
        pytest.param("read_collections", False, marks=pytest.mark.slow),
        ("read_data", True),
        pytest.param("read_data", False, marks=pytest.mark.slow),
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
