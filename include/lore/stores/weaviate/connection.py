"""One connection to a Weaviate server, and what went wrong on it in words."""

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
from lore.stores.weaviate.errors import code_of, is_missing, is_of_the_server, judge, plain, text_of

if TYPE_CHECKING:
    from weaviate import WeaviateClient

__all__ = ["MINIMUM_VERSION", "WeaviateConnection", "WeaviateServer"]

MINIMUM_VERSION = (1, 32)
"""The first version with collection aliases and rotational quantization."""

CLOUD_DOMAIN = ".weaviate.cloud"
GRPC_PORT = 50051
MESSAGE_CHARACTERS = 500
CHECK_SECONDS = 10.0
"""How long gRPC may take to answer when the connection is made."""
STARTING_SECONDS = 2.0
"""How long its port may refuse: a server that starts opens it just after the other one."""
PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class WeaviateServer:
    """Where a server is and how it is spoken to. `timeout` is in seconds, for each call.

    `grpc_host` and `grpc_port` empty mean those of the URL's host: of Weaviate Cloud its own, else port 50051.
    """

    url: str
    grpc_host: str = ""
    grpc_port: int | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 60.0


class WeaviateConnection:
    """A client that connects on first use and is shared by all threads; it is closed when nobody holds it any more.

    Raises ConfigurationError for an address that is none.
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
                "The address of Weaviate is not of the form http://HOST:PORT or https://HOST.",
                remedy="Set LORE_WEAVIATE_URL; the port of gRPC is set by LORE_WEAVIATE_GRPC_PORT.",
            )
        if server.api_key and not (server.api_key.isascii() and server.api_key.isprintable()):
            raise ConfigurationError(
                "The key for Weaviate holds characters that no key has.",
                remedy="Check LORE_WEAVIATE_API_KEY for line breaks and letters with accents.",
            )
        self._port = port or (443 if self._secure else 80)
        self.address = f"{parts.scheme}://{self._host}:{self._port}"
        cloud = self._host.endswith(CLOUD_DOMAIN)
        self._grpc_host = server.grpc_host or (f"grpc-{self._host}" if cloud else self._host)
        self._grpc_port = server.grpc_port or (443 if cloud else GRPC_PORT)
        if (self._grpc_host, self._grpc_port) == (self._host, self._port):
            raise ConfigurationError(
                "Weaviate's address and its gRPC port are the same.",
                remedy="Set LORE_WEAVIATE_GRPC_PORT, or LORE_WEAVIATE_GRPC_HOST, to where gRPC is.",
            )
        self._client: WeaviateClient | None = None
        self._opening = threading.Lock()

    def client(self) -> WeaviateClient:
        """The connected client. Raises what the client raises: call it below `errors`."""
        with self._opening:
            if self._client is None:
                try:
                    client = self._connect()
                except (AttributeError, KeyError, TypeError, ValueError) as error:
                    raise StoreError(
                        f"What answers at {self.address} is not Weaviate: {type(error).__name__}.",
                        remedy="Set LORE_WEAVIATE_URL to the server's HTTP port.",
                    ) from None
                try:
                    self._check_grpc(client)
                except StoreError:
                    client.close()  # what is tried again connects anew
                    raise
                weakref.finalize(self, client.close)
                self._client = client
            return self._client

    def version(self) -> tuple[int, ...]:
        """The server's version as numbers, such as (1, 39, 0)."""
        digits = str(self.client().get_meta().get("version", "")).partition("-")[0].split(".")
        return tuple(int(number) for number in digits if number.isdigit())

    def check_version(self) -> None:
        """Raise StoreError for a server that is too old. Call it below `errors`."""
        found = self.version()
        if found < MINIMUM_VERSION:
            oldest = ".".join(map(str, MINIMUM_VERSION))
            raise StoreError(
                f"Weaviate at {self.address} has version {'.'.join(map(str, found))}.",
                remedy=f"Install Weaviate {oldest} or newer.",
            )

    @contextmanager
    def errors(self, action: str, forget: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Turn what the client and the network raise into StoreError; `forget` is called when what was open is gone."""
        try:
            yield
        except LoreError:
            raise
        except Exception as error:
            if not is_of_the_server(error):
                raise
            explained = self.explain(action, error)
            if is_missing(explained.message):
                forget()
            raise explained from None  # the cause may carry the request's headers

    def explain(self, action: str, error: BaseException | str) -> StoreError:
        """The error as a StoreError that says what to do and whether trying again can help."""
        text = error if isinstance(error, str) else text_of(error)
        if self._server.api_key:
            text = text.replace(self._server.api_key, "***")
        remedy, retryable = judge(code_of(error), text)
        text = plain(text)[:MESSAGE_CHARACTERS].rstrip(".")
        return StoreError(
            f"Could not {action} the index in Weaviate at {self.address}: {text}.", remedy=remedy, retryable=retryable
        )

    def _connect(self) -> WeaviateClient:
        import weaviate
        from weaviate.classes.init import AdditionalConfig, Auth, Timeout
        from weaviate.config import GrpcConfig

        server = self._server
        logging.getLogger("weaviate-client").setLevel(logging.CRITICAL)  # it logs whole documents that were refused
        timeout = Timeout(init=min(server.timeout, CHECK_SECONDS), query=server.timeout, insert=server.timeout)
        return weaviate.connect_to_custom(
            http_host=self._host,
            http_port=self._port,
            http_secure=self._secure,
            grpc_host=self._grpc_host,
            grpc_port=self._grpc_port,
            grpc_secure=self._secure,
            headers=dict(server.headers) or None,
            auth_credentials=Auth.api_key(server.api_key) if server.api_key else None,
            additional_config=AdditionalConfig(timeout=timeout, grpc_config=GrpcConfig(channel_options=_CHANNEL)),
            skip_init_checks=True,  # they also ask a package registry for the newest client
        )

    def _check_grpc(self, client: WeaviateClient) -> None:
        """Raise StoreError where nothing answers at the port of gRPC; any answer will do.

        It is the check that the client makes by itself unless its checks are skipped, all of them.
        """
        started = time.monotonic()
        while (code := _ping(client)) == "UNAVAILABLE":
            if time.monotonic() - started > min(STARTING_SECONDS, self._server.timeout):
                break
            time.sleep(PAUSE_SECONDS)
        if code not in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
            return  # what else is wrong the calls that follow tell better
        late = code == "DEADLINE_EXCEEDED"
        raise StoreError(
            f"Weaviate answers at {self.address}, but its gRPC does not at {self._grpc_host}:{self._grpc_port}"
            f"{' in time' if late else ''}.",
            remedy="Set LORE_WEAVIATE_GRPC_PORT, and LORE_WEAVIATE_GRPC_HOST where it is another host, to where the "
            "server listens for gRPC, and see that no firewall is between"
            + ("; a server that is slow needs more LORE_TIMEOUT_SECONDS." if late else "."),
            retryable=True,
        )


def _ping(client: WeaviateClient) -> str:
    """The code with which the check of gRPC failed, or ""."""
    from weaviate.exceptions import WeaviateGRPCUnavailableError

    try:
        client._connection._ping_grpc("sync")
    except WeaviateGRPCUnavailableError as error:
        return code_of(error)
    return ""


_CHANNEL: Any = [
    # While there is no connection a call waits for one, up to its timeout, instead of failing at once and being
    # repeated by the client after pauses that add up to a minute. The check at connecting is to fail at once.
    (
        "grpc.service_config",
        '{"methodConfig": [{"name": [{}], "waitForReady": true}, {"name": [{"service": "grpc.health.v1.Health"}]}]}',
    ),
    ("grpc.use_local_subchannel_pool", 1),  # a new connection does not share the pauses of one whose server was away
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),  # how long one attempt to connect may take: TLS from afar needs its time
    ("grpc.max_reconnect_backoff_ms", 2_000),
]
