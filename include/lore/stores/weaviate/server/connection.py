"""One connection to a Weaviate server, and its errors as StoreError."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lore.errors import ConfigurationError, LoreError, StoreError, require
from lore.stores.weaviate.server.client_errors import (
    advice,
    error_code,
    error_text,
    is_missing,
    is_server_error,
    one_line,
)

if TYPE_CHECKING:
    from weaviate import WeaviateClient
    from weaviate.auth import AuthCredentials

__all__ = ["MINIMUM_VERSION", "WeaviateConnection", "WeaviateServer"]

MINIMUM_VERSION = (1, 32)
"""The first version with collection aliases and rotational quantization."""

CLOUD_DOMAIN = ".weaviate.cloud"
GRPC_PORT = 50051
MESSAGE_CHARACTERS = 500
OIDC_SECRETS = ("password", "client_secret", "access_token", "refresh_token")
CHECK_SECONDS = 10.0
"""Time limit of the gRPC check at connecting."""
STARTING_SECONDS = 2.0
"""Grace period for a closed gRPC port: a starting server opens it after the HTTP port."""
PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class WeaviateServer:
    """The address of a server and how to call it. `timeout` is in seconds, for each call.

    Empty `grpc_host` and `grpc_port` follow from the URL: Weaviate Cloud has a gRPC host of its own, others port 50051.
    Without an `api_key`, `oidc` has the arguments of one of the client's logins by OpenID Connect.
    """

    url: str
    grpc_host: str = ""
    grpc_port: int | None = None
    api_key: str | None = field(default=None, repr=False)
    oidc: Mapping[str, str | int] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 60.0


class WeaviateConnection:
    """A client that connects on first use, is shared by all threads, and closes with its last user.

    Raises ConfigurationError for an invalid address or key.
    """

    def __init__(self, server: WeaviateServer) -> None:
        require("weaviate", "weaviate", "An index on Weaviate")
        self._server = server
        try:
            parts = urlsplit(server.url)
            self._secure, self._host, port = parts.scheme == "https", parts.hostname or "", parts.port
        except ValueError:
            parts, self._host, port = urlsplit(""), "", None
        if parts.scheme not in ("http", "https") or not self._host or parts.path.strip("/"):
            raise ConfigurationError(
                "The address of Weaviate is invalid: it must have the form http://HOST:PORT or https://HOST.",
                remedy="Correct LORE_WEAVIATE_URL. LORE_WEAVIATE_GRPC_PORT sets the gRPC port.",
            )
        if server.api_key and not (server.api_key.isascii() and server.api_key.isprintable()):
            raise ConfigurationError(
                "The key for Weaviate has characters that no key can have.",
                remedy="Check LORE_WEAVIATE_API_KEY for line breaks and accented letters.",
            )
        self._port = port or (443 if self._secure else 80)
        self.address = f"{parts.scheme}://{self._host}:{self._port}"
        cloud = self._host.endswith(CLOUD_DOMAIN)
        self._grpc_host = server.grpc_host or (f"grpc-{self._host}" if cloud else self._host)
        self._grpc_port = server.grpc_port or (443 if cloud else GRPC_PORT)
        if (self._grpc_host, self._grpc_port) == (self._host, self._port):
            raise ConfigurationError(
                "Weaviate's HTTP and gRPC addresses are the same.",
                remedy="Set LORE_WEAVIATE_GRPC_PORT or LORE_WEAVIATE_GRPC_HOST to the address for gRPC.",
            )
        self._client: WeaviateClient | None = None
        self._opening = threading.Lock()

    def client(self) -> WeaviateClient:
        """The connected client. Raises the client's own errors: call it inside `errors`."""
        from authlib.common.errors import AuthlibBaseError

        with self._opening:
            if self._client is None:
                try:
                    client = self._connect()
                except AuthlibBaseError as error:  # what the server of OpenID Connect refused
                    reason = self._hide_secrets(str(error.description or error.error))
                    raise StoreError(
                        f"Couldn't log in to Weaviate at {self.address}: {reason.rstrip('.')}.",
                        remedy="Check LORE_WEAVIATE_OIDC, or in Airflow the connection weaviate_default.",
                    ) from None
                except (AttributeError, KeyError, TypeError, ValueError) as error:
                    raise StoreError(
                        f"The server at {self.address} is not Weaviate: {type(error).__name__}.",
                        remedy="Set LORE_WEAVIATE_URL to Weaviate's HTTP port.",
                    ) from None
                try:
                    self._check_grpc()
                except StoreError:
                    client.close()  # the next call connects anew
                    raise
                weakref.finalize(self, client.close)
                self._client = client
            return self._client

    def version(self) -> tuple[int, ...]:
        """The server's version as numbers, such as (1, 39, 0)."""
        digits = str(self.client().get_meta().get("version", "")).partition("-")[0].split(".")
        return tuple(int(number) for number in digits if number.isdigit())

    def check_version(self) -> None:
        """Raise StoreError for a server that is too old. Call it inside `errors`."""
        found = self.version()
        if found < MINIMUM_VERSION:
            oldest = ".".join(map(str, MINIMUM_VERSION))
            raise StoreError(
                f"Weaviate at {self.address} is too old: it has version {'.'.join(map(str, found))}.",
                remedy=f"Install Weaviate {oldest} or newer.",
            )

    @contextmanager
    def errors(self, action: str, invalidate: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Convert errors of client and network to StoreError; call `invalidate` if an open collection is gone."""
        try:
            yield
        except LoreError:
            raise
        except Exception as error:
            if not is_server_error(error):
                raise
            explained = self.explain(action, error)
            if is_missing(explained.message):
                invalidate()
            raise explained from None  # the cause may hold the request's headers

    def explain(self, action: str, error: BaseException | str) -> StoreError:
        """The error as a StoreError with a remedy, retryable if trying again may help."""
        text = self._hide_secrets(error if isinstance(error, str) else error_text(error))
        remedy, retryable = advice(error_code(error), text)
        text = one_line(text)[:MESSAGE_CHARACTERS].rstrip(".")
        return StoreError(
            f"Couldn't {action} the index in Weaviate at {self.address}: {text}.", remedy=remedy, retryable=retryable
        )

    def _hide_secrets(self, text: str) -> str:
        login = self._server.oidc
        for known in (self._server.api_key, *(login.get(name) for name in OIDC_SECRETS)):
            if known:
                text = text.replace(str(known), "***")
        return text

    def _connect(self) -> WeaviateClient:
        import weaviate
        from weaviate.classes.init import AdditionalConfig, Timeout
        from weaviate.config import GrpcConfig

        server = self._server
        logging.getLogger("weaviate-client").setLevel(logging.CRITICAL)  # it logs whole documents that were rejected
        timeout = Timeout(init=min(server.timeout, CHECK_SECONDS), query=server.timeout, insert=server.timeout)
        return weaviate.connect_to_custom(
            http_host=self._host,
            http_port=self._port,
            http_secure=self._secure,
            grpc_host=self._grpc_host,
            grpc_port=self._grpc_port,
            grpc_secure=self._secure,
            headers=dict(server.headers) or None,
            auth_credentials=_credentials(server),
            additional_config=AdditionalConfig(timeout=timeout, grpc_config=GrpcConfig(channel_options=_CHANNEL)),
            skip_init_checks=True,  # they also ask PyPI for the newest client
        )

    def _check_grpc(self) -> None:
        """Raise StoreError if nothing answers at the gRPC port within the time limit; any answer will do."""
        started = time.monotonic()
        while (code := self._grpc_code()) == "UNAVAILABLE":
            if time.monotonic() - started > min(STARTING_SECONDS, self._server.timeout):
                break
            time.sleep(PAUSE_SECONDS)
        if code not in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
            return  # later calls report other faults better
        late = code == "DEADLINE_EXCEEDED"
        raise StoreError(
            f"Weaviate answers at {self.address}, but its gRPC port at {self._grpc_host}:{self._grpc_port} does not"
            f"{' in time' if late else ''}.",
            remedy="Set LORE_WEAVIATE_GRPC_PORT, and LORE_WEAVIATE_GRPC_HOST if it is another host, to the server's "
            "gRPC address, and check that no firewall blocks it"
            + ("; for a slow server raise LORE_TIMEOUT_SECONDS." if late else "."),
            retryable=True,
        )

    def _grpc_code(self) -> str:
        """The code with which gRPC's standard health check failed, or ""."""
        import grpc

        target, check = f"{self._grpc_host}:{self._grpc_port}", "/grpc.health.v1.Health/Check"
        options = [("grpc.use_local_subchannel_pool", 1)]
        if self._secure:
            channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(), options)
        else:
            channel = grpc.insecure_channel(target, options)
        with channel:
            call = channel.unary_unary(check, request_serializer=bytes, response_deserializer=bytes)
            try:
                call(b"", timeout=min(self._server.timeout, CHECK_SECONDS))
            except grpc.RpcError as error:
                return error_code(error)
        return ""


_CHANNEL: Any = [
    # Without a connection a call waits for one, up to its timeout. By default it fails at once, and the client repeats
    # it after pauses that add up to a minute.
    ("grpc.service_config", '{"methodConfig": [{"name": [{}], "waitForReady": true}]}'),
    ("grpc.use_local_subchannel_pool", 1),  # a new connection must not inherit the back-off of one that failed
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),  # the limit of one attempt to connect: TLS to a distant server takes time
    ("grpc.max_reconnect_backoff_ms", 2_000),
]


def _credentials(server: WeaviateServer) -> AuthCredentials | None:
    from weaviate.classes.init import Auth

    if server.api_key:
        return Auth.api_key(server.api_key)
    logins: Mapping[str, Callable[..., AuthCredentials]] = {
        "access_token": Auth.bearer_token,
        "client_secret": Auth.client_credentials,
        "username": Auth.client_password,
    }
    return next((login(**server.oidc) for field, login in logins.items() if field in server.oidc), None)
