"""Metrics: what Prometheus reads after questions that were answered, refused, left and failed, and who may read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from lore.errors import StoreError
from lore.query.events import Answered
from lore.types import Answer, Plan, Question, Trace, Usage
from lore.web.app import WebOptions
from lore.web.metrics import Metrics
from prometheus_client.parser import text_string_to_metric_families

from tests.web.world import SOURCES, SUGGESTION, World


def values(text: str) -> dict[tuple[str, ...], float]:
    """The samples by name and labels."""
    families = text_string_to_metric_families(text)
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def read(client: TestClient) -> dict[tuple[str, ...], float]:
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    return values(response.text)


def test_answers_and_opinions_are_counted(tmp_path: Path) -> None:
    world = World(tmp_path, options=WebOptions(questions=4))
    with TestClient(world.app) as client:
        assert ("lore_questions_total", "found") not in read(client)
        body = {"question": SUGGESTION}
        answer = client.post("/api/ask", json=body).json()["id"]
        client.post("/api/ask", json=body, headers={"Accept": "text/event-stream"})
        client.post("/api/ask", json={"question": "Who won the chess match in 1972?"})
        world.pipeline.failing = StoreError("The index is locked.")
        client.post("/api/ask", json=body)
        assert client.post("/api/ask", json=body).status_code == 429
        client.post(f"/api/answers/{answer}/feedback", json={"helpful": False})
        client.post(f"/api/answers/{'0' * 32}/feedback", json={"helpful": True})
        told = read(client)
    outcomes = {name[1]: value for name, value in told.items() if name[0] == "lore_questions_total"}
    assert outcomes == {"found": 2, "not_found": 1, "failed": 1, "refused": 1}
    assert told["lore_stage_seconds_count", "total"] == 3
    assert told["lore_stage_seconds_sum", "retrieve"] <= told["lore_stage_seconds_sum", "total"]
    assert {name: value for name, value in told.items() if name[0] == "lore_feedback_total"} == {
        ("lore_feedback_total", "no"): 1
    }
    assert told["lore_questions_waiting",] == 0
    world.close()


def test_the_age_of_each_source_is_known(tmp_path: Path) -> None:
    world = World(tmp_path)
    with TestClient(world.app) as client:
        told = read(client)
    assert SOURCES[0].synced_at
    assert told["lore_source_synced_timestamp_seconds", "docs"] == SOURCES[0].synced_at.timestamp()
    assert ("lore_source_synced_timestamp_seconds", "wiki") not in told
    assert told["lore_source_documents", "docs"] == 3
    world.close()


def test_costs_are_summed_by_model() -> None:
    metrics = Metrics(lambda: (), lambda: 3)
    usage = (Usage("a", cost=0.25), Usage("a", cost=0.5), Usage("b"))
    answer = Answer(Question("x"), "y", (), True, Trace(Plan("x", ("x",)), usage=usage))
    assert list(metrics.watch(iter([Answered(answer)]))) == [Answered(answer)]
    told = values(metrics.text().decode())
    assert told["lore_cost_dollars_total", "a"] == 0.75
    assert told["lore_unpriced_calls_total", "b"] == 1
    assert ("lore_cost_dollars_total", "b") not in told
    assert told["lore_questions_waiting",] == 3


def test_a_reader_who_leaves_is_counted() -> None:
    metrics = Metrics(lambda: (), lambda: 0)
    answer = Answer(Question("x"), "y", (), True, Trace(Plan("x", ("x",))))
    left: Any = metrics.watch(iter([object(), Answered(answer)]))  # type: ignore[list-item]
    next(left)
    left.close()
    assert values(metrics.text().decode())["lore_questions_total", "left"] == 1


def test_an_index_that_cannot_be_read_leaves_the_other_metrics() -> None:
    def broken() -> Any:
        raise StoreError("The index is damaged.")

    metrics = Metrics(broken, lambda: 0)
    metrics.judge(True)
    told = values(metrics.text().decode())
    assert told["lore_feedback_total", "yes"] == 1
    assert not any(name[0].startswith("lore_source") for name in told)


@pytest.mark.parametrize(
    ("token", "sent", "status"),
    [
        (None, "", 200),
        ("", "", 403),
        ("", "Bearer ", 403),
        ("secret", "Bearer secret", 200),
        ("secret", "", 401),
        ("secret", "Bearer ", 401),
        ("secret", "secret", 401),
        ("secret", "Bearer secrets", 401),
        ("secret", "Bearer s\xe9cret", 401),
    ],
)
def test_a_token_decides_who_reads(tmp_path: Path, token: str | None, sent: str, status: int) -> None:
    world = World(tmp_path, options=WebOptions(metrics_token=token), recorded=False)
    with TestClient(world.app) as client:
        headers: Any = {"Authorization": sent.encode("latin-1")}
        response = client.get("/metrics", headers=headers)
    assert response.status_code == status
    assert ("lore_questions_waiting" in response.text) == (status == 200)
    world.close()


def test_no_page_reads_them_not_even_of_a_site_with_the_widget(tmp_path: Path) -> None:
    site = "https://www.example.com"
    world = World(tmp_path, options=WebOptions(sites=(site,)))
    with TestClient(world.app) as client:
        response = client.get("/metrics", headers={"Origin": site})
        assert response.status_code == 403 and "lore_questions" not in response.text
    world.close()
