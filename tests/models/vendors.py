"""Providers of chat models with servers in their wire formats, for tests that run on all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pytest
from lore.errors import LoreError
from lore.models.chat import LangChainChatModel
from lore.models.prices import load_prices
from lore.types import Message
from pydantic import BaseModel, Field

from tests.servers.model_apis import anthropic, bedrock, ollama, openai
from tests.servers.model_apis.models import Fault, ModelServer

KEY = "sk-very-secret-0123456789"
MESSAGES = [Message("system", "Be brief."), Message("user", "What is it?")]
TEXT = "The key is rotated [1]."


class Reply(BaseModel):
    question: str = ""
    wordings: list[str] = Field(default_factory=list)


GOOD = json.dumps({"question": "What is it?", "wordings": ["it", "what"]})


@dataclass(frozen=True)
class Vendor:
    """A provider, its server, and its forms of errors."""

    model: str
    server: Callable[..., ModelServer]
    error: Callable[[int, str, str], Fault]
    """An error with a status, a kind in the vendor's words, and a message."""
    finish: Callable[[str], Callable[[dict[str, Any]], object]]
    """A change that makes the model stop for another reason."""
    key: str | None = KEY

    def make(self, server: ModelServer, **options: Any) -> LangChainChatModel:
        address = server.origin if self.model.startswith("azure") else server.base_url
        values = {"api_key": self.key, "base_url": address, "timeout": 5.0, "max_retries": 0, "prices": load_prices()}
        return LangChainChatModel(self.model, **(values | options))


def openai_finish(reason: str) -> Callable[[dict[str, Any]], object]:
    def change(payload: dict[str, Any]) -> None:
        for choice in payload["choices"]:
            choice["finish_reason"] = choice["finish_reason"] and reason

    return change


def anthropic_finish(reason: str) -> Callable[[dict[str, Any]], object]:
    def change(payload: dict[str, Any]) -> None:
        holder = payload.get("delta", {}) if payload.get("type") == "message_delta" else payload
        if holder.get("stop_reason"):
            holder["stop_reason"] = reason

    return change


def ollama_finish(reason: str) -> Callable[[dict[str, Any]], object]:
    return lambda payload: payload.get("done_reason") and payload.update(done_reason=reason)


OPENAI = Vendor(
    "openai:gpt-4.1-mini",
    openai.OpenAIServer,
    lambda status, kind, message: openai.error(status, message, kind),
    openai_finish,
)
AZURE = Vendor("azure_openai:gpt-4.1-mini", OPENAI.server, OPENAI.error, openai_finish)
ANTHROPIC = Vendor("anthropic:claude-haiku-4-5", anthropic.AnthropicServer, anthropic.error, anthropic_finish)
OLLAMA = Vendor(
    "ollama:tiny", ollama.OllamaServer, lambda status, kind, message: ollama.error(status, message), ollama_finish
)
BEDROCK = Vendor(
    "bedrock_converse:anthropic.claude-haiku-4-5-20251001-v1:0",
    bedrock.BedrockServer,
    bedrock.error,
    lambda reason: lambda payload: "stopReason" in payload and payload.update(stopReason=reason),
    key=None,  # it goes over https only
)
VENDORS = [OPENAI, AZURE, ANTHROPIC, OLLAMA, BEDROCK]
NOT_INSTALLED = {BEDROCK} if find_spec("langchain_aws") is None else set()
"""langchain-aws brings 30 MB and is not among the packages that the tests need; its tests run where it is there."""
CALLS = ["structured", "stream"]


def each(*vendors: Vendor) -> pytest.MarkDecorator:
    named = [pytest.param(vendor, id=vendor.model.partition(":")[0], marks=needed(vendor)) for vendor in vendors]
    return pytest.mark.parametrize("vendor", named)


def needed(vendor: Vendor) -> pytest.MarkDecorator:
    """Skip a test if the vendor's package is missing."""
    return pytest.mark.skipif(vendor in NOT_INSTALLED, reason="langchain-aws is not installed")


def call(model: LangChainChatModel, how: str) -> object:
    return model.structured(MESSAGES, Reply) if how == "structured" else "".join(model.stream(MESSAGES))


def failure(vendor: Vendor, how: str, *faults: Fault, **options: Any) -> LoreError:
    """The error of a call that meets the faults; the answer after them would be right."""
    with vendor.server(lambda _: GOOD) as server:
        server.faults.extend(faults)
        with pytest.raises(LoreError) as raised:
            call(vendor.make(server, **options), how)
    assert KEY not in str(raised.value) + repr(raised.value)
    assert raised.value.__cause__ is None
    return raised.value
