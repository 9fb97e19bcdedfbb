"""`make up`, as far as it goes without starting Airflow."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from lore.orchestration.environment import airflow_environment
from lore.orchestration.standalone import main


def test_a_port_in_use_is_a_clear_error_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--port", str(port), "--home", str(tmp_path / "home")]) == 2
    printed = capsys.readouterr().out
    assert f"port {port}" in printed
    assert "make up PORT=" in printed
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("port", ["http", "99999"])
def test_a_port_that_is_none_is_a_clear_error(port: str, tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "lore.orchestration.standalone", "--home", str(tmp_path / "home")],
        env={**os.environ, "PORT": port},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 2
    printed = process.stdout + process.stderr
    assert port in printed and "Traceback" not in printed and ".." not in printed


def test_the_instance_is_private_and_on_the_loopback_address_only(tmp_path: Path) -> None:
    environ = airflow_environment(tmp_path, port=8123)
    assert environ["AIRFLOW__API__HOST"] == "127.0.0.1"
    assert environ["AIRFLOW__API__BASE_URL"] == "http://127.0.0.1:8123"
    assert environ["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"].startswith("http://127.0.0.1:8123/")
    assert environ["AIRFLOW__CORE__LOAD_EXAMPLES"] == "False"
    assert environ["AIRFLOW_HOME"] == str(tmp_path)
    assert environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"].endswith(f"{tmp_path}/airflow.db")
