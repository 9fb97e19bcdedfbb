"""Environment variables for an Airflow of one machine, to be set before airflow is imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["INDEX_POOL", "PROJECT", "airflow_environment"]

PROJECT = Path(__file__).resolve().parents[3]
INDEX_POOL = "lore_index"
"""Pool for the mapped index tasks, if one exists; see AIRFLOW__LORE__INDEX_POOL in airflow_settings.yaml."""

ADMIN = "admin"


def airflow_environment(home: Path, *, port: int = 8080, log_level: str = "INFO") -> dict[str, str]:
    """Return the variables of a private instance: all state below `home`, this project's DAGs, loopback only."""
    home = home.absolute()
    address = f"http://127.0.0.1:{port}"
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(PROJECT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(PROJECT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": str(max(2, os.cpu_count() or 2)),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{ADMIN}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW__DATABASE__LOAD_DEFAULT_CONNECTIONS": "False",
        "AIRFLOW__API__BASE_URL": address,
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
        "AIRFLOW__LOGGING__LOGGING_LEVEL": log_level,
        "AIRFLOW__LORE__INDEX_POOL": INDEX_POOL,
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    }
