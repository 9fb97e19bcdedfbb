"""DAG runs in this process, without scheduler or server, for the demo and the tests.

    airflow = LocalAirflow.start(Path(".airflow/demo"), {"LORE_SOURCES_DIR": "examples/sources"})
    result = airflow.run("ingest_handbook")
    print(result.state, result.value("reconcile"))

Tasks, XComs, pools, trigger rules and asset events are Airflow's own (`dag.test()`), on a private SQLite database.
Tasks run one after another, and nothing is retried, so that failures show at once.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore.errors import ConfigurationError
from lore.orchestration.environment import PROJECT, airflow_environment

if TYPE_CHECKING:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.models.dagrun import DagRun
    from airflow.sdk import DAG

__all__ = ["LocalAirflow", "LocalRun"]


@dataclass(frozen=True, slots=True)
class LocalRun:
    """One finished run.

    `tasks` maps each task instance to its state, mapped ones as `task[0]`, `task[1]` …; `values` maps the same names to
    return values, and `errors` to the exceptions of failed tasks.
    """

    dag_id: str
    run_id: str
    state: str
    tasks: Mapping[str, str]
    values: Mapping[str, Any]
    errors: Mapping[str, BaseException]
    seconds: float

    @property
    def succeeded(self) -> bool:
        return self.state == "success"

    def value(self, task_id: str) -> Any:
        """Return the value of a task. If it returned none, raise its exception, or else the first one of the run."""
        if task_id in self.values:
            return self.values[task_id]
        if self.errors:
            raise self.errors.get(task_id) or next(iter(self.errors.values()))
        raise KeyError(f"{task_id} of {self.run_id} returned no value; states: {dict(self.tasks)}")


class LocalAirflow:
    """A private Airflow in this process. Create it with `start`, once per process."""

    def __init__(self, bag: DagBag) -> None:
        self._bag = bag
        self._defaults: dict[str, dict[str, Any]] = {}

    @classmethod
    def start(
        cls, home: Path, environ: Mapping[str, str] | None = None, *, dags_folder: Path | None = None
    ) -> LocalAirflow:
        """Set the environment, import airflow, create a missing database, and parse the DAG files.

        This takes seconds, most of them for importing Airflow. `environ` is added to the process's environment. Raises
        ConfigurationError if airflow was imported before, because it reads its environment only at import.
        """
        if "airflow" in sys.modules:
            raise ConfigurationError(
                "Airflow was imported already.", remedy="Start LocalAirflow before anything imports airflow."
            )
        home.mkdir(parents=True, exist_ok=True)
        folder = (dags_folder or PROJECT / "dags").absolute()
        os.environ.update(airflow_environment(home, log_level="CRITICAL"))
        os.environ.update(
            {
                "AIRFLOW__CORE__DAGS_FOLDER": str(folder),
                "AIRFLOW__CORE__DAGBAG_IMPORT_ERROR_TRACEBACKS": "False",
                "AIRFLOW__LORE__INDEX_POOL": "default_pool",
            }
        )
        os.environ.update(environ or {})
        with _without_gc():
            _make_database(home)
            from airflow.dag_processing.dagbag import BundleDagBag

            return cls(BundleDagBag(folder, bundle_path=folder, bundle_name="dags-folder"))

    @property
    def dag_ids(self) -> list[str]:
        return sorted(self._bag.dags)

    @property
    def import_errors(self) -> Mapping[str, str]:
        """DAG file → its import error."""
        return dict(self._bag.import_errors)

    def dag(self, dag_id: str) -> DAG:
        """Return a parsed DAG. Raises ConfigurationError for an unknown id, naming the import errors."""
        try:
            dag: DAG = self._bag.dags[dag_id]
        except KeyError:
            problems = "; ".join(self.import_errors.values()) or f"known are {', '.join(self.dag_ids) or 'none'}"
            raise ConfigurationError(f"There is no DAG {dag_id!r}: {problems}.") from None
        return dag

    def run(self, dag_id: str, conf: Mapping[str, Any] | None = None, *, triggered: datetime | None = None) -> LocalRun:
        """Run a DAG to its end with `conf` as its params. The result has the errors of failed tasks.

        `triggered` is the time at which the run was asked for, now by default; an earlier one is that of a cleared run.
        """
        dag = self.dag(dag_id)
        # Airflow sets a run's params on the DAG that all runs of this process share.
        defaults = self._defaults.setdefault(dag_id, dict(dag.params.dump()))
        errors: dict[str, BaseException] = {}

        def remember(context: Mapping[str, Any]) -> None:
            errors[_name(context["ti"])] = context["exception"]

        for task in dag.tasks:
            target = task.partial_kwargs if hasattr(task, "partial_kwargs") else vars(task)
            target["retries"] = 0
            target["on_failure_callback"] = [remember]
        started = time.perf_counter()
        with _without_gc():
            run = dag.test(run_after=triggered, run_conf={**defaults, **(conf or {})})
        return _result(run, errors, time.perf_counter() - started)


def _make_database(home: Path) -> None:
    """Create or upgrade the database, unless a marker file says that this Airflow did so: the check takes seconds."""
    marker = home / f"database-{version('apache-airflow-core')}"
    if marker.exists() and (home / "airflow.db").exists():
        return
    from airflow.utils.db import initdb

    initdb()
    marker.touch()


def _result(run: DagRun, errors: Mapping[str, BaseException], seconds: float) -> LocalRun:
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    with create_session() as session:
        instances = {_name(instance): str(instance.state) for instance in run.get_task_instances(session=session)}
        found = session.scalars(XComModel.get_many(run_id=run.run_id, dag_ids=run.dag_id, key="return_value"))
        values = {_name(item): XComModel.deserialize_value(item) for item in found}
    return LocalRun(run.dag_id, run.run_id, str(run.state), instances, values, errors, seconds)


def _name(item: Any) -> str:
    """`task`, or `task[n]` of a mapped one."""
    return str(item.task_id) if item.map_index < 0 else f"{item.task_id}[{item.map_index}]"


class _without_gc:  # noqa: N801 - reads as a statement
    """No garbage collection: importing Airflow creates so many objects that collecting takes a tenth of the time."""

    def __enter__(self) -> None:
        gc.disable()

    def __exit__(self, *_: object) -> None:
        gc.enable()
        gc.freeze()
