"""A real PostgreSQL server for tests: this machine's program, started here, or the one at LORE_TEST_POSTGRES_URL."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

START_SECONDS = 60.0
FOLDERS = "/usr/lib/postgresql/*/bin"  # where Debian has them, not on PATH


@contextmanager
def running() -> Iterator[Postgres]:
    """A server for as long as the block lasts; skips the test where there is none to be had."""
    if find_spec("psycopg") is None:
        pytest.skip("PostgreSQL needs the package psycopg: pip install 'psycopg[binary]'")
    if url := os.environ.get("LORE_TEST_POSTGRES_URL"):
        yield Postgres(url)
        return
    initdb, postgres = _program("initdb"), _program("postgres")
    if not (initdb and postgres):
        pytest.skip("no PostgreSQL: install postgresql, or set LORE_TEST_POSTGRES_URL to a server")
    with tempfile.TemporaryDirectory(prefix="lore-postgres-", ignore_cleanup_errors=True) as name:
        server = Process(initdb, postgres, Path(name))
        try:
            server.start()
            yield server
        finally:
            server.stop(signal.SIGQUIT)  # "immediate": nobody needs what it would still write


class Postgres:
    """A server, and new databases on it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def database(self) -> str:
        """The URL of a new, empty database."""
        import psycopg

        name = f"lore_{uuid4().hex}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"{self.url.rpartition('/')[0]}/{name}"


class Process(Postgres):
    """A server on a port of its own of the loopback address; it may be killed and started again over its data."""

    def __init__(self, initdb: str, postgres: str, folder: Path) -> None:
        self._port = _free_port()
        super().__init__(f"postgresql://lore@127.0.0.1:{self._port}/postgres")
        self._postgres = postgres
        self._data = folder / "data"
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._options: dict[str, Any] = {"env": {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(folder)}}
        if os.geteuid() == 0:  # which PostgreSQL refuses to run as
            user = pwd.getpwnam("nobody")
            os.chown(folder, user.pw_uid, user.pw_gid)
            self._options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": folder}
        command = [initdb, "-D", str(self._data), "-U", "lore", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, timeout=START_SECONDS, **self._options)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        import psycopg

        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self._port,
            "unix_socket_directories": "",
            "fsync": "off",
            "full_page_writes": "off",
            "autovacuum": "off",  # a hundred databases of a few rows
        }
        command = [self._postgres, "-D", str(self._data)]
        for setting, value in settings.items():
            command += ["-c", f"{setting}={value}"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **self._options)
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > until:
                    pytest.fail(f"PostgreSQL does not start:\n{self._log.read_text(errors='replace')[-2000:]}")
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it, whoever is connected: "fast", as PostgreSQL calls it, where nothing else is said."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(how)
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _program(name: str) -> str | None:
    found = sorted(Path("/").glob(f"{FOLDERS[1:]}/{name}"))
    return str(found[-1]) if found else shutil.which(name)
