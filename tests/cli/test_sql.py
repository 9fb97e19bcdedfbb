"""`lore sql` on a real database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Lore
from tests.databases import shop

DECLARATION = """
url_variable: SHOP_URL
tables: {orders: A sale}
policy: {forbidden_tables: [credential], forbidden_columns: [customer.email]}
"""


@pytest.fixture
def databases(knowledge: Path) -> dict[str, str]:
    """The settings that name a declared shop."""
    (knowledge / "databases").mkdir()
    (knowledge / "databases" / "shop.yaml").write_text(DECLARATION, encoding="utf-8")
    path = shop.make_sqlite(knowledge)
    return {"LORE_DATABASES_DIR": str(knowledge / "databases"), "SHOP_URL": f"sqlite:///{path}"}


def test_the_schema_shows_meanings_and_what_is_forbidden(lore: Lore, databases: dict[str, str]) -> None:
    shown = lore("sql", "schema", "shop", **databases)
    assert shown.exit_code == 0, shown.output
    rows = {line.split()[0]: line for line in shown.stdout.splitlines() if line.strip()}
    assert "A sale" in rows["orders"]
    assert "all of it" in rows["credential"]
    assert "email" in rows["customer"]
    assert "credential" not in lore("sql", "schema", "shop", "--ddl", **databases).stdout
    values = json.loads(lore("sql", "schema", "shop", "--json", **databases).stdout)
    assert values["dialect"] == "sqlite"


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("shp", {}, "Did you mean shop?"),
        ("shop", {"SHOP_URL": ""}, "Set SHOP_URL to sqlite:///PATH"),
        ("shop", {"SHOP_URL": "sqlite:///nothing.db"}, "SHOP_URL names no existing SQLite file"),
        ("shop", {"LORE_DATABASES_DIR": "nothing"}, "set LORE_DATABASES_DIR"),
    ],
)
def test_what_is_wrong_is_named(
    lore: Lore, databases: dict[str, str], name: str, changes: dict[str, str], expected: str
) -> None:
    result = lore("sql", "schema", name, **databases | changes)
    assert result.exit_code == 2
    assert expected in " ".join(result.stderr.split())


def test_an_airflow_connection_is_read_from_its_variable(lore: Lore, databases: dict[str, str]) -> None:
    folder = Path(databases["LORE_DATABASES_DIR"])
    (folder / "other.yaml").write_text("connection: the_shop\n", encoding="utf-8")
    path = databases["SHOP_URL"].removeprefix("sqlite:///")
    for value in (databases["SHOP_URL"], json.dumps({"conn_type": "sqlite", "host": path})):
        assert lore("sql", "schema", "other", AIRFLOW_CONN_THE_SHOP=value, **databases).exit_code == 0


def test_the_tables_for_a_question_are_shown_with_their_size(lore: Lore, databases: dict[str, str]) -> None:
    result = lore("sql", "schema", "shop", "--question", "price of a product", **databases, LORE_SQL_TABLES="2")
    assert result.exit_code == 0, result.output
    assert "Best first: product, " in result.stderr
    assert "Found by linked in " in result.stderr
    assert len([line for line in result.stdout.splitlines() if line.strip()]) == 2 + 2
