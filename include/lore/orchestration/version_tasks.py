"""Shared parts of the DAGs of versions: their settings, the index, and their last task."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException

from lore.orchestration.connections import settings_in_airflow
from lore.orchestration.retries import RETRIES

if TYPE_CHECKING:
    from lore.evaluation.versions import IndexVersions
    from lore.settings import Settings

__all__ = ["dag_arguments", "open_index", "promoted_since_trigger", "settings_fit", "settings_of_run"]

log = logging.getLogger(__name__)


def settings_of_run(params: Mapping[str, Any]) -> Settings:
    """Return the settings of a task, overridden by the run's form; blank fields change nothing."""
    given = {
        "embedder": params.get("embedder"),
        "chunk_characters": params.get("chunk_characters"),
        "questions": Path(params["questions"]).expanduser() if params.get("questions") else None,
        "gate_margin": params.get("margin"),
    }
    chosen = {name: value for name, value in given.items() if value not in (None, "")}
    return settings_in_airflow().with_values(**chosen)


def open_index(settings: Settings | None = None) -> IndexVersions:
    """Open the versions of the index; inside a task, with the settings of its run."""
    from lore.evaluation.versions import IndexVersions

    return IndexVersions(settings or settings_of_run(get_current_context()["params"]))


def promoted_since_trigger(versions: IndexVersions) -> int | None:
    """Return the live version if it went live after the run of this task was triggered; None if it was live before.

    A task that is cleared or tried again must not promote a second time, over what people did since.
    """
    run: Any = get_current_context()["dag_run"]
    live = next((status.version for status in versions.all() if status.role == "live"), None)
    if live is None or live.promoted_at is None or live.promoted_at <= run.run_after:
        return None
    return live.number


def dag_arguments() -> dict[str, Any]:
    """Return the shared arguments of these DAGs: triggered by a person, one run at a time changes the index."""
    return {
        "schedule": None,
        "catchup": False,
        "max_active_runs": 1,
        "is_paused_upon_creation": False,
        "tags": ["lore", "versions"],
        "default_args": {"owner": "lore", **RETRIES},
        "auto_register": False,
    }


@task(
    doc_md="Green when this deployment's settings are those of the live version. Skipped when others have to be "
    "set: its log names them.",
    retries=0,
)
def settings_fit(number: int) -> None:
    """Skip with instructions if processes started with these settings would not read the live version."""
    versions = open_index(settings_in_airflow())
    if versions.fits(number):
        log.info("The settings of this deployment are those of version %d.", number)
        return
    log.warning(
        "Version %d is live, and the settings of this deployment are not those that made it. Processes with another "
        "embedder go on with the version that they fit, all others answer from the live one. %s",
        number,
        versions.needed_settings(number, otherwise=" Run `rebuild`."),
    )
    raise AirflowSkipException("This deployment needs other settings; see the line above.")
