"""What Weaviate's client and the network raise, told apart: what it says, what to do, whether to try again."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["code_of", "is_missing", "is_of_the_server", "judge", "plain", "text_of"]

GRPC_DETAILS = re.compile(r'details = "(.*?)"\s*(?:debug_error_string|>|$)', re.DOTALL)
LACKING = re.compile(r"user '(?P<user>[^']*)' has insufficient permissions to (?P<right>\w+)(?P<where>.*)", re.S)
NAMED = re.compile(r"(?:Alias|Collection): ([^,\]\s]+)")
WRONG_PROTOCOL = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST")
MISSING = ("could not find class", "class not found", "not found in schema", "non-existing index")


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
        ("403", "7", "PERMISSION_DENIED"),
        ("forbidden", "lacks the right"),
        "Give the key's role this right (README.md lists those for asking and for syncing), or set "
        "LORE_WEAVIATE_API_KEY to a key that has it.",
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
    _Rule(
        (),
        ("unknown service",),
        "What answers there to gRPC is not Weaviate: set LORE_WEAVIATE_GRPC_PORT, or LORE_WEAVIATE_GRPC_HOST, to where "
        "it is.",
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
        ("plain http",),
        (),
        "Write LORE_WEAVIATE_URL with http://, or with the port at which the server speaks https.",
        False,
    ),
    _Rule(
        ("certificate",),
        (),
        "Write LORE_WEAVIATE_URL with the name that the certificate is for; one of an authority of your own has to be "
        "known to this machine (SSL_CERT_FILE).",
        False,
    ),
    _Rule(
        ("unreachable",),
        (),
        "Look whether the server runs, and whether LORE_WEAVIATE_URL names its host and HTTP port, then try again.",
        True,
    ),
    _Rule(
        ("UNAVAILABLE", "502", "503"),
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
    """What the server said, or why there was no answer; of a gRPC error its details alone."""
    for cause in _chain(error):
        if said := _said(getattr(cause, "error", None)):
            status = getattr(cause, "status_code", 0)
            return f"{said} (status {status})" if status >= 100 else said  # below are the codes of gRPC
        if told := _network(cause):
            return told
    text = str(getattr(error, "message", "") or error).strip()
    details = GRPC_DETAILS.search(text)
    return (details.group(1) if details else text) or type(error).__name__


def plain(text: str) -> str:
    """What the server said on one line; a right that the key lacks is named with what it is lacking on."""
    text = " ".join(text.split())
    lacking = LACKING.search(text)
    if lacking is None:
        return text
    names = list(dict.fromkeys(NAMED.findall(lacking["where"])))
    on = f" on {', '.join(names)}" if names else ""
    return f"the key's user {lacking['user']!r} lacks the right {lacking['right']}{on}"


def code_of(error: BaseException | str) -> str:
    """The HTTP status or gRPC code of the error or of what caused it, or else in a word what kind it is, or ""."""
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
        if of_https := _of_https(cause):
            return of_https.code
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


def _said(body: object) -> str:
    """The message in the body of an answer: Weaviate has two forms of it, and gRPC a text."""
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


def _of_https(cause: BaseException) -> _HttpsFailure | None:
    """Why nothing could be said to the server in secret; None where it is something else."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _HttpsFailure("certificate", f"its certificate is not trusted ({cause.verify_message})")
    if isinstance(cause, ssl.SSLError) and cause.reason in WRONG_PROTOCOL:
        return _HttpsFailure("plain http", "what answers there does not speak https")
    return None


def _network(cause: BaseException) -> str:
    """Why there was no answer, where this is the innermost that says so; else ""."""
    import httpx

    if isinstance(cause, ConnectionRefusedError):
        return "nothing listens there (connection refused)"
    if isinstance(cause, socket.gaierror):
        return f"its host is not known ({cause.strerror})"
    if of_https := _of_https(cause):
        return of_https.text
    if isinstance(cause, httpx.TimeoutException):
        return "it gave no answer in time"
    if isinstance(cause, httpx.RemoteProtocolError | httpx.ReadError):
        return "it closed the connection without an answer"
    return ""
