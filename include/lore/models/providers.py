"""The options and requirements of each provider of chat models: LangChain's classes agree on little but their calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["PROVIDERS", "ModelAccess", "Provider", "provider_of"]

KEYLESS = "none"
"""Sent to a server that needs no key: the SDK must send one."""
OLLAMA_CONTEXT = 16_384
"""Context tokens requested from Ollama. Its default is a few thousand, and it silently drops the rest."""


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The access to a model. `timeout` in seconds bounds one request, `max_tokens` the output."""

    model: str
    api_key: str | None
    base_url: str | None
    timeout: float
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider, as LangChain's `init_chat_model` names it.

    `extra` of Lore installs its `package`. Messages name `key`, the setting of its key, and `setting`, the prefix of
    its settings. `key_field` is the field in which its class keeps the key; an empty one would only fail at the first
    call. `reports_finish` is True if every complete stream gives a finish reason, `reports_stream_usage` if a stream
    reports its usage on request.
    """

    package: str
    options: Callable[[ModelAccess], dict[str, Any]]
    extra: str = "langchain"
    key: str = "LORE_CHAT_API_KEY"
    setting: str = "LORE_CHAT"
    key_field: str = ""
    reports_finish: bool = True
    reports_stream_usage: bool = False


def provider_of(name: str) -> Provider:
    """The entry of a provider; one that is not in the table gets what most have in common."""
    return PROVIDERS.get(name) or Provider(f"langchain-{name.replace('_', '-')}", _common, reports_finish=False)


def _common(access: ModelAccess) -> dict[str, Any]:
    """LangChain's standard parameters. Lore repeats calls itself, so the SDK must not."""
    options = {"timeout": access.timeout, "max_retries": 0, "max_tokens": access.max_tokens}
    return options | _given(api_key=access.api_key, base_url=access.base_url)


def _openai(access: ModelAccess) -> dict[str, Any]:
    # LangChain limits the time between two chunks to 120 s, whatever the timeout.
    return _common(access) | {"api_key": access.api_key or KEYLESS, "stream_chunk_timeout": None}


def _azure(access: ModelAccess) -> dict[str, Any]:
    options = _common(access) | {"azure_deployment": access.model, "stream_chunk_timeout": None}
    options.pop("base_url", None)
    return options | _given(azure_endpoint=access.base_url)


def _bedrock(access: ModelAccess) -> dict[str, Any]:
    from botocore.config import Config

    once = {"total_max_attempts": 1}
    config = Config(read_timeout=access.timeout, connect_timeout=access.timeout, retries=once)
    return {"config": config, "max_tokens": access.max_tokens} | _given(
        bedrock_api_key=access.api_key, endpoint_url=access.base_url
    )


def _ollama(access: ModelAccess) -> dict[str, Any]:
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
        key="OPENAI_API_KEY (or LORE_OPENAI_API_KEY, or LORE_CHAT_API_KEY, which goes first)",
        setting="LORE_OPENAI",
        reports_stream_usage=True,
    ),
    "azure_openai": Provider(
        "langchain-openai",
        _azure,
        extra="openai",
        key="LORE_CHAT_API_KEY or AZURE_OPENAI_API_KEY",
        reports_stream_usage=True,
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
