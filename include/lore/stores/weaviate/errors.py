"""What Weaviate's client and the network raise, told apart: what it says, what to do, whether to try again."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["code_of", "is_missing", "is_of_the_server", "judge", "text_of"]

GRPC_DETAILS = re.compile(r'details = "(.*?)"\s*(?:debug_error_string|>|$)', re.DOTALL)
MISSING = ("could not find class", "class not found", "not found in schema")


class _Rule(NamedTuple):
    """One kind of failure, known by a code or else by words in the message."""

    codes: tuple[str, ...]
    words: tuple[str, ...]
    remedy: str
    retryable: bool


# The first that fits counts.
RULES = (
    _Rule(
        ("401", "UNAUTHENTICATED"),
        (),
        "Set LORE_WEAVIATE_API_KEY (in Airflow the password of weaviate_default) to a key of this server.",
        False,
    ),
    _Rule(
        ("403", "PERMISSION_DENIED"),
        ("forbidden",),
        "Give the key's role this right, or set LORE_WEAVIATE_API_KEY to a key that has it.",
        False,
    ),
    _Rule(
        (),
        ("read-only", "readonly", "no space left"),
        "The server takes no writes, most often because its disk is full: free space, set its shards to READY, then "
        "run the same again.",
        False,
    ),
    _Rule(
        (),
        ("vector length", "dimension"),
        "Choose the embedder that built the index again (LORE_EMBEDDER), or set LORE_WEAVIATE_PREFIX to a new one.",
        False,
    ),
    _Rule(
        (),
        ("async indexing",),
        "Set ASYNC_INDEXING=true on the server, or LORE_WEAVIATE_VECTOR_INDEX to hnsw or flat.",
        False,
    ),
    _Rule((), ("enough weaviate nodes",), "Add nodes, or lower LORE_WEAVIATE_REPLICATION_FACTOR.", False),
    _Rule((), ("larger than max", "message larger"), "Raise GRPC_MAX_MESSAGE_SIZE on the server.", False),
    _Rule((), MISSING, "If the index was removed meanwhile, try again; else run `lore sync --all`.", True),
    _Rule(("429", "RESOURCE_EXHAUSTED", "ABORTED"), (), "The server is busy: try again later.", True),
    _Rule(
        ("timeout", "DEADLINE_EXCEEDED", "CANCELLED", "408", "504"),
        ("deadline exceeded",),
        "Try again; if it stays so, look at the server, or raise LORE_TIMEOUT_SECONDS.",
        True,
    ),
    _Rule(
        ("unreachable", "UNAVAILABLE", "502", "503"),
        (),
        "Look whether the server runs and whether LORE_WEAVIATE_URL, LORE_WEAVIATE_GRPC_HOST and "
        "LORE_WEAVIATE_GRPC_PORT are right, then try again.",
        True,
    ),
    _Rule(("500", "501", "505", "507", "INTERNAL"), (), "Look at the server's log, then try again.", True),
)
OTHERWISE = ("Look at the server's log.", False)


def judge(code: str, text: str) -> tuple[str, bool]:
    """What to do, and whether trying again can help."""
    lower = text.lower()
    for rule in RULES:
        if code in rule.codes or any(word in lower for word in rule.words):
            return rule.remedy, rule.retryable
    return OTHERWISE


def is_missing(text: str) -> bool:
    """Whether a collection is gone that was there."""
    return any(word in text.lower() for word in MISSING)


def is_of_the_server(error: Exception) -> bool:
    """Whether the error is one of the client or the network, not a mistake of ours."""
    from google.protobuf.message import Error as ProtobufError
    from grpc import RpcError
    from httpx import HTTPError
    from weaviate.exceptions import WeaviateBaseError

    return isinstance(error, WeaviateBaseError | HTTPError | RpcError | ProtobufError | OSError)


def text_of(error: BaseException) -> str:
    """What the error says; of a gRPC error its details alone."""
    text = str(getattr(error, "message", "") or error).strip()
    details = GRPC_DETAILS.search(text)
    return (details.group(1) if details else text) or type(error).__name__


def code_of(error: BaseException | str) -> str:
    """The HTTP status or gRPC code of the error or of what caused it, "timeout", "unreachable" or ""."""
    import httpx
    from weaviate.exceptions import (
        WeaviateClosedClientError,
        WeaviateConnectionError,
        WeaviateGRPCUnavailableError,
        WeaviateRetryError,
        WeaviateStartUpError,
        WeaviateTimeoutError,
    )

    unreachable = (WeaviateConnectionError, WeaviateStartUpError, WeaviateGRPCUnavailableError, WeaviateRetryError)
    cause = error if isinstance(error, BaseException) else None
    found = ""
    while cause is not None:
        code = getattr(cause, "code", None)
        if callable(code):
            return str(getattr(code(), "name", ""))
        status = getattr(cause, "status_code", None)
        if isinstance(status, int) and status > 0:
            return str(status)
        if isinstance(cause, httpx.TimeoutException | WeaviateTimeoutError | TimeoutError):
            found = "timeout"
        elif isinstance(cause, (*unreachable, httpx.TransportError, WeaviateClosedClientError, OSError)):
            found = found or "unreachable"
        cause = cause.__cause__ or cause.__context__
    return found
