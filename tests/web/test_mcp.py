"""Agents with the protocol's own client: tools over HTTP and standard input, with progress, keys and cancellation."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from lore.errors import StoreError
from lore.types import Document
from lore.web.app import WebOptions
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.web.test_api import wait
from tests.web.world import SUGGESTION, Server, World, served

LONG = Document("docs:long", "docs", "https://docs.example.com/long", "Long", "0123456789" * 30)
HIDDEN = Document("minutes:1", "minutes", "", "Minutes", "The safe is behind the picture.", audiences=("board",))
BOARD = "Where is the API key of the board?"


def _world(folder: Path, **options: Any) -> World:
    return World(folder, options=WebOptions(**options), documents=(LONG, HIDDEN))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = _world(tmp_path_factory.mktemp("mcp"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Server]:
    with served(world) as running:
        yield running


def talk(
    server: Server, act: Callable[[Client], Awaitable[Any]], *, key: str = "", mode: Any = "auto", timeout: float = 30
) -> Any:
    """Return what `act` returns, with a client that sends a key."""

    async def connected() -> Any:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout) as http,
            Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode) as client,
        ):
            return await act(client)

    return anyio.run(connected)


def call(server: Server, name: str, key: str = "", mode: Any = "auto", **arguments: Any) -> Any:
    return talk(server, lambda client: client.call_tool(name, arguments), key=key, mode=mode)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_say_what_they_do_and_what_they_return(server: Server, mode: str) -> None:
    tools = {tool.name: tool for tool in talk(server, lambda client: client.list_tools(), mode=mode).tools}
    assert set(tools) == {"ask", "search", "read_document", "list_sources"}
    for tool in tools.values():
        assert tool.description and tool.output_schema and tool.annotations
        assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (True, False)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_answer_comes_with_its_sources_and_tells_its_progress(server: Server, mode: str) -> None:
    steps: list[tuple[float, str | None]] = []

    async def ask(client: Client) -> Any:
        async def told(progress: float, total: float | None, message: str | None) -> None:
            assert total == 4
            steps.append((progress, message))

        return await client.call_tool("ask", {"question": SUGGESTION}, progress_callback=told)

    result = talk(server, ask, mode=mode)
    assert not result.is_error
    answer = result.structured_content
    assert answer["found"] and "Rotate the API key under Settings" in answer["text"]
    assert answer["citations"][0]["url"] == "https://docs.example.com/keys"
    assert "**Sources**" in result.content[0].text
    assert [step for step, _ in steps] == [1, 2, 3, 4] and steps[0][1] == "Searching"


def test_passages_lead_to_their_documents_in_parts(server: Server) -> None:
    found = call(server, "search", query=SUGGESTION, limit=2).structured_content["passages"]
    assert len(found) == 2 and found[0]["similarity"] and found[0]["document"]
    part = call(server, "read_document", document=LONG.id, offset=250, limit=30).structured_content
    assert (part["text"], part["characters"], part["next_offset"]) == ("0123456789" * 3, 300, 280)
    last = call(server, "read_document", document=LONG.id, offset=280, limit=30).structured_content
    assert (last["text"], last["next_offset"]) == ("0123456789" * 2, None)
    assert call(server, "read_document", document=LONG.id, offset=9_999).structured_content["text"] == ""
    rows = call(server, "list_sources").structured_content["sources"]
    assert [(row["id"], row["documents"]) for row in rows] == [("docs", 3), ("wiki", 1)]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("ask", {"question": ""}, "at least 1 character"),
        ("ask", {"question": "x" * 4_001}, "at most 4000"),
        ("ask", {"question": SUGGESTION, "sources": ["x"] * 101}, "at most 100"),
        ("search", {"query": SUGGESTION, "limit": 1_000_000}, "less than or equal to 50"),
        ("search", {}, "Field required"),
        ("read_document", {"document": LONG.id, "offset": -1}, "greater than or equal to 0"),
        ("read_document", {"document": LONG.id, "limit": 10**9}, "less than or equal to 50000"),
        ("read_document", {"document": "../../etc/passwd"}, "There is no document"),
        ("read_document", {"document": "x' OR 1=1 --"}, "There is no document"),
        ("read_document", {"document": HIDDEN.id}, "There is no document"),
        ("delete_everything", {}, "Unknown tool"),
    ],
)
def test_a_mistake_is_an_error_that_the_agent_reads(server: Server, name: str, arguments: Any, told: str) -> None:
    try:
        result = call(server, name, **arguments)
    except Exception as error:  # an unknown tool is an error of the protocol
        assert told in str(error)
    else:
        assert result.is_error and told in result.content[0].text
        assert "Traceback" not in result.content[0].text


def test_a_failure_of_the_pipeline_says_what_to_do(server: Server, world: World) -> None:
    world.pipeline.failing = StoreError("The index is locked.", remedy="Wait for the sync.", retryable=True)
    result = call(server, "ask", question=SUGGESTION)
    assert result.is_error and "The index is locked. Wait for the sync." in result.content[0].text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_call_ends_the_question(server: Server, world: World, mode: str) -> None:
    world.pipeline.questions.clear()
    world.pipeline.gate.clear()
    before = world.pipeline.cut

    async def leave(client: Client) -> None:
        with anyio.move_on_after(20) as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "ask", {"question": SUGGESTION})
                while not world.pipeline.questions:
                    await anyio.sleep(0.02)
                tasks.cancel_scope.cancel()
        assert not scope.cancelled_caught
        await anyio.sleep(0.5)

    talk(server, leave, mode=mode)
    world.pipeline.gate.set()
    wait(lambda: world.pipeline.cut == before + 1)


@pytest.mark.parametrize("required", [False, True])
def test_a_key_gives_its_audiences_to_its_own_calls(tmp_path: Path, required: bool) -> None:
    world = _world(tmp_path, identified=required)
    assert world.records
    keys = world.records.api_keys()
    made, board = keys.create("An agent", ["board"], 0)
    once = keys.create("Another", [], 1)[1]
    with served(world) as running:
        assert "in the safe" in str(call(running, "ask", key=board, question=BOARD))
        assert "picture" in str(call(running, "read_document", key=board, document=HIDDEN.id))
        assert "minutes" in str(call(running, "list_sources", key=board))
        asked = world.pipeline.questions[-1]
        assert (asked.asker, asked.surface) == (f"key:{made.id}", "mcp")
        for other in [once] if required else [once, ""]:
            assert "picture" not in str(call(running, "read_document", key=other, document=HIDDEN.id))
            assert "minutes" not in str(call(running, "list_sources", key=other))
        assert "in the safe" not in str(call(running, "ask", key=once, question=BOARD))
        assert "Ask again in" in str(call(running, "search", key=once, query=BOARD))
        keys.revoke(made.id)
        for refused in [board, f"{board}x", *(["of-another"] if required else [])]:
            headers = {"Authorization": f"Bearer {refused}", "Accept": "application/json, text/event-stream"}
            response = httpx.post(f"{running.url}/mcp", json={}, headers=headers)
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    world.close()


def test_another_sites_page_is_no_agent(server: Server) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    for method in ("POST", "DELETE"):
        foreign = {**accept, "Origin": "https://evil.example"}
        assert httpx.request(method, f"{server.url}/mcp", json=body, headers=foreign).status_code == 403
    large = httpx.post(f"{server.url}/mcp", json={**body, "params": {"x": "y" * 70_000}}, headers=accept)
    assert large.status_code == 413


# --------------------------------------------------------------------------------------------------- standard input


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "dags" / "sources").mkdir(parents=True)
    texts = {"handbook": "Rotate the API key under Settings.", "minutes": "The safe."}
    for name, audience in (("handbook", ""), ("minutes", "board")):
        (folder / name).mkdir()
        (folder / name / "page.md").write_text(f"# {name.title()}\n\n{texts[name]}\n")
        audiences = f"audiences: [{audience}]\n" if audience else ""
        (folder / "dags" / "sources" / f"{name}.yaml").write_text(f"kind: files\npath: ../../{name}\n{audiences}")
    subprocess.run([sys.executable, "-m", "lore.cli", "sync", "--all"], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_the_command_serves_an_agent_on_standard_input(project: Path) -> None:
    async def act(*options: str) -> tuple[Any, Any, Any]:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "lore.cli", "mcp", *options], cwd=str(project)
        )
        async with Client(command, read_timeout_seconds=120) as client:
            answer = await client.call_tool("ask", {"question": "Where do I rotate the API key?"})
            found = await client.call_tool("search", {"query": "rotate the API key"})
            document = found.structured_content["passages"][0]["document"]  # type: ignore[index]
            page = await client.call_tool("read_document", {"document": document})
            sources = await client.call_tool("list_sources", {})
        return answer, page, [row["id"] for row in sources.structured_content["sources"]]  # type: ignore[index]

    answer, page, sources = anyio.run(act)
    assert "under Settings" in answer.structured_content["text"] and sources == ["handbook"]
    assert "# Handbook" in page.structured_content["text"]
    assert anyio.run(act, "--audience", "board")[2] == ["handbook", "minutes"]


@pytest.mark.slow
def test_the_protocol_alone_is_on_standard_output(project: Path, tmp_path: Path) -> None:
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_sources", "arguments": {}}},
        "no JSON",
    ]
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    command = [sys.executable, "-m", "lore.cli", "mcp"]
    ended = subprocess.run(command, cwd=project, input=text, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in ended.stdout.splitlines())
    empty = subprocess.run(
        [sys.executable, "-m", "lore.cli", "mcp"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (empty.returncode, empty.stdout) == (2, "") and "There is no index" in empty.stderr
