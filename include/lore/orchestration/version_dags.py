"""The DAGs `promote_version`, `rollback_version` and `prune_versions`, for existing versions of the index."""

from __future__ import annotations

import logging
import re
from typing import Any

from airflow.sdk import DAG, Param, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException

from lore.errors import GateError
from lore.orchestration.connections import settings_in_airflow
from lore.orchestration.dag_factory import index_pool
from lore.orchestration.promotion import judge_and_promote, judge_params, require_judge
from lore.orchestration.version_tasks import (
    dag_arguments,
    open_index,
    promoted_since_trigger,
    settings_fit,
    settings_of_run,
)

__all__ = ["make_promote_dag", "make_prune_dag", "make_rollback_dag"]

log = logging.getLogger(__name__)

PROMOTE_HELP = """
Makes a version live that is there already: one that a run of `rebuild` or `lore index build` left.

It is judged and, if a person is to be asked, approved as in `rebuild`.
"""
ROLLBACK_HELP = """
Makes the version live again that was live before: one flip, then what it could not be given meanwhile is written to it.

The run names its target once: a task of it that is cleared never goes back a second time. A second run goes forward
again. `settings_fit` says which settings the deployment then needs.
"""
PRUNE_HELP = """
Removes versions for good. Left blank, those go that were live once and are neither the live version nor the one before
it; versions that were never live stay. The live version cannot be removed.
"""


def make_promote_dag() -> DAG:
    """Make the DAG `promote_version`, with a form for the number."""
    number = Param(None, type="integer", minimum=1, title="Version", description="As `lore index list` numbers them.")
    with DAG(
        dag_id="promote_version",
        dag_display_name="Promote a version of the index",
        description="Judge an existing version of the index, and make it live",
        params={"version": number} | judge_params(),
        doc_md=PROMOTE_HELP,
        **dag_arguments(),
    ) as dag:

        @task(doc_md="Reads the number of the version from the form.")
        def chosen() -> int:
            params = get_current_context()["params"]
            settings = settings_of_run(params)
            require_judge(settings, params)
            return open_index(settings).one(params["version"]).version.number

        judge_and_promote(chosen())
    return dag


def make_rollback_dag() -> DAG:
    """Make the DAG `rollback_version`, which has no form."""
    with DAG(
        dag_id="rollback_version",
        dag_display_name="Roll the index back",
        description="Make the previously live version of the index live again",
        doc_md=ROLLBACK_HELP,
        **dag_arguments(),
    ) as dag:

        @task(doc_md="Names the version to go back to, once for this run: it may be done again and says the same.")
        def choose() -> int:
            versions = open_index(settings_in_airflow())
            if (done := promoted_since_trigger(versions)) is not None:
                log.info("Version %d went live after this run was triggered, so nothing is rolled back.", done)
                return done
            return versions.previous()

        @task(doc_md="Makes that version live; does nothing if it is.")
        def roll_back(number: int) -> int:
            versions = open_index(settings_in_airflow())
            if versions.one(number).role == "live":
                log.info("Version %d is live.", number)
                return number
            if (other := promoted_since_trigger(versions)) is not None:
                raise GateError(
                    f"Version {other} went live after this run was triggered; nothing was changed.",
                    remedy="To go back from there, trigger rollback_version again.",
                )
            versions.rollback(number)
            log.info("Version %d is live again.", number)
            return number

        @task(doc_md="Writes what the version lacks, after the flip, which doesn't wait for it.", pool=index_pool())
        def catch_up(number: int) -> int:
            versions = open_index(settings_in_airflow())
            if behind := versions.one(number).behind:
                report = versions.build(number)
                log.info("It was behind by %d documents; %d were written.", behind, report.documents)
            return number

        target: Any = choose()
        number: Any = roll_back(target)
        caught_up: Any = catch_up(number)
        settings_fit(caught_up)
    return dag


def make_prune_dag() -> DAG:
    """Make the DAG `prune_versions`, with a form for the numbers."""
    numbers = Param(
        None,
        type=["string", "null"],
        pattern=r"^[0-9, ]*$",
        title="Versions",
        description="Numbers separated by commas. Blank: former live versions except the last.",
    )
    with DAG(
        dag_id="prune_versions",
        dag_display_name="Prune versions of the index",
        description="Remove versions of the index for good",
        params={"versions": numbers},
        doc_md=PRUNE_HELP,
        **dag_arguments(),
    ) as dag:

        @task(doc_md="Removes the versions and returns their numbers; skipped when there was nothing to remove.")
        def prune() -> list[int]:
            params: Any = get_current_context()["params"]
            versions = open_index(settings_in_airflow())
            gone = versions.prune([int(number) for number in re.findall(r"\d+", params["versions"] or "")])
            for status in versions.all():
                log.info("Kept: version %d (%s).", status.version.number, status.role)
            if not gone:
                raise AirflowSkipException("There was nothing to remove.")
            log.info("Removed: %s.", ", ".join(map(str, gone)))
            return gone

        prune()
    return dag
