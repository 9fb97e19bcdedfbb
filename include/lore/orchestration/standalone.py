"""`make up`: Airflow with its UI, on this machine only.

python -m lore.orchestration.standalone --port 8080
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from lore.errors import ConfigurationError, LoreError
from lore.orchestration.environment import ADMIN, INDEX_POOL, PROJECT, airflow_environment

__all__ = ["main", "run"]

READY_SECONDS = 300.0
"""A first start creates the database and imports Airflow five times; on a slow machine that takes minutes."""
STOP_SECONDS = 20.0
COMPONENTS = ("metadatabase", "scheduler", "dag_processor", "triggerer")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return the exit code: 0 after Ctrl-C, 1 if Airflow failed, 2 for a wrong option."""
    parser = argparse.ArgumentParser(prog="make up", description="Airflow with its UI, on this machine only.")
    parser.add_argument("--port", type=int, default=os.environ.get("PORT") or 8080, help="also: make up PORT=…")
    parser.add_argument("--home", type=Path, default=PROJECT / ".airflow", help="folder of Airflow's state")
    options = parser.parse_args(arguments)
    try:
        return run(options.home, options.port)
    except KeyboardInterrupt:
        return 0
    except LoreError as error:
        _say(f"error: {error}")
        return 2 if isinstance(error, ConfigurationError) else 1


def run(home: Path, port: int) -> int:
    """Run Airflow until it is interrupted; print its address and login once it is healthy. Raises LoreError."""
    if not (PROJECT / "dags").is_dir():
        raise ConfigurationError(
            "There are no DAG files beside this installation of Lore.", remedy="Run `make up` in a checkout of Lore."
        )
    _require_free(port)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds the password and the signing keys
    environ = {**os.environ, **airflow_environment(home, port=port, log_level="INFO")}
    log_path = home / "standalone.log"
    _say("Preparing Airflow's database ...")
    with log_path.open("wb") as log:
        _airflow(["db", "migrate"], environ)
        _airflow(["pools", "set", INDEX_POOL, "2", "Index tasks at once, each holds an embedder"], environ)
        signal.signal(signal.SIGTERM, _interrupt)
        _say(f"Starting Airflow; its output is in {log_path} ...")
        process = subprocess.Popen(
            [sys.executable, "-m", "airflow", "standalone"],
            cwd=PROJECT,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,
        )
        try:
            _wait_until_healthy(process, port, log_path)
            _say(_welcome(home, port))
            code = process.wait()
            raise LoreError(f"Airflow ended by itself with code {code}.", remedy=f"Read {log_path}.")
        finally:
            _say("Stopping Airflow ...")
            _stop(process)


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise ConfigurationError(
                f"Couldn't use port {port} of 127.0.0.1: {str(error).rstrip('.')}.",
                remedy="Stop the program that listens there, or choose another port: make up PORT=8090",
            ) from None


def _airflow(arguments: Sequence[str], environ: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "airflow", *arguments]
    done = subprocess.run(  # noqa: S603 - our own interpreter's airflow
        command, cwd=PROJECT, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise LoreError(f"`airflow {' '.join(arguments)}` failed:\n{tail}")


def _wait_until_healthy(process: subprocess.Popen[bytes], port: int, log_path: Path) -> None:
    """Poll the API's health, because Airflow prints that it is ready before the API listens."""
    deadline = time.monotonic() + READY_SECONDS
    unhealthy: Sequence[str] = COMPONENTS
    while unhealthy:
        if process.poll() is not None:
            raise LoreError(f"Airflow ended with code {process.returncode}.", remedy=f"Read {log_path}.")
        if time.monotonic() > deadline:
            raise LoreError(
                f"Airflow is still not healthy after {READY_SECONDS:.0f} s: {', '.join(unhealthy)}.",
                remedy=f"Read {log_path}.",
            )
        time.sleep(0.5)
        unhealthy = _unhealthy(port)


def _unhealthy(port: int) -> Sequence[str]:
    """Return the components that the API does not report as healthy; all of them while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/monitor/health", timeout=5) as response:
            health = json.load(response)
    except (OSError, ValueError):
        return COMPONENTS
    return [name for name in COMPONENTS if (health.get(name) or {}).get("status") != "healthy"]


def _welcome(home: Path, port: int) -> str:
    passwords = json.loads((home / "passwords.json").read_text(encoding="utf-8"))
    return (
        f"\nAirflow is ready.\n\n"
        f"  address   http://127.0.0.1:{port}\n  user      {ADMIN}\n  password  {passwords[ADMIN]}\n\n"
        f"Unpause a DAG `ingest_…` and trigger it, then trigger `ask`. Ctrl-C stops everything.\n"
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the process group of Airflow: SIGTERM first, then SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline and _group_is_alive(process):
            time.sleep(0.1)


def _group_is_alive(process: subprocess.Popen[bytes]) -> bool:
    process.poll()  # reap it, so that it is no zombie
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - this is a command


if __name__ == "__main__":
    sys.exit(main())
