"""Statements that must be refused, and statements that must pass; `{}` in a carrier is a value of a customer c."""

from __future__ import annotations

from itertools import product
from pathlib import Path

BOTH, SQLITE, POSTGRES = "both", "sqlite", "postgresql"

FORBIDDEN_VALUES = [
    "c.email", "C.EMAIL", "c.phone", "upper(c.email)", "coalesce(c.phone, '')", "c.email || ''",
    "CASE WHEN c.email LIKE 'a%' THEN 1 ELSE 0 END", "cast(c.phone AS varchar(30))",
    "(SELECT x.email FROM customer x WHERE x.id = c.id)",
    "(SELECT max(password_hash) FROM credential k WHERE k.customer_id = c.id)", "(SELECT count(*) FROM credential)",
    '"c"."email"', "c/**/./**/email", "nullif(c.email, 'x')",
]  # fmt: skip
ALLOWED_VALUES = [
    "c.name", "C.NAME", "c.country", "upper(c.name)", "coalesce(c.country, '')", "c.name || ''",
    "CASE WHEN c.name LIKE 'a%' THEN 'x' ELSE 'y' END", "cast(c.country AS varchar(30))",
    "(SELECT x.name FROM customer x WHERE x.id = c.id)",
    "(SELECT max(o.status) FROM orders o WHERE o.customer_id = c.id)", "(SELECT min(name) FROM product)",
    '"c"."name"', "c/**/./**/name", "nullif(c.name, 'x')",
]  # fmt: skip
CARRIERS = [
    "SELECT {} FROM customer c",
    "SELECT {} AS v, count(*) FROM customer c GROUP BY 1",
    "SELECT id FROM customer c WHERE {} IS NOT NULL",
    "SELECT id FROM customer c ORDER BY {}",
    "WITH t AS (SELECT {} AS v FROM customer c) SELECT v FROM t",
    "SELECT t.v FROM (SELECT {} AS v FROM customer c) t",
    "SELECT o.id FROM orders o JOIN customer c ON c.id = o.customer_id AND {} <> 'zz'",
    "SELECT name FROM product UNION ALL SELECT {} FROM customer c",
    "SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM customer c WHERE c.id = o.customer_id AND {} <> 'zz')",
    "SELECT c.id, row_number() OVER (ORDER BY {}) FROM customer c",
    "SELECT max({}) FROM customer c",
    "SELECT id FROM customer c WHERE 'a' IN (SELECT {} FROM orders q)",
]


def refused() -> list[tuple[str, str]]:
    """Dialect ("both": each) and statement."""
    return _read("refused.sql") + _carried(FORBIDDEN_VALUES)


def passing() -> list[tuple[str, str]]:
    """Dialect ("both": each) and statement."""
    return _read("passing.sql") + _carried(ALLOWED_VALUES)


def _carried(values: list[str]) -> list[tuple[str, str]]:
    return [
        (BOTH, carrier.format(value))
        for carrier, value in product(CARRIERS, values)
        if not ("max(" in carrier and "SELECT" in value)
    ]


def for_dialect(statements: list[tuple[str, str]], dialect: str) -> list[str]:
    return [sql for where, sql in statements if where in (BOTH, dialect)]


def _read(name: str) -> list[tuple[str, str]]:
    """Read a file of statements, one a line, below headings such as `--- sqlite`; `\\n` is a line break."""
    where, found = BOTH, []
    for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("--- "):
            where = line.removeprefix("--- ").strip()
        elif line.strip():
            found.append((where, line.replace("\\n", "\n")))
    return found
