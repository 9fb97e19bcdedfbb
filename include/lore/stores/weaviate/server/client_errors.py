"""Errors of Weaviate's client and the network: their text, a remedy, and whether to try again."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["advice", "error_code", "error_text", "is_missing", "is_server_error", "one_line"]

GRPC_DETAILS = re.compile(r'details = "(.*?)"\s*(?:debug_error_string|>|$)', re.DOTALL)
DENIED = re.compile(r"user '(?P<user>[^']*)' has insufficient permissions to (?P<right>\w+)(?P<where>.*)", re.S)
NAMED = re.compile(r"(?:Alias|Collection): ([^,\]\s]+)")
WRONG_PROTOCOL = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST")
MISSING = ("could not find class", "class not found", "not found in schema", "non-existing index")


class Advice(NamedTuple):
    """A remedy, and whether trying again may help."""

    remedy: str
    retryable: bool


class _Rule(NamedTuple):
    """One kind of failure, recognized by its code or by words in its message."""

    remedy: str
    codes: Sequence[str] = ()
    words: Sequence[str] = ()
    retryable: bool = False


# The first match wins.
RULES = (
    _Rule(
        "Set LORE_WEAVIATE_API_KEY (in Airflow the password of weaviate_default) to a key of this server.",
        codes=("401", "UNAUTHENTICATED"),
    ),
    _Rule(
        "Give the key's role this right (docs/production.md lists those for asking and for syncing), or set "
        "LORE_WEAVIATE_API_KEY to a key that has it.",
        codes=("403", "7", "PERMISSION_DENIED"),
        words=("forbidden", "lacks the right"),
    ),
    _Rule(
        "The server rejects writes, usually because its disk is full: free space, set its shards to READY, then "
        "run the same command again.",
        words=("read-only", "readonly", "no space left"),
    ),
    _Rule(
        "Set LORE_EMBEDDER back to the embedder that built the index, or LORE_WEAVIATE_PREFIX to a new prefix.",
        words=("vector length", "dimension"),
    ),
    _Rule(
        "Set ASYNC_INDEXING=true on the server, or LORE_WEAVIATE_VECTOR_INDEX to hnsw or flat.",
        words=("async indexing",),
    ),
    _Rule(
        "The gRPC server there is not Weaviate: correct LORE_WEAVIATE_GRPC_PORT or LORE_WEAVIATE_GRPC_HOST.",
        words=("unknown service",),
    ),
    _Rule("Add nodes, or lower LORE_WEAVIATE_REPLICATION_FACTOR.", words=("enough weaviate nodes",)),
    _Rule("Raise GRPC_MAX_MESSAGE_SIZE on the server.", words=("larger than max", "message larger")),
    _Rule("If the index was just removed, try again; else run `lore sync --all`.", words=MISSING, retryable=True),
    _Rule("The server is busy: try again later.", codes=("429", "RESOURCE_EXHAUSTED", "ABORTED"), retryable=True),
    _Rule(
        "Try again. If it keeps failing, check the server or raise LORE_TIMEOUT_SECONDS.",
        codes=("timeout", "DEADLINE_EXCEEDED", "CANCELLED", "408", "504"),
        words=("deadline exceeded",),
        retryable=True,
    ),
    _Rule("Set LORE_WEAVIATE_URL to an http:// address, or to the server's port for https.", codes=("plain http",)),
    _Rule(
        "Set LORE_WEAVIATE_URL to the name in the certificate. If your own authority signed it, make that "
        "authority known to this machine (SSL_CERT_FILE).",
        codes=("certificate",),
    ),
    _Rule(
        "Check that the server runs and that LORE_WEAVIATE_URL names its host and HTTP port, then try again.",
        codes=("unreachable",),
        retryable=True,
    ),
    _Rule(
        "Check that the server runs and that LORE_WEAVIATE_URL, LORE_WEAVIATE_GRPC_HOST and "
        "LORE_WEAVIATE_GRPC_PORT are right, then try again.",
        codes=("UNAVAILABLE", "502", "503"),
        retryable=True,
    ),
    _Rule("Check the server's log, then try again.", codes=("500", "501", "505", "507", "INTERNAL"), retryable=True),
)
OTHERWISE = Advice("Check the server's log.", False)


def advice(code: str, text: str) -> Advice:
    """The advice for an error with this code and text."""
    lower = text.lower()
    for rule in RULES:
        if code in rule.codes or any(word in lower for word in rule.words):
            return Advice(rule.remedy, rule.retryable)
    return OTHERWISE


def is_missing(text: str) -> bool:
    """True if the text says that a collection no longer exists."""
    return any(word in text.lower() for word in MISSING)


def is_server_error(error: Exception) -> bool:
    """True if the client or the network raised the error; False for a bug in Lore."""
    from google.protobuf.message import Error as ProtobufError
    from grpc import RpcError
    from httpx import HTTPError
    from weaviate.exceptions import WeaviateBaseError

    return isinstance(error, WeaviateBaseError | HTTPError | RpcError | ProtobufError | OSError)


def error_text(error: BaseException) -> str:
    """The server's message, or the reason for its silence; only the details of a gRPC error."""
    for cause in _chain(error):
        if message := _body_message(getattr(cause, "error", None)):
            status = getattr(cause, "status_code", 0)
            return f"{message} (status {status})" if status >= 100 else message  # gRPC codes are below 100
        if reason := _network_reason(cause):
            return reason
    text = str(getattr(error, "message", "") or error).strip()
    details = GRPC_DETAILS.search(text)
    return (details.group(1) if details else text) or type(error).__name__


def one_line(text: str) -> str:
    """The message on one line; a missing right is reduced to its name and its collections."""
    text = " ".join(text.split())
    denied = DENIED.search(text)
    if denied is None:
        return text
    names = list(dict.fromkeys(NAMED.findall(denied["where"])))
    on = f" on {', '.join(names)}" if names else ""
    return f"the key's user {denied['user']!r} lacks the right {denied['right']}{on}"


def error_code(error: BaseException | str) -> str:
    """The HTTP status or gRPC code of the error or its cause, else a word for its kind, else ""."""
    import httpx
    from weaviate.exceptions import (
        WeaviateClosedClientError,
        WeaviateConnectionError,
        WeaviateGRPCUnavailableError,
        WeaviateRetryError,
        WeaviateStartUpError,
        WeaviateTimeoutError,
    )

    of_grpc = (WeaviateGRPCUnavailableError, WeaviateRetryError)
    unreachable = (WeaviateConnectionError, WeaviateStartUpError, WeaviateClosedClientError)
    found = ""
    for cause in _chain(error) if isinstance(error, BaseException) else ():
        code = getattr(cause, "code", None)
        if callable(code):
            return str(getattr(code(), "name", ""))
        status = getattr(cause, "status_code", None)
        if isinstance(status, int) and status > 0:
            return str(status)
        if failure := _https_failure(cause):
            return failure.code
        if isinstance(cause, httpx.TimeoutException | WeaviateTimeoutError | TimeoutError):
            found = "timeout"
        elif isinstance(cause, of_grpc):
            found = found or "UNAVAILABLE"
        elif isinstance(cause, (*unreachable, httpx.TransportError, OSError)):
            found = found or "unreachable"
    return found


def _chain(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _body_message(body: object) -> str:
    """The message in a response body: Weaviate has two forms of it, and gRPC a text."""
    if isinstance(body, str):
        return body.strip()
    if not isinstance(body, dict):
        return ""
    listed = body.get("error")
    parts = listed if isinstance(listed, list) else [body]
    return "; ".join(str(part["message"]) for part in parts if isinstance(part, dict) and part.get("message"))


class _HttpsFailure(NamedTuple):
    code: str
    text: str


def _https_failure(cause: BaseException) -> _HttpsFailure | None:
    """The reason why TLS failed; None for any other error."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _HttpsFailure("certificate", f"its certificate is not trusted ({cause.verify_message})")
    if isinstance(cause, ssl.SSLError) and cause.reason in WRONG_PROTOCOL:
        return _HttpsFailure("plain http", "the server there does not speak https")
    return None


def _network_reason(cause: BaseException) -> str:
    """The reason for the silence, if this error is one that tells; else ""."""
    import httpx

    if isinstance(cause, ConnectionRefusedError):
        return "nothing listens there (connection refused)"
    if isinstance(cause, socket.gaierror):
        return f"its host is unknown ({cause.strerror})"
    if failure := _https_failure(cause):
        return failure.text
    if isinstance(cause, httpx.TimeoutException):
        return "it did not answer in time"
    if isinstance(cause, httpx.RemoteProtocolError | httpx.ReadError):
        return "it closed the connection without answering"
    return ""
