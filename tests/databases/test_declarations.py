"""Declarations of databases: what they hold, and the line of each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from lore.declarations.database import load_database, load_databases
from lore.errors import ConfigurationError, DeclarationError


def write(folder: Path, text: str, name: str = "shop.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_declaration_has_all_its_parts(tmp_path: Path) -> None:
    text = """
title: The shop
url_variable: SHOP_URL
include: [orders, customer]
exclude: [customer.joined_on]
tables: {orders: A sale}
columns: {orders.total: US dollars}
terms: {revenue: sum of orders.total}
examples:
  - question: How many orders are there?
    sql: SELECT count(*) FROM orders
samples: [orders.status]
policy:
  rows: 50
  seconds: 5
  forbidden_tables: [credential]
  forbidden_columns: ["*.email"]
audiences: [team]
approvers: [ann@example.com]
"""
    declared = load_database(write(tmp_path, text))
    assert (declared.id, declared.title, declared.policy.rows) == ("shop", "The shop", 50)
    assert declared.examples[0].sql == "SELECT count(*) FROM orders"
    assert declared.columns == {"orders.total": "US dollars"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("url_variable: SHOP_URL\ntabels: {}\n", "line 2: unknown key `tabels`"),
        ("url_variable: SHOP_URL\npolicy:\n  rowz: 5\n", "line 3: unknown key `policy.rowz`"),
        ("url_variable: SHOP_URL\npolicy:\n  rows: 0\n", "line 3: `policy.rows` should be 1 or more"),
        ("url_variable: SHOP_URL\npolicy:\n  forbidden_columns: [email]\n", "line 3: `policy.forbidden_columns.0`"),
        ("url_variable: SHOP_URL\nexamples:\n  - question: a\n", "line 3: the key `examples.0.sql` is missing"),
        ("url_variable: shop url\n", "line 1: `url_variable`"),
        ("title: The shop\n", "needs either `url_variable` or `connection`"),
        ("url_variable: A\nconnection: b\n", "needs either `url_variable` or `connection`"),
        ("url_variable: A\nurl_variable: B\n", "line 2: the key `url_variable` is repeated"),
        ("title: The shop\nurl: postgresql://me:secret@host/shop\n", "line 2: an address may hold a password"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(DeclarationError) as error:
        load_database(write(tmp_path, text))
    assert expected in str(error.value)
    assert "secret" not in str(error.value)


def test_a_broken_file_hides_no_other(tmp_path: Path) -> None:
    write(tmp_path, "url_variable: A\n", "a.yaml")
    write(tmp_path, "id: a\nurl_variable: A\n", "b.yaml")
    write(tmp_path, "nothing: 1\n", "c.yml")
    found = load_databases(tmp_path)
    assert list(found.valid) == ["a"]
    assert ["b.yaml" in str(found.broken[0]), "c.yml" in str(found.broken[1])] == [True, True]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="LORE_DATABASES_DIR"):
        load_databases(tmp_path / "nothing")
