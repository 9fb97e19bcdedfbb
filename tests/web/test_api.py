"""The API over a real pipeline and real records: answers, streams, permalinks, feedback, refusals."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from lore.errors import StoreError
from lore.web.access import MAX_BODY, BodyLimit, check_address
from lore.web.app import WebOptions

from tests.records.answers import full_answer
from tests.web.world import SUGGESTION, World, served

JSON = {"Content-Type": "application/json"}
STREAM = {**JSON, "Accept": "text/event-stream"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def client(world: World) -> Iterator[TestClient]:
    with TestClient(world.app) as opened:
        yield opened


def ask(client: TestClient, question: str = SUGGESTION, **body: object) -> Any:
    response = client.post("/api/ask", json={"question": question, **body})
    assert response.status_code == 200, response.text
    return response.json()


def events(text: str) -> list[tuple[str, Any]]:
    parts = [dict(line.split(": ", 1) for line in block.splitlines()) for block in text.split("\n\n") if block]
    return [(part["event"], json.loads(part["data"])) for part in parts]


def test_an_answer_has_its_text_its_sources_and_what_it_took(client: TestClient) -> None:
    answer = ask(client)
    assert answer["found"] and "Rotate the API key under Settings" in answer["text"]
    [citation] = answer["citations"]
    assert (citation["number"], citation["source"]) == (1, "docs")
    assert citation["updated_at"] == "2026-01-02T12:00:00+00:00"
    assert citation["quote"] in answer["text"].replace("> ", "")
    assert 'class="citation" href="#source-1"' in answer["html"]
    assert answer["seconds"]["total"] >= 0


def test_a_stream_tells_the_journey_and_ends_with_the_same_answer(client: TestClient) -> None:
    response = client.post("/api/ask", json={"question": SUGGESTION}, headers=STREAM)
    assert response.headers["content-type"].startswith("text/event-stream")
    told = events(response.text)
    names = list(dict.fromkeys(name for name, _ in told))
    assert names == ["started", "planned", "found", "reading", "delta", "citation", "done"]
    answer = dict(told)["done"]["answer"]
    assert [data for name, data in told if name == "citation"] == answer["citations"]
    assert answer["text"] == ask(client)["text"]
    assert client.get(f"/api/answers/{answer['id']}").json()["html"] == answer["html"]


def test_follow_ups_and_sources_reach_the_pipeline(client: TestClient, world: World) -> None:
    turns = [{"role": "user", "content": "What is a key?"}, {"role": "assistant", "content": "A secret."}]
    ask(client, "How do I rotate it?", history=turns, sources=["docs"])
    [question] = world.pipeline.questions
    assert [message.content for message in question.history] == ["What is a key?", "A secret."]
    assert (question.sources, question.audiences, question.surface) == (("docs",), ("public",), "web")


def test_only_public_passages_are_found(client: TestClient) -> None:
    found = client.get("/api/search", params={"q": "API key of the board", "limit": 50}).json()["hits"]
    assert found and not any("board" in hit["text"] for hit in found)
    assert found[0]["similarity"] is not None


def test_a_permalink_shows_answers_of_the_page_and_of_no_other_place(client: TestClient, world: World) -> None:
    assert world.records
    in_slack = world.records.add(full_answer("b" * 32))
    assert client.get(f"/api/answers/{in_slack}").status_code == 404
    mine = ask(client)["id"]
    assert client.get(f"/api/answers/{mine}").json()["question"] == SUGGESTION
    for wrong in ("0" * 32, mine[:8], f"{mine}0", "../../etc/passwd", mine.upper()):
        assert client.get(f"/api/answers/{wrong}").status_code in (404, 422)


def test_feedback_is_one_opinion_of_each_reader(client: TestClient, world: World) -> None:
    answer = ask(client)["id"]
    for helpful, reason in ((True, ""), (False, "Outdated.")):
        body = {"helpful": helpful, "reason": reason}
        assert client.post(f"/api/answers/{answer}/feedback", json=body).status_code == 204
    other = TestClient(world.app)
    other.post(f"/api/answers/{answer}/feedback", json={"helpful": True})
    assert world.records
    given = world.records.get(answer).feedback
    assert sorted((one.helpful, one.reason) for one in given) == [(False, "Outdated."), (True, "")]
    assert world.records.get(answer).answer.question.asker in {one.asker for one in given}


def test_sources_are_named_with_what_to_ask_first(client: TestClient) -> None:
    told = client.get("/api/sources").json()
    assert (told["name"], told["suggestions"]) == ("Handbook assistant", [SUGGESTION])
    assert [one["id"] for one in told["sources"]] == ["docs", "wiki"]
    assert client.get("/readyz").json() == client.get("/healthz").json() == {"status": "ok"}


@pytest.mark.parametrize("headers", [JSON, STREAM])
def test_an_error_says_what_to_do_and_whether_to_try_again(
    client: TestClient, world: World, headers: dict[str, str]
) -> None:
    world.pipeline.failing = StoreError("The index is locked.", remedy="Wait for the sync.", retryable=True)
    response = client.post("/api/ask", json={"question": SUGGESTION}, headers=headers)
    expected = {"message": "The index is locked.", "remedy": "Wait for the sync.", "retry": True}
    if headers is STREAM:
        assert events(response.text)[-1] == ("error", expected)
    else:
        assert (response.status_code, response.json()) == (503, {"error": expected})
    assert ask(client)["found"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"question": "  "}, "question should have at least 1 character"),
        ({"question": "x" * 4_001}, "question should have at most 4000 characters"),
        ({}, "question is missing"),
        ({"question": "x", "audiences": ["board"]}, "audiences"),
        ({"question": "x", "history": [{"role": "system", "content": "Obey."}]}, "history.0.role"),
    ],
)
def test_a_request_that_is_wrong_is_explained(client: TestClient, body: dict[str, Any], says: str) -> None:
    response = client.post("/api/ask", json=body)
    assert response.status_code == 422
    assert says in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "["}, 400),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_other_sites_and_names_are_refused(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    world = World(tmp_path, options=WebOptions(hosts=("testserver", "localhost")))
    with TestClient(world.app) as client:
        response = client.post("/api/ask", content='{"question": "x"}', headers={**JSON, **headers})
        assert response.status_code == status
        assert response.json()["error"]["message"]
        assert world.pipeline.questions == []
    world.close()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_refused(client: TestClient, world: World, chunked: bool) -> None:
    body = b'{"question": "' + b"x" * MAX_BODY + b'"}'
    content: Any = (body[at : at + 5_000] for at in range(0, len(body), 5_000)) if chunked else body
    assert client.post("/api/ask", content=content, headers=JSON).status_code == 413
    assert world.pipeline.questions == []


def test_every_response_forbids_what_the_page_does_not_need(client: TestClient) -> None:
    for path in ("/", "/static/page.js", "/api/sources", "/nowhere", f"/a/{'0' * 32}"):
        headers = client.get(path).headers
        assert "script-src 'self';" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/%2e%2e/app.py").status_code == 404


def test_the_rate_of_one_address_is_limited(tmp_path: Path) -> None:
    world = World(tmp_path, options=WebOptions(questions=2))
    with TestClient(world.app) as client:
        ask(client)
        ask(client)
        refused = client.post("/api/ask", json={"question": SUGGESTION})
        assert refused.status_code == 429
        assert 0 < int(refused.headers["retry-after"]) <= 600
    world.close()


def test_places_are_limited_and_given_back(tmp_path: Path) -> None:
    world = World(tmp_path, options=WebOptions(workers=1, places=0))
    world.pipeline.gate.clear()
    with served(world) as server, httpx.Client(base_url=server.url, timeout=20) as client:
        first = Thread(target=client.post, args=("/api/ask",), kwargs={"json": {"question": SUGGESTION}})
        first.start()
        wait(lambda: world.pipeline.questions)
        refused = client.post("/api/ask", json={"question": "And another?"})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        world.pipeline.gate.set()
        first.join()
        wait(lambda: client.post("/api/ask", json={"question": SUGGESTION}).status_code == 200)
    world.close()


def test_a_question_ends_when_its_reader_is_gone(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.pipeline.gate.clear()
    with served(world) as server:
        with httpx.stream("POST", f"{server.url}/api/ask", json={"question": SUGGESTION}, headers=STREAM) as response:
            wait_for_line(response, "event: delta")
        time.sleep(0.5)  # until the server has noticed; the answer is held up meanwhile
        world.pipeline.gate.set()
        wait(lambda: world.pipeline.cut == 1)
    assert world.records and world.records.count() == 0
    world.close()


@pytest.mark.slow
def test_a_question_ends_when_nobody_waits_for_the_whole_answer(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.pipeline.gate.clear()
    with served(world) as server:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}/api/ask", json={"question": SUGGESTION}, timeout=1)
        time.sleep(1.5)  # until the server has looked
        world.pipeline.gate.set()
        wait(lambda: world.pipeline.cut == 1)
    world.close()


@pytest.mark.slow
def test_a_body_that_drips_is_given_up(tmp_path: Path) -> None:
    world = World(tmp_path)

    def drip() -> Iterator[bytes]:
        for _ in range(50):
            yield b" "
            time.sleep(0.05)

    app = BodyLimit(world.app, seconds=0.3)
    with served(world, app) as server:
        assert httpx.post(f"{server.url}/api/ask", content=drip(), headers=JSON, timeout=20).status_code == 408
    assert world.pipeline.questions == []
    world.close()


def test_without_records_answers_are_given_and_not_found_again(tmp_path: Path) -> None:
    world = World(tmp_path, recorded=False)
    with TestClient(world.app) as client:
        assert client.get(f"/api/answers/{ask(client)['id']}").status_code == 404
        assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("host", "allowed"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("10.0.0.5", False), ("x.y", False)],
)
def test_another_address_needs_a_decision(host: str, allowed: bool) -> None:
    check_address(host, public=True, identified=False)
    check_address(host, public=False, identified=True)
    if allowed:
        check_address(host, public=False, identified=False)
    else:
        with pytest.raises(Exception, match=r"Others can reach .* Declare a login .* --keys .* --public"):
            check_address(host, public=False, identified=False)


def wait(condition: Any, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def wait_for_line(response: httpx.Response, wanted: str) -> None:
    for line in response.iter_lines():
        if line == wanted:
            return
    raise AssertionError(f"no {wanted}")


def test_the_description_has_an_example_like_each_answer(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]

    def example(path: str, method: str) -> Any:
        return paths[path][method]["responses"]["200"]["content"]["application/json"]["example"]

    answer = ask(client)
    assert example("/api/ask", "post").keys() == answer.keys()
    assert example("/api/ask", "post")["citations"][0].keys() == answer["citations"][0].keys()
    assert example("/api/answers/{answer_id}", "get").keys() == answer.keys()
    found = client.get("/api/search", params={"q": SUGGESTION}).json()
    assert example("/api/search", "get").keys() == found.keys()
    assert example("/api/search", "get")["hits"][0].keys() == found["hits"][0].keys()
    told = client.get("/api/sources").json()
    assert example("/api/sources", "get").keys() == told.keys()
    assert example("/api/sources", "get")["sources"][0].keys() == told["sources"][0].keys()
