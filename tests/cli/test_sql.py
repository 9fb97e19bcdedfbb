"""`lore sql` on a real database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Lore
from tests.databases import shop
from tests.servers.model_apis.openai import OpenAIServer

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


@pytest.mark.slow
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


def written(body: dict[str, Any]) -> str:
    """The reply of a model that counts orders, or those since a year if the conversation is about it."""
    asked = body["messages"][-1]["content"]
    if "<rows>" in asked:
        return json.dumps({"summary": "There are 4 orders." if "\n4\n" in asked else "There are 3 orders."})
    where = " WHERE placed_on >= '2024-01-01'" if "only for 2024" in asked else ""
    sql = "DROP TABLE orders" if "destroy" in asked else f"SELECT count(*) AS n FROM orders{where}"
    answerable = "weather" not in asked
    return json.dumps(
        {
            "answerable": answerable,
            "missing": "" if answerable else "the weather",
            "sql": sql if answerable else "",
            "explanation": "It counts orders.",
            "assumptions": [],
            "problems": [],
        }
    )


@pytest.fixture
def asking(lore: Lore, databases: dict[str, str]) -> Iterator[Lore]:
    """`lore sql …` with a language model."""
    with OpenAIServer(written) as server:
        model = {"LORE_CHAT_MODEL": "openai:tiny", "OPENAI_API_KEY": "k", "LORE_OPENAI_BASE_URL": server.base_url}
        model["LORE_SQL_RETRIEVAL"] = "keyword"
        yield lambda *arguments, **more: lore("sql", *arguments, **databases, **model, **more)


def test_a_question_is_answered_once_it_is_approved(asking: Lore, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    result = asking("ask", "shop", "How many orders are there?", "--yes", "--csv", str(file))
    assert result.exit_code == 0, result.output
    for text in ("COUNT(*) AS n", "It counts orders.", "Reads: orders.", "There are 4 orders."):
        assert text in result.stdout
    assert "3 calls of the language model, " in result.stderr
    assert file.read_text(encoding="utf-8") == "n\n4\n"


@pytest.mark.parametrize("options", [(), ("--json", "--dry-run", "--yes")])
def test_nothing_runs_unapproved(asking: Lore, options: tuple[str, ...]) -> None:
    result = asking("ask", "shop", "How many orders are there?", *options)
    assert result.exit_code == (0 if "--dry-run" in options else 1)
    assert "COUNT(*) AS n" in result.stdout
    assert "There are 4 orders." not in result.stdout
    if "--json" in options:
        assert "rows" not in json.loads(result.stdout)


@pytest.mark.slow
def test_json_has_the_statement_the_rows_and_the_cost(asking: Lore) -> None:
    values = json.loads(asking("ask", "shop", "How many orders?", "--yes", "--json").stdout)
    assert (values["columns"], values["rows"], values["summary"]) == (["n"], [[4]], "There are 4 orders.")
    assert values["sql"].startswith("SELECT COUNT(*) AS n FROM orders") and values["calls"] == 3


@pytest.mark.slow
def test_a_follow_up_continues_a_recorded_answer_which_can_be_run_again(asking: Lore) -> None:
    first = json.loads(asking("ask", "shop", "How many orders?", "--yes", "--json").stdout)
    second = asking("ask", "shop", "only for 2024", "--after", first["id"], "--yes", "--json")
    assert json.loads(second.stdout)["rows"] == [[3]]
    again = json.loads(asking("replay", first["id"], "--json").stdout)
    assert (again["sql"], again["rows"]) == (first["sql"], [[4]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "expected"),
    [("How is the weather?", "The database can't answer this: the weather"), ("destroy it", "it is DROP instead")],
)
def test_a_refusal_says_why(asking: Lore, question: str, expected: str) -> None:
    result = asking("ask", "shop", question, "--yes")
    assert result.exit_code == 1
    assert expected in result.stdout


@pytest.mark.slow
def test_a_replay_as_an_answer_from_pages_names_the_right_command(asking: Lore, lore: Lore) -> None:
    first = json.loads(asking("ask", "shop", "How many orders?", "--yes", "--json").stdout)
    result = lore("answers", "replay", first["id"])
    assert result.exit_code == 2 and f"lore sql replay {first['id'][:10]}" in result.stderr
    shown = lore("answers", "show", first["id"]).stdout
    assert "SELECT COUNT(*) AS n FROM orders" in shown and "Approved by" in shown


@pytest.mark.slow
def test_only_approvers_may_approve(asking: Lore, databases: dict[str, str]) -> None:
    file = Path(databases["LORE_DATABASES_DIR"]) / "shop.yaml"
    file.write_text(DECLARATION + "approvers: [nobody-here]\naudiences: [finance]\n", encoding="utf-8")
    assert "open to: finance" in asking("ask", "shop", "How many orders?", "--yes").stderr
    result = asking("ask", "shop", "How many orders?", "--yes", "--audience", "finance")
    assert result.exit_code == 2
    assert "may not approve" in result.stderr and "There are 4 orders." not in result.stdout


def test_without_a_model_the_error_says_how_to_set_one(lore: Lore, databases: dict[str, str]) -> None:
    result = lore("sql", "ask", "shop", "How many orders?", **databases)
    assert result.exit_code == 2 and "LORE_CHAT_MODEL" in result.stderr


QUESTIONS = """
database: shop
questions:
  - question: How many orders are there?
    sql: SELECT count(*) FROM orders
  - question: Who bought a hammer?
    sql:
      - SELECT c.name FROM customer c JOIN orders o ON o.customer_id = c.id JOIN order_item i ON i.order_id = o.id
        JOIN product p ON p.id = i.product_id WHERE p.name = 'Hammer'
"""


@pytest.fixture
def questions(knowledge: Path) -> str:
    path = knowledge / "questions.yaml"
    path.write_text(QUESTIONS, encoding="utf-8")
    return str(path)


def test_ways_are_compared_and_the_report_is_saved(lore: Lore, databases: dict[str, str], questions: str) -> None:
    ways = ("--way", "linked", "--way", "none", "--way", "keyword")
    result = lore("sql", "compare", questions, *ways, "--output", "out", **databases, LORE_SQL_TABLES="4")
    assert result.exit_code == 0, result.output
    assert "it finds all needed tables for " in result.stdout
    again = lore("sql", "compare", questions, *ways, "--output", "out", "--json", **databases, LORE_SQL_TABLES="4")
    values = json.loads(again.stdout)
    assert [way["way"] for way in values["ways"]] == ["none", "keyword", "linked"]
    pages = sorted(Path("out").glob("*/comparison.html"))
    assert len(pages) == 2
    assert "Earlier runs" not in pages[0].read_text() and "Earlier runs" in pages[1].read_text()


@pytest.mark.slow
def test_statements_are_compared_once_they_are_approved(asking: Lore, questions: str) -> None:
    refused = asking("compare", questions, "--way", "keyword", "--answers", "2")
    assert refused.exit_code == 2 and "not approved" in refused.stderr
    done = asking("compare", questions, "--way", "keyword", "--answers", "2", "--plain", "--yes", "--json")
    assert done.exit_code == 0, done.output
    ways = {way["way"]: way["accuracy"]["value"] for way in json.loads(done.stdout)["ways"]}
    assert ways == {"keyword": 0.5, "keyword, without review and repair": 0.5}


@pytest.mark.slow
def test_a_model_that_is_down_makes_no_statement_wrong(lore: Lore, databases: dict[str, str], questions: str) -> None:
    model = {"LORE_CHAT_MODEL": "openai:tiny", "OPENAI_API_KEY": "k", "LORE_OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    arguments = ("sql", "compare", questions, "--way", "keyword", "--answers", "2", "--yes", "--json")
    done = lore(*arguments, **databases, **model, LORE_MAX_RETRIES="0")
    assert done.exit_code == 0, done.output
    values = json.loads(done.stdout)
    assert [way["accuracy"] for way in values["ways"]] == [None]
    assert all("could not be reached" in result["failure"] for result in values["results"])


def test_a_gold_statement_that_may_not_run_is_named(lore: Lore, databases: dict[str, str], questions: str) -> None:
    Path(questions).write_text("database: shop\nquestions:\n  - {question: a, sql: SELECT email FROM customer}\n")
    result = lore("sql", "compare", questions, **databases)
    assert result.exit_code == 2 and "customer.email is forbidden" in result.stderr
