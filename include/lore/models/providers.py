"""What each provider of chat models is told, and what it needs: LangChain's classes agree on little but their calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["PROVIDERS", "Access", "Provider", "provider_of"]

KEYLESS = "none"
"""Sent where a server wants no key: the SDK cannot send none."""
OLLAMA_CONTEXT = 16_384
"""Tokens that Ollama is told to read. Its own default is a few thousand, and it drops the rest without a word."""


@dataclass(frozen=True, slots=True)
class Access:
    """How a model is to be reached. `timeout` (seconds) bounds one request, `max_tokens` what the model writes."""

    model: str
    api_key: str | None
    base_url: str | None
    timeout: float
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider, as LangChain's `init_chat_model` names it.

    `package` is what has to be installed, and `extra` the extra of Lore that does so. `key` says in words for a person
    what holds its key, and `setting` is the prefix of its settings. `key_field` is the field in which its class has
    the key that it found; where that is empty it would fail at the first call. `says_end`: a stream without a reason
    for its end was cut. `takes_usage`: streams tell what they took when they are asked to.
    """

    package: str
    options: Callable[[Access], dict[str, Any]]
    extra: str = "langchain"
    key: str = "LORE_CHAT_API_KEY"
    setting: str = "LORE_CHAT"
    key_field: str = ""
    says_end: bool = True
    takes_usage: bool = False


def provider_of(name: str) -> Provider:
    """What is known of a provider; of one that is not in the table, what most have in common."""
    return PROVIDERS.get(name) or Provider(f"langchain-{name.replace('_', '-')}", _common, says_end=False)


def _common(access: Access) -> dict[str, Any]:
    """The names that LangChain's standard parameters have. Repeats are Lore's own, so the SDK makes none."""
    options = {"timeout": access.timeout, "max_retries": 0, "max_tokens": access.max_tokens}
    return options | _given(api_key=access.api_key, base_url=access.base_url)


def _openai(access: Access) -> dict[str, Any]:
    # LangChain's own limit between two chunks is 120 s, whatever the timeout.
    return _common(access) | {"api_key": access.api_key or KEYLESS, "stream_chunk_timeout": None}


def _azure(access: Access) -> dict[str, Any]:
    options = _common(access) | {"azure_deployment": access.model, "stream_chunk_timeout": None}
    options.pop("base_url", None)
    return options | _given(azure_endpoint=access.base_url)


def _bedrock(access: Access) -> dict[str, Any]:
    from botocore.config import Config

    once = {"total_max_attempts": 1}
    config = Config(read_timeout=access.timeout, connect_timeout=access.timeout, retries=once)
    return {"config": config, "max_tokens": access.max_tokens} | _given(
        bedrock_api_key=access.api_key, endpoint_url=access.base_url
    )


def _ollama(access: Access) -> dict[str, Any]:
    client: dict[str, Any] = {"timeout": access.timeout}
    if access.api_key:
        client["headers"] = {"Authorization": f"Bearer {access.api_key}"}
    limits = {"num_predict": access.max_tokens, "num_ctx": OLLAMA_CONTEXT}
    return {"client_kwargs": client} | limits | _given(base_url=access.base_url)


def _given(**options: str | None) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value}


PROVIDERS = {
    "openai": Provider(
        "langchain-openai",
        _openai,
        extra="openai",
        key="LORE_OPENAI_API_KEY (or LORE_CHAT_API_KEY, which goes first)",
        setting="LORE_OPENAI",
        takes_usage=True,
    ),
    "azure_openai": Provider(
        "langchain-openai", _azure, extra="openai", key="LORE_CHAT_API_KEY or AZURE_OPENAI_API_KEY", takes_usage=True
    ),
    "anthropic": Provider(
        "langchain-anthropic",
        _common,
        extra="anthropic",
        key="LORE_CHAT_API_KEY or ANTHROPIC_API_KEY",
        key_field="anthropic_api_key",
    ),
    "bedrock_converse": Provider(
        "langchain-aws", _bedrock, extra="bedrock", key="LORE_CHAT_API_KEY or the AWS credentials"
    ),
    "ollama": Provider("langchain-ollama", _ollama, extra="ollama", key="LORE_CHAT_API_KEY or OLLAMA_API_KEY"),
}
