"""Statements that may run and statements that may not, each tried on a real database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lore.databases.compliance.check import check_statement
from lore.databases.run.execute import run_statement
from lore.databases.schema.model import DatabaseSchema
from lore.errors import LoreError, StatementRefusedError

from tests.databases import shop
from tests.databases.statements import for_dialect, passing, refused
from tests.servers import postgres

ROWS = 100


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    with postgres.running() as server:
        yield shop.make_postgres(server.database())


def failures(sql: list[str], engine: Any, schema: DatabaseSchema) -> list[str]:
    """Statements that should run and don't, with the reason."""
    wrong = []
    for each in sql:
        try:
            run_statement(engine, check_statement(each, schema, rows=ROWS), rows=ROWS, seconds=10)
        except LoreError as error:
            wrong.append(f"{each}\n    {error.message}")
    return wrong


def let_through(sql: list[str], schema: DatabaseSchema) -> list[str]:
    """Statements that should be refused and aren't, as they would run."""
    wrong = []
    for each in sql:
        try:
            wrong.append(f"{each}\n    {check_statement(each, schema, rows=ROWS).sql}")
        except StatementRefusedError:
            continue
    return wrong


def test_each_list_has_hundreds_of_statements() -> None:
    assert len({sql for _, sql in refused()}) >= 300
    assert len({sql for _, sql in passing()}) >= 300


def test_sqlite_runs_what_may_run(tmp_path: Path) -> None:
    engine, schema = shop.open_shop(f"sqlite:///{shop.make_sqlite(tmp_path)}", shop.declared())
    assert failures(for_dialect(passing(), "sqlite"), engine, schema) == []


def test_sqlite_never_sees_what_may_not_run(tmp_path: Path) -> None:
    _, schema = shop.open_shop(f"sqlite:///{shop.make_sqlite(tmp_path)}", shop.declared())
    assert let_through(for_dialect(refused(), "sqlite"), schema) == []


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_postgresql_runs_what_may_run(postgres_url: str) -> None:
    engine, schema = shop.open_shop(postgres_url, shop.declared())
    assert failures(for_dialect(passing(), "postgresql"), engine, schema) == []


def test_postgresql_never_sees_what_may_not_run(tmp_path: Path) -> None:
    _, schema = shop.open_shop(f"sqlite:///{shop.make_sqlite(tmp_path)}", shop.declared())
    as_postgresql = replace(schema, dialect="postgresql", default="public")
    assert let_through(for_dialect(refused(), "postgresql"), as_postgresql) == []


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_a_schema_read_from_postgresql_lets_nothing_else_through(postgres_url: str) -> None:
    _, schema = shop.open_shop(postgres_url, shop.declared())
    assert let_through(for_dialect(refused(), "postgresql"), schema) == []
