"""Chat clients as they come from PyPI, unchanged: answers, streams, conversations, errors, keys and cancellation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from lore.errors import ConfigurationError, StoreError
from lore.types import Answer, Citation, Plan, Question, Trace
from lore.web.app import WebOptions
from lore.web.chat.text import cited_text, pieces_of, plain_text

from tests.web.test_api import wait
from tests.web.world import SUGGESTION, Server, World, served

ASKED: Any = [{"role": "user", "content": SUGGESTION}]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("openai"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Server]:
    with served(world) as running:
        yield running


@pytest.fixture
def client(world: World, server: Server) -> Iterator[openai.OpenAI]:
    world.pipeline.questions.clear()
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0, timeout=20) as opened:
        yield opened


def test_a_completion_is_cited_by_links_and_annotations(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(model="lore", messages=ASKED)
    [choice] = completion.choices
    content = choice.message.content or ""
    assert (choice.finish_reason, completion.object, completion.model) == ("stop", "chat.completion", "lore")
    assert "Rotate the API key under Settings" in content
    assert choice.message.annotations
    for annotation in choice.message.annotations:
        cited = annotation.url_citation
        assert content[cited.start_index : cited.end_index] == f"[[1]](<{cited.url}>)"
    assert content.endswith(f"**Sources**\n\n1. [{cited.title} › Security › API keys](<{cited.url}>)")
    assert completion.usage and completion.usage.total_tokens == 0  # without a language model


def test_a_stream_has_the_same_text(client: openai.OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model="lore", messages=ASKED, stream=True, stream_options={"include_usage": True}
        )
    )
    whole = client.chat.completions.create(model="lore", messages=ASKED).choices[0].message.content
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces) == whole and len(pieces) > 10
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None and len({chunk.id for chunk in chunks}) == 1


def test_a_conversation_reaches_the_pipeline_without_our_links(client: openai.OpenAI, world: World) -> None:
    answer = client.chat.completions.create(model="lore", messages=ASKED).choices[0].message.content
    messages: Any = [
        {"role": "system", "content": "You are a pirate."},
        *ASKED,
        {"role": "assistant", "content": answer},
        {"role": "user", "content": [{"type": "text", "text": "And how"}, {"type": "text", "text": "often?"}]},
    ]
    client.chat.completions.create(model="lore:docs", messages=messages, temperature=0, max_tokens=5, user="u")
    question = world.pipeline.questions[-1]
    assert (question.text, question.sources, question.surface) == ("And how\noften?", ("docs",), "openai")
    assert [message.role for message in question.history] == ["user", "assistant"]
    assert "Sources" not in question.history[1].content and "](" not in question.history[1].content
    assert "Rotate the API key under Settings" in question.history[1].content


def test_models_are_all_sources_and_each(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["lore", "lore:docs", "lore:wiki"]
    assert client.models.retrieve("lore:docs").owned_by == "lore"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("lore:minutes")
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="lore:minutes", messages=ASKED)
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"n": 2}, "n"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"logprobs": True}, "logprobs"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": "x" * 4_001}]}, "messages.0.content"),
        ({"messages": [{"role": "pirate", "content": "a"}]}, "messages.0.role"),
        ({"messages": [*ASKED, {"role": "assistant", "content": "a"}]}, "messages.1.role"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a"}}]}]},
            "messages.0.content",
        ),
    ],
)
def test_another_kind_of_answer_is_refused_by_its_parameter(
    client: openai.OpenAI, given: dict[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**({"model": "lore", "messages": ASKED} | given))
    assert (caught.value.param, caught.value.type) == (param, "invalid_request_error")
    assert caught.value.body


def test_what_is_refused_before_the_route_is_an_error_with_a_message(server: Server) -> None:
    def told(method: str, path: str, **body: Any) -> tuple[int, str]:
        response = httpx.request(method, f"{server.url}{path}", headers={"Content-Type": "application/json"}, **body)
        return response.status_code, response.json()["error"]["message"]

    assert told("GET", "/v1/embeddings") == (404, "Not Found.")
    assert told("GET", "/v1/chat/completions")[0] == 405
    status, message = told("POST", "/v1/chat/completions", content=b"{")
    assert (status, "isn't valid JSON" in message) == (400, True)
    assert told("POST", "/v1/chat/completions", content=b" " * 2_000_000)[0] == 413


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_of_the_pipeline_is_one_of_the_client(client: openai.OpenAI, world: World, stream: bool) -> None:
    world.pipeline.failing = StoreError("The index is locked.", remedy="Wait for the sync.", retryable=True)
    with pytest.raises(openai.APIError, match=r"The index is locked\. Wait for the sync\.") as caught:
        list(client.chat.completions.create(model="lore", messages=ASKED, stream=stream))
    assert stream or isinstance(caught.value, openai.InternalServerError)
    world.pipeline.failing = ConfigurationError("The splitter changed.", remedy="Run: lore index build")
    with pytest.raises(openai.APIError, match="lore index build"):
        list(client.chat.completions.create(model="lore", messages=ASKED, stream=stream))


def test_a_reader_who_leaves_ends_the_question(client: openai.OpenAI, world: World) -> None:
    world.pipeline.gate.clear()
    before = world.pipeline.cut
    with client.chat.completions.create(model="lore", messages=ASKED, stream=True) as stream:
        next(iter(stream))
        wait(lambda: world.pipeline.questions)
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.5).chat.completions.create(model="lore", messages=ASKED)
    time.sleep(1.2)  # the server looks for readers every second
    world.pipeline.gate.set()
    wait(lambda: world.pipeline.cut == before + 2)


def test_langchain_talks_to_it_unchanged(server: Server) -> None:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    model = ChatOpenAI(model="lore", base_url=f"{server.url}/v1", api_key=SecretStr("any"), max_retries=0)
    whole = model.invoke([("user", SUGGESTION)])
    assert "Rotate the API key under Settings" in str(whole.content)
    assert "".join(str(chunk.content) for chunk in model.stream(SUGGESTION)) == whole.content


@pytest.mark.parametrize("required", [False, True])
def test_keys_are_those_of_the_api(tmp_path: Path, required: bool) -> None:
    world = World(tmp_path, options=WebOptions(identified=required, questions=0))
    assert world.records
    board, once = (
        world.records.api_keys().create("A program", [name], rate)[1] for name, rate in (("board", 0), ("", 1))
    )
    with served(world) as running:

        def client(key: str) -> openai.OpenAI:
            return openai.OpenAI(base_url=f"{running.url}/v1", api_key=key, max_retries=0)

        assert "lore:minutes" in [model.id for model in client(board).models.list()]
        asked: Any = [{"role": "user", "content": "Where is the API key of the board?"}]
        assert "in the safe" in str(client(board).chat.completions.create(model="lore", messages=asked))
        assert world.pipeline.questions[-1].asker.startswith("key:")
        with pytest.raises(openai.AuthenticationError):
            client(f"{board}x").models.list()
        if required:
            with pytest.raises(openai.AuthenticationError):
                client("sk-of-another").chat.completions.create(model="lore", messages=asked)
        else:
            told = client("sk-of-another").chat.completions.create(model="lore", messages=asked)
            assert "in the safe" not in str(told)
        client(once).chat.completions.create(model="lore", messages=ASKED)
        with pytest.raises(openai.RateLimitError) as caught:
            client(once).chat.completions.create(model="lore", messages=ASKED)
        assert int(caught.value.response.headers["retry-after"]) > 0
    world.close()


def citation(number: int, url: str = "https://docs.example/a_(b)", title: str = "A *page* [old]") -> Citation:
    return Citation(number, "d", "c", "docs", url, title, ("Keys",), "quote")


def test_the_text_links_citations_outside_code_alone() -> None:
    text = "Set it [1][2] in `x[1]`, see [1](https://a.example) and [3].\n\n```\ny[1]\n```\nThen [2]."
    answer = Answer(Question("q"), text, (citation(1), citation(2, "", "Notes")), True, Trace(Plan("q", ())))
    told = cited_text(answer)
    link = "[[1]](<https://docs.example/a_(b)>)"
    body, _, listed = told.content.partition("\n\n**Sources**\n\n")
    assert body == text.replace("[1][2]", f"{link}[2]", 1)
    assert listed == "1. [A \\*page\\* \\[old\\] › Keys](<https://docs.example/a_(b)>)\n2. Notes › Keys"
    assert [told.content[start:end] for start, end, _ in told.places] == [link]
    assert plain_text(told.content) == text
    assert "".join(pieces_of(told.content)) == told.content
    absent = replace(answer, text="Nothing.", citations=(), found=False, nearest=(citation(1),))
    assert cited_text(absent).content.startswith("Nothing.\n\n**Nearest pages**\n\n1. [")
