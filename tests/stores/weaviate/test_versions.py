"""Versions on a server: concurrent and interrupted promotions and removals, restores, and keys with few rights."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from lore.errors import ConfigurationError, LoreError, StoreError
from lore.stores.weaviate.collections import catalog
from lore.stores.weaviate.collections.schema import object_id
from lore.stores.weaviate.store import WeaviateStore
from lore.stores.weaviate.versions import WeaviateVersions
from lore.types import Counts

from tests.contracts.store import RECIPE, assert_holds, embed, make_entry, texts
from tests.servers.weaviate import Address, client_of, names_at
from tests.stores.weaviate.conftest import key_with
from tests.stores.weaviate.indexes import open_at, versions_at

pytestmark = pytest.mark.xdist_group("weaviate")

ENTRY = make_entry("a", ["common one"])


def point(address: Address, number: int) -> None:
    """Move the alias like a promotion that is killed right afterwards."""
    alias = f"{address.prefix}Chunks"
    with client_of(address) as client:
        client.alias.update(alias_name=alias, new_target_collection=f"{alias}_{number}")


def second_live(address: Address) -> tuple[WeaviateStore, WeaviateVersions]:
    """An index with its second version live."""
    store, versions = open_at(address), versions_at(address)
    store.replace([ENTRY])
    versions.create(RECIPE)
    versions.open(2).replace_chunks([ENTRY])
    versions.promote(2)
    return store, versions


def test_a_promotion_that_was_killed_is_live_and_what_was_before_is_known(weaviate_index: Address) -> None:
    store, versions = open_at(weaviate_index), versions_at(weaviate_index)
    store.replace([ENTRY])
    for number in (2, 3):
        versions.create(RECIPE)
        versions.open(number).replace_chunks([make_entry("a", [f"common {number}"])])
    point(weaviate_index, 2)
    assert (versions.live(), versions.previous()) == (2, 1)
    assert texts(store.search("common", None, 5, 0.0)) == ["common 2"]
    versions.promote(3)
    assert (versions.live(), versions.previous()) == (3, 2)
    point(weaviate_index, 1)  # a rollback further than to the one before, killed as well
    assert (versions.live(), versions.previous()) == (1, 3)
    versions.promote(2)
    assert (versions.live(), versions.previous()) == (2, 1)


def test_promotions_by_several_at_once_end_with_one_that_is_there(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace([ENTRY])
    versions_at(weaviate_index).create(RECIPE)
    versions_at(weaviate_index).open(2).replace_chunks([make_entry("a", ["common two"])])
    promoters = [versions_at(weaviate_index) for _ in range(2)]

    def flip(number: int) -> None:
        for _ in range(10):
            promoters[number - 1].promote(number)

    def ask(_: int) -> None:
        for words in ("common", "one", "two"):
            assert len(texts(store.search(words, embed(words), 5, 0.5))) == 1

    with ThreadPoolExecutor(6) as pool:
        flipping = [pool.submit(flip, number) for number in (1, 2)]
        list(pool.map(ask, range(80)))
        for each in flipping:
            each.result()
    live = promoters[0].live()
    assert live in (1, 2)
    assert texts(store.search("common", None, 5, 0.0)) == [{1: "common one", 2: "common two"}[live]]
    assert all(version.promoted_at for version in promoters[0].all())


def test_a_question_asks_anew_which_version_is_live_and_what_it_is_made_of_now_and_then(
    weaviate_index: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, versions = open_at(weaviate_index), versions_at(weaviate_index)
    store.replace([ENTRY])
    versions.create(RECIPE)
    versions.open(2).replace_chunks([make_entry("a", ["common two"])])

    def answered() -> list[str]:
        return texts(store.snapshot().search("common", embed("common"), 5, 0.5))

    assert answered() == ["common one"]
    point(weaviate_index, 2)
    assert answered() == ["common two"]
    with client_of(weaviate_index) as client:
        states = client.collections.use(f"{weaviate_index.prefix}State")
        states.data.update(uuid=object_id("version:2"), properties={"value": "{"})
    assert answered() == ["common two"]
    monkeypatch.setattr(catalog, "RECENT_SECONDS", 0.0)
    with pytest.raises(StoreError, match=r"Couldn't read the records of the versions"):
        answered()


@pytest.mark.slow
def test_a_removal_and_a_promotion_of_one_version_at_once_never_leave_an_index_without(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace([ENTRY])
    promoter, remover = versions_at(weaviate_index), versions_at(weaviate_index)
    for _ in range(4):
        number = promoter.create(RECIPE).number
        with ThreadPoolExecutor(2) as pool:
            acts = [pool.submit(promoter.promote, number), pool.submit(remover.drop, number)]
            errors = [act.exception() for act in acts]
        assert all(error is None or isinstance(error, LoreError) for error in errors)
        assert any(errors)
        assert promoter.live() in [version.number for version in promoter.all()]
        assert open_at(weaviate_index).count() == Counts(*[int(promoter.live() == 1)] * 3)
        promoter.promote(1)


def test_the_live_version_is_not_dropped_even_when_it_is_so_only_by_its_alias(weaviate_index: Address) -> None:
    open_at(weaviate_index).replace([ENTRY])
    versions = versions_at(weaviate_index)
    versions.create(RECIPE)
    versions.open(2).replace_chunks([ENTRY])
    point(weaviate_index, 2)
    with pytest.raises(ConfigurationError, match="live"):
        versions.drop(2)
    assert_holds(versions.open(2), [ENTRY])


def test_an_alias_that_is_lost_or_astray(weaviate_index: Address) -> None:
    store, versions = open_at(weaviate_index), versions_at(weaviate_index)
    store.replace([ENTRY])
    versions.create(RECIPE)
    versions.open(2).replace_chunks([make_entry("a", ["common two"])])
    versions.promote(2)
    alias = f"{weaviate_index.prefix}Chunks"
    with client_of(weaviate_index) as client:
        client.alias.delete(alias_name=alias)  # as after a restore without aliases
        assert texts(store.search("common", None, 5, 0.0)) == ["common two"]
        assert versions.live() == 2
        versions.promote(1)
        assert client.alias.get(alias_name=alias).collection == f"{alias}_1"
        client.collections.delete(f"{alias}_1")  # by hand: the server lets the alias point to nothing
        with pytest.raises(StoreError, match=r"Chunks_1 .* is gone"):
            open_at(weaviate_index)
        versions.promote(2)
        assert texts(open_at(weaviate_index).search("common", None, 5, 0.0)) == ["common two"]
        client.collections.use(f"{weaviate_index.prefix}State").data.delete_by_id(object_id("version:2"))
        with pytest.raises(StoreError, match="version 2, which has no record"):
            store.count()


def test_an_index_whose_collections_were_removed_is_made_again(weaviate_index: Address) -> None:
    store, versions = second_live(weaviate_index)
    alias = f"{weaviate_index.prefix}Chunks"
    with client_of(weaviate_index) as client:
        client.collections.delete(list(names_at(weaviate_index)))  # the server leaves the alias, pointing to nothing
        assert client.alias.get(alias_name=alias).collection == f"{alias}_2"
        assert open_at(weaviate_index).count() == Counts(0, 0, 0)
        assert versions.live() is None
        entries = [make_entry(name, [f"common {name}"]) for name in "abcd"]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda entry: open_at(weaviate_index).replace([entry]), entries))
        assert_holds(store, entries)
        assert versions.live() == 1
        assert client.alias.get(alias_name=alias).collection == f"{alias}_1"


@pytest.mark.slow  # an index that is being created is waited for
def test_an_index_without_its_records_is_not_made_again_beside_what_is_left(weaviate_index: Address) -> None:
    second_live(weaviate_index)
    with client_of(weaviate_index) as client:
        client.collections.delete(f"{weaviate_index.prefix}State")
        for kept in (names_at(weaviate_index), {f"{weaviate_index.prefix}Documents"}):
            client.collections.delete(list(names_at(weaviate_index) - kept))
            with pytest.raises(StoreError, match=r"State .* is gone"):  # nobody is to write beside what is left
                open_at(weaviate_index)


def test_an_index_restored_as_it_was_before_a_promotion(weaviate_index: Address) -> None:
    """The backup has one version; a restore leaves the alias, which points to a missing collection."""
    _, versions = second_live(weaviate_index)
    prefix = weaviate_index.prefix
    with client_of(weaviate_index) as client:
        client.collections.delete([f"{prefix}Chunks_2", f"{prefix}Marks_2"])
        client.collections.use(f"{prefix}State").data.delete_by_id(object_id("version:2"))
        restored = open_at(weaviate_index)
        assert versions.live() == 1
        assert_holds(restored, [ENTRY])
        assert texts(restored.snapshot().search("common", embed("common"), 5, 0.5)) == ["common one"]
        restored.replace([make_entry("b", ["other"])])
        assert client.alias.get(alias_name=f"{prefix}Chunks").collection == f"{prefix}Chunks_1"


# -------------------------------------------------------------------------------------------------------------- rights


def test_a_key_that_may_only_read_sees_promotions_and_makes_none(weaviate_index: Address, reader_key: str) -> None:
    open_at(weaviate_index).replace([ENTRY])
    versions = versions_at(weaviate_index)
    versions.create(RECIPE)
    versions.open(2).replace_chunks([make_entry("a", ["common two"])])
    reading = weaviate_index.but(api_key=reader_key)
    store, seen = open_at(reading), versions_at(reading)
    for number, words in ((2, "common two"), (1, "common one")):
        versions.promote(number)
        assert texts(store.snapshot().search("common", embed("common"), 5, 0.5)) == [words]
        assert (seen.live(), seen.all()) == (number, versions.all())
    for act in (lambda: seen.create(RECIPE), lambda: seen.promote(2), lambda: seen.drop(2)):
        with pytest.raises(StoreError) as caught:
            act()
        assert "role" in caught.value.remedy
    assert (versions.live(), len(versions.all())) == (1, 2)


def test_a_key_that_syncs_may_build_promote_and_drop(weaviate_index: Address, writer_key: str) -> None:
    writing = weaviate_index.but(api_key=writer_key)
    open_at(writing).replace([ENTRY])
    versions = versions_at(writing)
    versions.create(RECIPE)
    versions.open(2).replace_chunks([ENTRY])
    versions.promote(2)
    versions.drop(1)
    assert_holds(open_at(writing), [ENTRY])


def test_a_key_that_may_not_see_aliases_is_told(weaviate_index: Address) -> None:
    from weaviate.classes.rbac import Permissions

    open_at(weaviate_index).replace([ENTRY])
    below = f"{weaviate_index.prefix}*"
    rights = [
        Permissions.collections(collection=below, read_config=True),
        Permissions.data(collection=below, read=True),
    ]
    with key_with(weaviate_index, rights) as key, pytest.raises(StoreError, match="alias") as caught:
        open_at(weaviate_index.but(api_key=key))
    assert "role" in caught.value.remedy
