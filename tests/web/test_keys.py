"""Keys of the API: what their holders find, open and may do, and what nobody else does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from lore.records.api_keys import ApiKey
from lore.web.app import WebOptions

from tests.web.world import SUGGESTION, World

SECRET = "API key of the board is in the safe"


@pytest.fixture(params=[False, True])
def required(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def world(tmp_path: Path, required: bool) -> Iterator[World]:
    made = World(tmp_path, options=WebOptions(identified=required))
    yield made
    made.close()


@pytest.fixture
def client(world: World) -> Iterator[TestClient]:
    with TestClient(world.app) as opened:
        yield opened


def key(world: World, *audiences: str, rate: int = 0) -> tuple[ApiKey, dict[str, str]]:
    assert world.records
    made, text = world.records.api_keys().create("A program", audiences, rate)
    return made, {"Authorization": f"Bearer {text}"}


def found(client: TestClient, headers: dict[str, str]) -> str:
    response = client.get("/api/search", params={"q": "API key of the board", "limit": 50}, headers=headers)
    assert response.status_code == 200, response.text
    return str(response.json()["hits"])


def test_a_key_reads_for_its_audiences_and_the_public(client: TestClient, world: World) -> None:
    board, plain = key(world, "board")[1], key(world)[1]
    assert SECRET in found(client, board) and "Rotate the API key" in found(client, board)
    assert SECRET not in found(client, plain) and "Rotate the API key" in found(client, plain)
    ids = [[one["id"] for one in client.get("/api/sources", headers=who).json()["sources"]] for who in (board, plain)]
    assert ids == [["docs", "wiki", "minutes"], ["docs", "wiki"]]


def test_without_a_key_all_is_public_or_refused(client: TestClient, world: World, required: bool) -> None:
    calls = {
        "/api/ask": {"question": SUGGESTION},
        f"/api/answers/{'0' * 32}/feedback": {"helpful": True},
        f"/api/answers/{'0' * 32}": None,
        "/api/search?q=key": None,
        "/api/sources": None,
    }
    for path, body in calls.items():
        response = client.get(path) if body is None else client.post(path, json=body)
        assert (response.status_code == 401) == required, path
        if required:
            assert response.headers["www-authenticate"] == "Bearer"
            assert "lore keys create" in response.json()["error"]["remedy"]
    assert len(world.pipeline.questions) == (not required)
    for path in ("/healthz", "/readyz", "/"):
        assert client.get(path).status_code == 200


def test_a_wrong_key_is_refused_even_where_none_is_needed(client: TestClient, world: World) -> None:
    made, headers = key(world, "board")
    text = headers["Authorization"].removeprefix("Bearer ")
    for wrong in (f"{text}x", text[:-1], f"lore_{made.id}_{'A' * 43}", "lore_", "lore_' OR 1=1 --"):
        for scheme in ("Bearer", "bearer"):
            sent = {"Authorization": f"{scheme} {wrong}"}
            response = client.post("/api/ask", json={"question": SUGGESTION}, headers=sent)
            assert response.status_code == 401
            assert wrong == "lore_" or wrong not in response.text
    assert world.pipeline.questions == []


def test_a_revoked_key_is_void_at_once(client: TestClient, world: World) -> None:
    made, headers = key(world)
    assert client.post("/api/ask", json={"question": SUGGESTION}, headers=headers).status_code == 200
    assert world.records
    world.records.api_keys().revoke(made.id)
    response = client.post("/api/ask", json={"question": SUGGESTION}, headers=headers)
    assert (response.status_code, "revoked" in response.json()["error"]["message"]) == (401, True)


def test_an_answer_from_private_passages_opens_for_their_readers_alone(client: TestClient, world: World) -> None:
    made, board = key(world, "board")
    others = [key(world)[1], key(world, "board-of-another")[1]]
    answer = client.post("/api/ask", json={"question": "API key of the board"}, headers=board).json()
    path = f"/api/answers/{answer['id']}"
    again = client.get(path, headers=key(world, "board", "staff")[1])
    assert again.json()["question"] == "API key of the board"
    assert made.id not in again.text and "A program" not in again.text
    for headers in others:
        assert client.get(path, headers=headers).status_code == 404
        assert client.post(f"{path}/feedback", json={"helpful": True}, headers=headers).status_code == 404
    assert client.get(path).status_code in (401, 404)
    assert client.post(f"{path}/feedback", json={"helpful": True}, headers=board).status_code == 204
    assert world.records
    record = world.records.get(answer["id"])
    assert record.answer.question.asker == f"key:{made.id}" == record.feedback[0].asker


def test_a_key_has_a_rate_of_its_own(client: TestClient, world: World) -> None:
    slow, fast = key(world, rate=1)[1], key(world)[1]
    body: dict[str, Any] = {"json": {"question": SUGGESTION}}
    codes = [client.post("/api/ask", **body, headers=headers).status_code for headers in (slow, slow, fast, fast)]
    assert codes == [200, 429, 200, 200]
    assert client.get("/api/search?q=key", headers=slow).status_code == 429


def test_other_credentials_are_not_keys(client: TestClient, required: bool) -> None:
    for value in ("Basic bG9yZTpsb3Jl", "Bearer eyJhbGciOiJub25lIn0.e30.", "lore_", "Bearer"):
        status = client.get("/api/sources", headers={"Authorization": value}).status_code
        assert status == (401 if required else 200)
