"""Retrieval of tables: each way keeps one contract, and `linked` finds what joins need."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from lore.databases.retrieve.joins import components, joinable
from lore.databases.retrieve.linked import LinkedRetriever
from lore.databases.retrieve.retriever import SchemaRetriever, retrieve_schema
from lore.databases.retrieve.texts import table_text, words_of_name
from lore.databases.retrieve.vector_indexes import ChromaRetriever, FaissRetriever
from lore.databases.retrieve.vectors import VectorFiles
from lore.databases.retrieve.words import KeywordRetriever, WholeSchema
from lore.databases.schema.model import DatabaseSchema, ForeignKey, TableColumn, TableInfo
from lore.errors import ConfigurationError, ModelError

from tests.fakes import FakeEmbedder


def table(name: str, columns: str, keys: dict[str, str] | None = None, **more: object) -> TableInfo:
    """A table with its first column as key; `keys` maps columns to the tables that they refer to."""
    names = columns.split()
    found = tuple(TableColumn(each, "TEXT", primary_key=each == names[0]) for each in names)
    foreign = tuple(ForeignKey((own,), other, ("id",)) for own, other in (keys or {}).items())
    return TableInfo(name, found, foreign, **more)  # type: ignore[arg-type]


SHOP = DatabaseSchema("sqlite").with_tables(
    [
        table("customer", "id full_name country email"),
        table("purchase", "id buyer placed_on", {"buyer": "customer"}),
        table("purchase_line", "id purchase_id item quantity", {"purchase_id": "purchase", "item": "article"}),
        table("article", "id title price", meaning="Something that is sold"),
        *(table(f"log_{number}", "id message level host") for number in range(12)),
    ]
)


class BrokenEmbedder(FakeEmbedder):
    def embed_query(self, text: str) -> object:  # type: ignore[override]
        raise ModelError("The embedder is down.")


WAYS = ("none", "keyword", "faiss", "chroma", "linked")


def make(name: str, folder: Path, embedder: FakeEmbedder | None = None) -> SchemaRetriever:
    vectors = VectorFiles(embedder or FakeEmbedder(512), folder / "vectors")
    match name:
        case "none":
            return WholeSchema()
        case "keyword":
            return KeywordRetriever()
        case "faiss":
            pytest.importorskip("faiss")
            return FaissRetriever(vectors)
        case "chroma":
            pytest.importorskip("chromadb")
            return ChromaRetriever(vectors, folder / "chroma")
    return LinkedRetriever(vectors)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n == "chroma" else n for n in WAYS])
def test_each_way_finds_a_table_and_follows_changes_of_the_schema(name: str, tmp_path: Path) -> None:
    way = make(name, tmp_path)
    found = way.rank("full name and email of each customer", SHOP, 5)
    assert way.name == name
    assert "customer" in found and set(found) <= set(SHOP.tables)
    if name != "none":
        assert len(found) == 5 and found[0] == "customer"
    changed = SHOP.with_tables([*SHOP.tables.values(), table("customer_email", "id full_name email customer")])
    assert "customer_email" in way.rank("full name and email of each customer", changed, 5)
    assert way.rank("full name and email of each customer", SHOP, 5) == found


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n == "chroma" else n for n in WAYS[1:]])
def test_each_way_takes_a_schema_smaller_than_its_limit(name: str, tmp_path: Path) -> None:
    assert make(name, tmp_path).rank("anything", SHOP.only(["customer"]), 5) == ["customer"]


def test_linked_adds_the_table_that_a_join_needs(tmp_path: Path) -> None:
    question = "price of the article with the title Hammer, by country of the customer"
    assert {"customer", "purchase", "purchase_line", "article"} == set(make("linked", tmp_path).rank(question, SHOP, 4))
    assert "purchase" not in make("keyword", tmp_path).rank(question, SHOP, 4)


def test_names_of_columns_show_joins_where_no_key_is_declared() -> None:
    tables = [
        table("sbCustomer", "sbCustId sbCustName"),
        table("sbTransaction", "sbTxId sbTxCustId sbTxAmount"),
        table("cities", "code title"),
        table("sbVisit", "sbVisitId city_code"),
    ]
    assert joinable([each for each in tables if each.name.startswith("sb")])[:2] == [{1}, {0}]
    neighbours = joinable(tables)
    assert neighbours[2:] == [{3}, {2}]
    assert components([{1}, {0}, {3}, {2}]) == [0, 0, 2, 2]


def test_tables_of_two_schemas_are_not_joined_by_names() -> None:
    one = table("a.customer", "customer_id", schema_name="a")
    other = table("b.purchase", "id customer_id", schema_name="b")
    assert joinable([one, other]) == [set(), set()]


def test_names_are_split_into_words() -> None:
    assert words_of_name("sbTxCustId") == ["sb", "tx", "cust", "id"]
    assert words_of_name("HTTP_Status2") == ["http", "status", "2"]
    assert table_text(SHOP.tables["article"]) == "article Something that is sold: id; title; price"


def test_a_way_that_fails_is_replaced_and_it_says_so(tmp_path: Path) -> None:
    broken = make("linked", tmp_path, BrokenEmbedder(512))
    found = retrieve_schema("email of a customer", SHOP, broken, KeywordRetriever(), limit=3, max_tokens=1_000)
    assert (found.way, found.tables[0]) == ("keyword", "customer")
    assert found.note == "The tables were found by keyword, because linked failed: The embedder is down."


def test_a_cache_that_can_not_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("a file")
    with pytest.raises(ConfigurationError, match="LORE_CACHE_DIR"):
        make("linked", tmp_path).rank("anything", SHOP, 3)


def test_a_damaged_cache_is_made_again(tmp_path: Path) -> None:
    first = make("linked", tmp_path).rank("email of a customer", SHOP, 3)
    for file in (tmp_path / "vectors").glob("*.npy"):
        file.write_bytes(b"damaged")
    assert make("linked", tmp_path).rank("email of a customer", SHOP, 3) == first


def test_vectors_are_kept_across_processes(tmp_path: Path) -> None:
    make("linked", tmp_path).rank("anything", SHOP, 3)
    again = FakeEmbedder(512)
    make("linked", tmp_path, again).rank("anything", SHOP, 3)
    assert again.embedded == []


def test_the_text_for_the_model_has_a_limit_and_its_size_is_known(tmp_path: Path) -> None:
    found = retrieve_schema("customer", SHOP, KeywordRetriever(), KeywordRetriever(), limit=9, max_tokens=60)
    assert 1 <= len(found.tables) < 9
    assert 0 < found.tokens <= 60 < found.whole_tokens
    assert found.columns == sum(len(SHOP.tables[name].columns) for name in found.tables)
    tiny = retrieve_schema("customer", SHOP, KeywordRetriever(), KeywordRetriever(), limit=9, max_tokens=1)
    assert len(tiny.tables) == 1


def test_nothing_forbidden_is_found() -> None:
    hidden = [TableInfo("secret", (TableColumn("email", "TEXT"),), forbidden=True)]
    schema = SHOP.with_tables([*SHOP.tables.values(), *hidden])
    found = retrieve_schema("secret", schema, WholeSchema(), KeywordRetriever(), limit=99, max_tokens=9_999)
    assert "secret" not in found.schema.tables


@pytest.mark.slow
def test_five_thousand_tables_are_searched_in_a_tenth_of_a_second(tmp_path: Path) -> None:
    tables = [
        table(f"part_{n % 70}_of_{n}", f"id name_{n % 90} kind_{n % 11} part_{(n * 7) % 5000}_id amount day note")
        for n in range(5_000)
    ]
    schema = DatabaseSchema("sqlite").with_tables(tables)
    way = make("linked", tmp_path)
    retrieve_schema("name of part 7", schema, way, KeywordRetriever(), limit=10, max_tokens=4_000)
    seconds = []
    for number in range(20):
        started = time.perf_counter()
        retrieve_schema(f"kind {number} of part 7", schema, way, KeywordRetriever(), limit=10, max_tokens=4_000)
        seconds.append(time.perf_counter() - started)
    assert sorted(seconds)[10] < 0.1
