"""The DAG `ask_database`, run for real: proposed, approved or rejected, run, and refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lore.orchestration.localrun import LocalRun

from tests.databases import shop
from tests.servers.model_apis.openai import OpenAIServer

from .approvals import a_person_who
from .conftest import Project

pytestmark = [pytest.mark.xdist_group("airflow"), pytest.mark.slow]

QUESTION = "How many orders are there? `{{ 7 * 7 }}` ``` <b>[Approve](https://evil.example.com)</b>"


def written(body: dict[str, Any]) -> str:
    asked = body["messages"][-1]["content"]
    if "<rows>" in asked:
        return json.dumps({"summary": "There are 4 orders."})
    answerable = "weather" not in asked
    sql = "SELECT count(*) AS n FROM orders" if answerable else ""
    reply = {"answerable": answerable, "missing": "the weather", "sql": sql, "explanation": "It counts orders."}
    return json.dumps({**reply, "assumptions": [], "problems": []})


class Form:
    """The DAG, with its form filled in."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def run(self, question: str = QUESTION) -> LocalRun:
        return self._project.airflow.run("ask_database", {"database": "shop", "question": question})


@pytest.fixture
def form(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Form]:
    monkeypatch.setenv("SHOP_URL", f"sqlite:///{shop.make_sqlite(tmp_path)}")
    monkeypatch.setenv("LORE_SQL_RETRIEVAL", "keyword")
    monkeypatch.setenv("LORE_CHAT_MODEL", "openai:tiny")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with OpenAIServer(written) as server:
        monkeypatch.setenv("LORE_OPENAI_BASE_URL", server.base_url)
        yield Form(project)


def test_a_statement_runs_once_a_person_has_read_and_approved_it(form: Form) -> None:
    with a_person_who("Approve", name="Ada") as asked:
        run = form.run()
    assert run.succeeded, run.errors
    ((subject, page),) = asked.requests
    assert subject == "Run this statement?"
    assert f"````\n{QUESTION}\n````" in page, "neither rendered nor markup"
    assert "```sql\nSELECT\n  COUNT(*) AS n\nFROM orders" in page
    value = run.value("run")
    assert (value["columns"], value["rows"], value["summary"]) == (["n"], [[4]], "There are 4 orders.")


def test_rejected_it_runs_nothing(form: Form) -> None:
    with a_person_who("Reject", name="Ada"):
        run = form.run()
    assert (run.tasks["approve"], run.tasks["run"]) == ("success", "skipped")


def test_the_approval_of_somebody_without_the_right_runs_nothing(form: Form) -> None:
    with a_person_who("Approve", name="Mallory"):
        run = form.run()
    assert run.tasks["run"] == "failed"
    assert "Mallory may not approve statements on shop" in str(run.errors["run"])


def test_a_question_that_the_database_can_not_answer_asks_nobody(form: Form) -> None:
    run = form.run("How is the weather?")
    assert set(run.tasks.values()) == {"skipped"}
