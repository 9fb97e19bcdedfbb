"""Creation of an index and its versions: concurrent, interrupted, by recipe."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from lore.errors import IndexMismatchError
from lore.stores.manifest import version_to_json
from lore.stores.weaviate.collections.schema import CollectionOptions, object_id
from lore.types import Counts, IndexVersion, Recipe

from tests.contracts.store import DIMENSIONS, OTHER_MODEL, RECIPE, assert_holds, make_entry
from tests.servers.weaviate import Address, client_of, names_at
from tests.stores.weaviate.indexes import open_at, versions_at

pytestmark = pytest.mark.xdist_group("weaviate")

ENTRY = make_entry("a", ["common one"])


def test_several_that_create_at_once_get_numbers_of_their_own(weaviate_index: Address) -> None:
    open_at(weaviate_index).replace([ENTRY])
    makers = [versions_at(weaviate_index) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda maker: maker.create(replace(RECIPE, splitter="s")), makers))
    assert sorted(version.number for version in made) == [2, 3, 4, 5]
    assert versions_at(weaviate_index).all()[1:] == sorted(made, key=lambda version: version.number)


def test_several_recipes_that_make_the_index_at_once_make_one(weaviate_index: Address) -> None:
    """The others get an error, and none of their vectors is among those of the first."""
    recipes = [RECIPE, Recipe("fake:other", DIMENSIONS), Recipe("fake:third", DIMENSIONS)]
    stores = [open_at(weaviate_index, recipe) for recipe in recipes]

    def write(number: int) -> bool:
        with suppress(IndexMismatchError):
            stores[number].replace([make_entry(f"d{number}", ["text"])])
            return True
        return False

    with ThreadPoolExecutor(3) as pool:
        written = list(pool.map(write, range(3)))
    assert written.count(True) == 1
    (version,) = versions_at(weaviate_index).all()
    assert version.recipe == recipes[written.index(True)]
    assert open_at(weaviate_index, version.recipe).count() == Counts(1, 1, 1)


def test_a_number_is_given_once(weaviate_index: Address) -> None:
    open_at(weaviate_index).replace([ENTRY])
    versions = versions_at(weaviate_index)
    assert versions.create(RECIPE).number == 2
    versions.drop(2)
    assert versions.create(RECIPE).number == 3


def test_an_index_whose_making_was_cut_off_is_completed_by_the_next_write(weaviate_index: Address) -> None:
    """Each round undoes more steps of the creation, from the last to the first."""
    open_at(weaviate_index).replace([ENTRY])
    prefix = weaviate_index.prefix
    with client_of(weaviate_index) as client:
        lost: list[Callable[[], object]] = [
            lambda: client.alias.delete(alias_name=f"{prefix}Chunks"),
            lambda: client.collections.use(f"{prefix}State").data.delete_by_id(object_id("version:1")),
            lambda: client.collections.delete(f"{prefix}State"),
            lambda: client.collections.delete(f"{prefix}Documents"),
            lambda: client.collections.delete(f"{prefix}Marks_1"),
        ]
        for count in (1, 2, 5):
            for lose in lost[:count]:
                lose()
            open_at(weaviate_index).count()
            open_at(weaviate_index).replace([ENTRY])
            assert_holds(open_at(weaviate_index), [ENTRY])
            assert client.alias.exists(alias_name=f"{prefix}Chunks")
        for lose in lost[:3]:
            lose()
        with pytest.raises(IndexMismatchError, match="fake:words"):  # it is made with what its first maker chose
            open_at(weaviate_index, OTHER_MODEL).replace([ENTRY])
    assert_holds(open_at(weaviate_index), [ENTRY])


def test_what_killed_makers_and_removers_left_is_removed_when_nobody_can_be_at_it(weaviate_index: Address) -> None:
    store, versions = open_at(weaviate_index), versions_at(weaviate_index)
    store.replace([ENTRY])
    now = datetime.now(UTC)
    with client_of(weaviate_index) as client:
        for number, made in ((2, now - timedelta(hours=1)), (3, now)):
            version = IndexVersion(number, RECIPE, versions.schema, "building", created_at=made)
            text = json.dumps(version_to_json(version))
            client.collections.create(f"{weaviate_index.prefix}Chunks_{number}", description=text)
        client.collections.create(f"{weaviate_index.prefix}Marks_4")  # by the server itself, for a write that came late
        assert [version.number for version in versions.all()] == [1]
        assert versions.create(RECIPE).number == 4
        versions.drop(4)
        text = json.dumps(version_to_json(IndexVersion(4, RECIPE, versions.schema, "building", created_at=now)))
        client.collections.create(f"{weaviate_index.prefix}Chunks_4", description=text)  # a removal that was killed
    assert versions.create(RECIPE).number == 5
    left = {name.removeprefix(weaviate_index.prefix) for name in names_at(weaviate_index)}
    assert left == {"State", "Documents", "Chunks_1", "Marks_1", "Chunks_3", "Chunks_5", "Marks_5"}
    assert_holds(store, [ENTRY])


def test_a_version_is_laid_out_by_its_recipe_and_else_by_the_settings(weaviate_index: Address) -> None:
    open_at(weaviate_index).replace([ENTRY])
    versions = versions_at(weaviate_index, options=CollectionOptions(vector_index="flat"))
    versions.create(replace(RECIPE, choices={"weaviate_quantization": "bq"}))
    with client_of(weaviate_index) as client:
        config = client.collections.use(f"{weaviate_index.prefix}Chunks_2").config.get()
    index = config.vector_config["default"].vector_index_config
    assert (index.vector_index_type(), type(index.quantizer).__name__) == ("flat", "_BQConfig")
    with pytest.raises(IndexMismatchError, match="vector index is hnsw, not flat") as caught:
        open_at(weaviate_index, options=CollectionOptions(vector_index="flat")).replace([ENTRY])
    assert "lore index build" in caught.value.remedy
    second = versions.open(2)
    second.replace_chunks([ENTRY])
    assert_holds(second, [ENTRY])


@pytest.mark.parametrize(
    ("shape", "expected"),
    [(CollectionOptions(), (16, 320)), (CollectionOptions(quantization="rq"), (16, 500))],
    ids=["whole vectors", "quantized"],
)
def test_a_search_looks_at_as_much_of_the_graph_as_was_measured(
    weaviate_index: Address, shape: CollectionOptions, expected: tuple[int, int]
) -> None:
    open_at(weaviate_index, options=shape).replace([ENTRY])
    with client_of(weaviate_index) as client:
        config = client.collections.use(f"{weaviate_index.prefix}Chunks_1").config.get()
    graph = config.vector_config["default"].vector_index_config
    assert (graph.max_connections, graph.dynamic_ef_max) == expected


def test_an_index_of_the_layout_before_versions_is_named(weaviate_index: Address) -> None:
    from weaviate.classes.config import DataType, Property

    prefix = weaviate_index.prefix
    with client_of(weaviate_index) as client:
        keys = [Property(name=name, data_type=DataType.TEXT) for name in ("key", "value")]
        state = client.collections.create(f"{prefix}State", properties=keys)
        state.data.insert({"key": "manifest", "value": "{}"}, uuid=object_id("manifest"))
        client.collections.create(f"{prefix}Chunks_1")
        client.alias.create(alias_name=f"{prefix}Chunks", target_collection=f"{prefix}Chunks_1")
    for look in (lambda: open_at(weaviate_index), lambda: versions_at(weaviate_index).all()):
        with pytest.raises(IndexMismatchError, match="LORE_WEAVIATE_PREFIX") as caught:
            look()
        assert "lore sync --all" in caught.value.remedy
