"""A real Weaviate server for tests: the program on PATH, started here, or the one at LORE_TEST_WEAVIATE_URL."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from lore.stores.weaviate.server.connection import WeaviateConnection, WeaviateServer

if TYPE_CHECKING:
    from weaviate import WeaviateClient

WRITER = "writer-key-of-the-tests"
START_SECONDS = 60.0


@dataclass(frozen=True)
class Address:
    """The address of an index; as text it can be passed to another process."""

    url: str
    grpc_port: int
    prefix: str = "Lore"
    api_key: str = WRITER
    timeout: float = 30.0

    @property
    def server(self) -> WeaviateServer:
        return WeaviateServer(self.url, grpc_port=self.grpc_port, api_key=self.api_key, timeout=self.timeout)

    def but(self, **changes: object) -> Address:
        return replace(self, **changes)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> Address:
        return cls(**json.loads(text))


@contextmanager
def running(environment: Mapping[str, str] | None = None) -> Iterator[Address]:
    """Run a server for the length of the block; skip the test if there is none."""
    if url := os.environ.get("LORE_TEST_WEAVIATE_URL"):
        port = int(os.environ.get("LORE_TEST_WEAVIATE_GRPC_PORT", "50051"))
        yield Address(url, port, api_key=os.environ.get("LORE_TEST_WEAVIATE_API_KEY", ""))
        return
    program = shutil.which("weaviate")
    if program is None:
        pytest.skip("no Weaviate server: put `weaviate` on PATH or set LORE_TEST_WEAVIATE_URL")
    with tempfile.TemporaryDirectory(prefix="lore-weaviate-", ignore_cleanup_errors=True) as folder:
        process = Process(program, Path(folder), environment or {})
        try:
            process.start()
            yield process.address
        finally:
            process.stop()


class Process:
    """One server on its own ports of the loopback address; it can be killed and restarted on its data."""

    def __init__(self, program: str, folder: Path, environment: Mapping[str, str]) -> None:
        http, grpc, *inner = free_ports()
        self.address = Address(f"http://127.0.0.1:{http}", grpc)
        self._command = [program, "--host", "127.0.0.1", "--port", str(http), "--scheme", "http"]
        self._log = folder / "server.log"
        names = ("CLUSTER_GOSSIP_BIND_PORT", "CLUSTER_DATA_BIND_PORT", "RAFT_PORT", "RAFT_INTERNAL_RPC_PORT")
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PERSISTENCE_DATA_PATH": str(folder / "data"),
            "DISABLE_TELEMETRY": "true",
            "DEFAULT_VECTORIZER_MODULE": "none",
            "ENABLE_MODULES": "",
            "GO_PROFILING_DISABLE": "true",
            "LOG_LEVEL": "warning",
            "CLUSTER_HOSTNAME": "lore-test",
            "CLUSTER_IN_LOCALHOST": "true",
            "CLUSTER_BIND_ADDR": "127.0.0.1",
            "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
            "RAFT_BOOTSTRAP_EXPECT": "1",
            "RAFT_TIMEOUTS_MULTIPLIER": "1",
            "GRPC_PORT": str(grpc),
            "AUTHENTICATION_APIKEY_ENABLED": "true",
            "AUTHENTICATION_APIKEY_ALLOWED_KEYS": WRITER,
            "AUTHENTICATION_APIKEY_USERS": "writer",
            "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "false",
            "AUTHORIZATION_RBAC_ENABLED": "true",
            "AUTHENTICATION_DB_USERS_ENABLED": "true",
            "AUTHORIZATION_RBAC_ROOT_USERS": "writer",
            "GRPC_MAX_MESSAGE_SIZE": "6000000",
            **dict(zip(names, map(str, inner), strict=True)),
            **environment,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            try:
                if httpx.get(f"{self.address.url}/v1/.well-known/ready", timeout=2).status_code == 200:
                    socket.create_connection(("127.0.0.1", self.address.grpc_port), 2).close()  # it comes up last
                    return
            except (httpx.TransportError, ConnectionError):
                pass
            time.sleep(0.1)
        self.stop()
        pytest.fail(f"Weaviate did not start:\n{self._log.read_text(errors='replace')[-2000:]}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()


@contextmanager
def client_of(address: Address) -> Iterator[WeaviateClient]:
    """The vendor's own client, for calls that a store does not make."""
    connection = WeaviateConnection(address.server)
    yield connection.client()


def names_at(address: Address) -> set[str]:
    """The collections below the prefix."""
    with client_of(address) as client:
        return {name for name in client.collections.list_all() if name.startswith(address.prefix)}


def remove(address: Address) -> None:
    """Remove every alias and collection below the prefix."""
    with client_of(address) as client:
        for alias in client.alias.list_all():
            if alias.startswith(address.prefix):
                client.alias.delete(alias_name=alias)
        client.collections.delete([name for name in client.collections.list_all() if name.startswith(address.prefix)])


def free_ports() -> list[int]:
    """Six consecutive free ports: Weaviate expects its internal ports to be consecutive."""
    for _ in range(50):
        with ExitStack() as sockets:
            first = sockets.enter_context(socket.socket())
            first.bind(("127.0.0.1", 0))
            ports = [first.getsockname()[1] + number for number in range(6)]
            try:
                for port in ports[1:]:
                    sockets.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except (OSError, OverflowError):
                continue
            return ports
    pytest.fail("no six neighbouring ports are free")
