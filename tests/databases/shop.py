"""A small shop, in SQLite and PostgreSQL, with personal data that its policy forbids."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from lore.databases.compliance.check import sqlglot_dialect
from lore.databases.compliance.views import forbid_view_columns
from lore.databases.database import OpenDatabase
from lore.databases.run.connect import open_database
from lore.databases.schema.declared import keep_declared, mark_declared
from lore.databases.schema.model import DatabaseSchema
from lore.databases.schema.read import read_schema
from lore.declarations.database import DatabaseDeclaration

DDL = """
CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT NOT NULL, parent_id INTEGER REFERENCES category(id));
CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category_id INTEGER REFERENCES category(id),
                      price NUMERIC);
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, email TEXT, phone TEXT, country TEXT, joined_on DATE);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(id), placed_on DATE, status TEXT,
                     total NUMERIC);
CREATE TABLE order_item (order_id INTEGER REFERENCES orders(id), product_id INTEGER REFERENCES product(id),
                         quantity INTEGER, unit_price NUMERIC, PRIMARY KEY (order_id, product_id));
CREATE TABLE employee (id INTEGER PRIMARY KEY, name TEXT, manager_id INTEGER REFERENCES employee(id), salary NUMERIC);
CREATE TABLE credential (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(id), password_hash TEXT);
CREATE TABLE "Odd Table" (id INTEGER PRIMARY KEY, "Mixed Case" TEXT, "select" INTEGER);
CREATE VIEW order_summary AS SELECT o.id, c.country, o.total FROM orders o JOIN customer c ON c.id = o.customer_id;
CREATE VIEW customer_contact AS SELECT id, name, email AS reach FROM customer;
CREATE VIEW contact_domain AS SELECT id, substr(reach, 3) AS domain FROM customer_contact;
CREATE VIEW hashes AS SELECT c.name, k.password_hash AS h FROM credential k JOIN customer c ON c.id = k.customer_id;
INSERT INTO category VALUES (1, 'Food', NULL), (2, 'Tea', 1), (3, 'Tools', NULL);
INSERT INTO product VALUES (1, 'Green tea', 2, 4.5), (2, 'Black tea', 2, 3.5), (3, 'Hammer', 3, 20),
  (4, 'Bread', 1, 2.25);
INSERT INTO customer VALUES (1, 'Ann', 'ann@example.com', '+1 555 0100', 'CA', '2023-01-05'),
  (2, 'Bob', 'bob@example.com', '+1 555 0101', 'US', '2023-06-01'),
  (3, 'Cho', 'cho@example.com', '+1 555 0102', 'CA', '2024-02-09');
INSERT INTO orders VALUES (1, 1, '2023-02-01', 'paid', 29), (2, 1, '2024-03-01', 'paid', 4.5),
  (3, 2, '2024-03-05', 'open', 20),
  (4, 3, '2024-03-05', 'paid', 5.75);
INSERT INTO order_item VALUES (1, 1, 2, 4.5), (1, 3, 1, 20), (2, 1, 1, 4.5), (3, 3, 1, 20), (4, 2, 1, 3.5),
  (4, 4, 1, 2.25);
INSERT INTO employee VALUES (1, 'Eve', NULL, 100), (2, 'Fay', 1, 80), (3, 'Gus', 2, 60);
INSERT INTO credential VALUES (1, 1, 'x1'), (2, 2, 'x2');
INSERT INTO "Odd Table" VALUES (1, 'a', 5), (2, 'b', 6);
"""


def declared(**values: Any) -> DatabaseDeclaration:
    policy = {"forbidden_tables": ["credential"], "forbidden_columns": ["customer.email", "*.phone", "employee.salary"]}
    return DatabaseDeclaration.model_validate({"id": "shop", "url_variable": "SHOP_URL", "policy": policy} | values)


def make_sqlite(folder: Path) -> Path:
    path = folder / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(DDL)
    connection.close()
    return path


def opened(folder: Path, **values: Any) -> OpenDatabase:
    """A new shop in the folder, with these values in its declaration."""
    return OpenDatabase(declared(**values), open_database(f"sqlite:///{make_sqlite(folder)}", "SHOP_URL"))


def make_postgres(url: str) -> str:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(DDL)
    return url


def schema_of(engine: Any, declaration: DatabaseDeclaration) -> DatabaseSchema:
    marked = mark_declared(read_schema(engine), declaration)
    return keep_declared(forbid_view_columns(marked, sqlglot_dialect(marked.dialect)), declaration)


def open_shop(url: str, declaration: DatabaseDeclaration) -> tuple[Any, DatabaseSchema]:
    engine = open_database(url, "SHOP_URL")
    return engine, schema_of(engine, declaration)
