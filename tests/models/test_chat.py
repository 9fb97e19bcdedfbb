"""Chat models through LangChain against a small server in OpenAI's wire format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest
from lore.errors import ConfigurationError, ContextTooLongError, MissingPackageError, ModelError
from lore.models.chat import LangChainChatModel
from lore.types import Message
from pydantic import BaseModel, Field

from tests.servers.model_apis.openai import Fault, OpenAIServer, error

KEY = "sk-very-secret-0123456789"
MESSAGES = [
    Message("system", "Be brief."),
    Message("user", "Hello \ud800"),
    Message("assistant", "Yes?"),
    Message("user", "What is it?"),
]


class Reply(BaseModel):
    question: str = ""
    wordings: list[str] = Field(default_factory=list)


GOOD = json.dumps({"question": "What is it?", "wordings": ["it", "what"]})


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: GOOD) as running:
        yield running


def make(server: OpenAIServer, **options: Any) -> LangChainChatModel:
    values = {"api_key": KEY, "base_url": server.base_url, "timeout": 5.0, "max_retries": 0}
    return LangChainChatModel("openai:tiny", **(values | options))


def test_structured_gives_the_model_asked_for(server: OpenAIServer) -> None:
    reply = make(server).structured(MESSAGES, Reply)
    assert reply == Reply(question="What is it?", wordings=["it", "what"])
    (request,) = server.requests
    assert [message["role"] for message in request.body["messages"]] == ["system", "user", "assistant", "user"]
    wanted = request.body["response_format"]["json_schema"]
    assert wanted["strict"] is True
    assert wanted["schema"]["required"] == ["question", "wordings"]
    assert wanted["schema"]["additionalProperties"] is False
    assert "tools" not in request.body


def test_a_server_without_schemas_is_asked_in_words_and_not_again(server: OpenAIServer) -> None:
    server.unknown_options = ("response_format",)
    model = make(server)
    assert model.structured(MESSAGES, Reply).question == "What is it?"
    assert model.structured(MESSAGES, Reply).question == "What is it?"
    assert ["response_format" in request.body for request in server.requests] == [True, False, False]
    assert "wordings" in server.requests[1].body["messages"][0]["content"]


@pytest.mark.parametrize("text", [f"```json\n{GOOD}\n```", f"Sure {{here}}: {GOOD} Anything else?"])
def test_json_is_found_among_words(text: str) -> None:
    with OpenAIServer([text]) as server:
        assert make(server).structured(MESSAGES, Reply).wordings == ["it", "what"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("I do not know.", "no JSON"),
        ("", "no JSON"),
        ('{"question": "x", "wordings": ["a", "b"', "no JSON"),
        ('{"question": "x", "wordings": "not a list"}', "wordings"),
        ("{" * 100_000, "no JSON"),
    ],
)
def test_replies_of_another_shape_are_refused(text: str, says: str) -> None:
    with OpenAIServer([text]) as server, pytest.raises(ModelError, match=says):
        make(server).structured(MESSAGES, Reply)


def choice(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda payload: payload["choices"][0].update(changes)


def refuse(payload: dict[str, Any]) -> None:
    payload["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault(change=refuse), "refused to answer"),
        (Fault(change=choice(finish_reason="content_filter")), "refused to answer"),
        (Fault(change=choice(finish_reason="length")), "length limit"),
        (Fault(change=lambda payload: payload.update(choices=[])), "openai:tiny"),
        (error(401, f"Incorrect API key provided: {KEY}"), "LORE_OPENAI_API_KEY"),
        (error(404, "The model does not exist"), "was not found"),
        (error(500, "oops"), "HTTP 500"),
        (Fault(body=b"{", headers={}), "openai:tiny"),
        (Fault(cut=True), "could not be reached"),
    ],
)
def test_failures_of_a_structured_call(server: OpenAIServer, fault: Fault, says: str) -> None:
    server.faults.append(fault)
    with pytest.raises(ModelError, match=says) as raised:
        make(server).structured(MESSAGES, Reply)
    assert KEY not in repr(raised.value) + str(raised.value)
    assert raised.value.__cause__ is None


def test_stream_gives_the_pieces_as_they_come() -> None:
    with OpenAIServer(["The key is rotated [1]."]) as server:
        pieces = list(make(server).stream(MESSAGES))
    assert len(pieces) > 3
    assert "".join(pieces) == "The key is rotated [1]."


def test_a_stream_may_be_left() -> None:
    with OpenAIServer(["The key is rotated [1].", GOOD]) as server:
        pieces = make(server).stream(MESSAGES)
        next(pieces)
        pieces.close()
        assert make(server).structured(MESSAGES, Reply).question == "What is it?"


def finish(reason: str) -> Callable[[dict[str, Any]], None]:
    def change(event: dict[str, Any]) -> None:
        for each in event["choices"]:
            each["finish_reason"] = each["finish_reason"] and reason

    return change


@pytest.mark.parametrize(
    ("fault", "says", "pieces"),
    [
        (Fault(cut=True), "could not be reached", True),
        (Fault(clean_cut=True), "ended before", True),
        (Fault(change=finish("content_filter")), "refused to answer", True),
        (Fault(change=finish("length")), "length limit", True),
        (Fault(change=lambda event: [each["delta"].pop("content", None) for each in event["choices"]]), "empty", False),
        (error(401, f"no {KEY}"), "LORE_OPENAI_API_KEY", False),
        (error(503, "busy"), "HTTP 503", False),
    ],
)
def test_failures_of_a_stream(server: OpenAIServer, fault: Fault, says: str, pieces: bool) -> None:
    server.faults.append(fault)
    seen = []
    with pytest.raises(ModelError, match=says) as raised:
        seen.extend(make(server).stream(MESSAGES))
    assert KEY not in repr(raised.value) + str(raised.value)
    assert raised.value.__cause__ is None


def test_a_stream_of_nothing_ends() -> None:
    with OpenAIServer(["word " * 50]) as server:
        server.faults.append(Fault(change=nothing_slowly))
        with pytest.raises(ModelError, match=r"took over 0\.1 s|sent nothing for 0\.1 s") as raised:
            list(make(server, timeout=0.1).stream(MESSAGES))
    assert raised.value.retryable


def nothing_slowly(event: dict[str, Any]) -> None:
    event["choices"][0]["delta"].pop("content", None)
    Event().wait(0.01)


@pytest.mark.parametrize("key", ["sk-secret-\u00c9", "sk-secret\nx", "sk-secret\x00"])
def test_a_key_that_cannot_be_sent_is_not_in_the_error(key: str) -> None:
    with OpenAIServer(["Yes."]) as server, pytest.raises(ModelError, match="Check OPENAI_API_KEY") as raised:
        list(make(server, api_key=key).stream(MESSAGES))
    assert "secret" not in str(raised.value) + repr(raised.value)


def test_retries_are_bounded(server: OpenAIServer) -> None:
    server.faults.extend([error(429, "slow down", Retry_After_Ms="1")] * 9)
    with pytest.raises(ModelError, match="rate limit") as raised:
        make(server, max_retries=2).structured(MESSAGES, Reply)
    assert raised.value.retryable
    assert len(server.requests) == 3


def test_without_a_key_only_a_server_of_ones_own(server: OpenAIServer) -> None:
    with pytest.raises(ConfigurationError, match="LORE_OPENAI_API_KEY"):
        make(server, api_key=None, base_url=None)
    assert make(server, api_key=None).structured(MESSAGES, Reply).question == "What is it?"


@pytest.mark.parametrize("name", ["gpt-5", "openai:", ":gpt-5", ""])
def test_a_name_without_provider_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="PROVIDER:MODEL"):
        LangChainChatModel(name, api_key=KEY, base_url=None, timeout=5.0, max_retries=0)


def test_an_absent_provider_package_is_named() -> None:
    model = LangChainChatModel("mistralai:tiny", api_key=None, base_url=None, timeout=5.0, max_retries=0)
    with pytest.raises(MissingPackageError, match="pip install langchain-mistralai"):
        model.structured(MESSAGES, Reply)


def test_an_unknown_provider_is_a_configuration_error() -> None:
    model = LangChainChatModel("nobody:tiny", api_key=None, base_url=None, timeout=5.0, max_retries=0)
    with pytest.raises(ConfigurationError, match="nobody"):
        next(model.stream(MESSAGES))


@pytest.mark.parametrize(
    "fault",
    [
        error(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
        error(400, "the request exceeds the available context size, try increasing it"),
        error(413, "Payload too large"),
        error(
            429,
            "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000. The input or "
            "output tokens must be reduced in order to run successfully.",
            "rate_limit_exceeded",
        ),
    ],
)
def test_a_context_that_is_too_long_has_an_error_of_its_own(server: OpenAIServer, fault: Fault) -> None:
    server.faults.extend([fault, fault])
    with pytest.raises(ContextTooLongError) as raised:
        list(make(server).stream(MESSAGES))
    assert not raised.value.retryable
