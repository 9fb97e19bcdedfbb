"""Statements on a real database: what they return, what stops them, and that nothing changes the database."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lore.databases.compliance.check import CheckedStatement
from lore.databases.database import OpenDatabase
from lore.databases.run.connect import open_database
from lore.databases.run.errors import StatementError
from lore.databases.run.execute import run_statement
from lore.errors import ConfigurationError, DatabaseError, LoreError, StatementRefusedError

from tests.databases import shop
from tests.databases.shop import opened
from tests.databases.statements import for_dialect, refused
from tests.servers import postgres

TABLES = ("category", "product", "customer", "orders", "order_item", "employee", "credential", '"Odd Table"')
HEAVY = "1000000000"
ENDLESS = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    with postgres.running() as server:
        yield shop.make_postgres(server.database())


def unchecked(sql: str) -> CheckedStatement:
    return CheckedStatement(sql, (), ())


def test_rows_come_as_plain_values(tmp_path: Path) -> None:
    result = opened(tmp_path).run("SELECT name, price FROM product ORDER BY id LIMIT 2")
    assert (result.columns, result.rows, result.cut) == (
        ("name", "price"),
        (("Green tea", 4.5), ("Black tea", 3.5)),
        False,
    )


def test_more_rows_than_allowed_are_cut_and_it_says_so(tmp_path: Path) -> None:
    result = opened(tmp_path, policy={"rows": 2}).run("SELECT id FROM orders ORDER BY id")
    assert (result.rows, result.cut) == (((1,), (2,)), True)


def test_an_error_of_the_database_is_one_of_the_statement(tmp_path: Path) -> None:
    with pytest.raises(StatementError, match="misuse of aggregate"):
        opened(tmp_path).run("SELECT id FROM orders WHERE sum(total) > 1")


def test_the_schema_is_read_again_before_a_statement_runs(tmp_path: Path) -> None:
    database = opened(tmp_path)
    statement = database.check("SELECT * FROM orders", database.schema())
    assert statement.tables == ("orders",)
    with pytest.raises(StatementRefusedError, match="orders"):
        shop_without_orders = OpenDatabase(shop.declared(exclude=["orders"]), database.engine)
        shop_without_orders.run(statement.sql)


def test_a_plan_reads_nothing(tmp_path: Path) -> None:
    database = opened(tmp_path)
    assert "orders" in " ".join(database.explain(database.check("SELECT id FROM orders", database.schema())))


def test_a_long_statement_is_stopped(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(DatabaseError, match=r"longer than 0\.2 s"):
        run_statement(opened(tmp_path).engine, unchecked(ENDLESS), rows=1, seconds=0.2)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("sql", ["PRAGMA query_only = OFF", "ATTACH DATABASE ':memory:' AS other", "BEGIN IMMEDIATE"])
def test_sqlite_itself_denies_all_but_reading(tmp_path: Path, sql: str) -> None:
    with pytest.raises(StatementError, match=r"not authorized|prohibited"):
        run_statement(opened(tmp_path).engine, unchecked(sql), rows=1, seconds=1)


def test_no_statement_changes_a_sqlite_file_even_unchecked(tmp_path: Path) -> None:
    database, path = opened(tmp_path), tmp_path / "shop.db"
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    for sql in for_dialect(refused(), "sqlite"):
        _try(database.engine, sql)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert [file.name for file in tmp_path.iterdir()] == ["shop.db"]


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_no_statement_changes_a_postgresql_database_even_unchecked(postgres_url: str) -> None:
    engine = open_database(postgres_url, "SHOP_URL")
    before = _contents(postgres_url)
    for sql in for_dialect(refused(), "postgresql"):
        _try(engine, sql)
    assert _contents(postgres_url) == before


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_postgresql_stops_a_long_statement_and_explains_one(postgres_url: str) -> None:
    engine = open_database(postgres_url, "SHOP_URL")
    database = OpenDatabase(shop.declared(policy={"seconds": 0.2}), engine)
    with pytest.raises(DatabaseError, match=r"longer than 0\.2 s"):
        run_statement(engine, unchecked(ENDLESS), rows=1, seconds=0.2)
    assert "orders" in " ".join(database.explain(database.check("SELECT id FROM orders", database.schema())))
    assert database.run("SELECT name FROM product WHERE name LIKE '%tea' ORDER BY 1").rows == (
        ("Black tea",),
        ("Green tea",),
    )


@pytest.mark.parametrize(
    "url",
    ["", "nonsense", "sqlite://", "sqlite:///nothing.db", "oracle://me:hunter2@host/x"],
)
def test_an_address_that_is_wrong_is_never_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match="SHOP_URL") as error:
        open_database(url, "SHOP_URL")
    assert "hunter2" not in str(error.value)


def test_a_server_that_is_away_is_an_error_without_its_address() -> None:
    pytest.importorskip("psycopg")
    database = OpenDatabase(shop.declared(), open_database("postgresql://me:hunter2@127.0.0.1:1/shop", "SHOP_URL"))
    with pytest.raises(DatabaseError, match="reach the database") as error:
        database.schema()
    assert error.value.retryable and "hunter2" not in str(error.value)


def _try(engine: Any, sql: str) -> None:
    if HEAVY in sql or "pg_sleep" in sql.lower():
        return
    try:
        run_statement(engine, unchecked(sql), rows=10, seconds=0.5)
    except LoreError:
        return


def _contents(url: str) -> dict[str, list[Any]]:
    import psycopg

    with psycopg.connect(url) as connection:
        rows = {name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}").fetchall())) for name in TABLES}
        rows["names"] = sorted(map(repr, connection.execute("SELECT relname FROM pg_class").fetchall()))
    return rows
