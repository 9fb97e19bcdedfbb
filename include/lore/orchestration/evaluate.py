"""The DAG `evaluate`: scores the live version of the index on the question set after a sync."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, AssetAny, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException

from lore.ingest.report import SyncReport
from lore.orchestration.connections import settings_in_airflow
from lore.orchestration.dag_factory import index_asset
from lore.orchestration.progress import LoggedProgress
from lore.orchestration.version_tasks import dag_arguments, open_index

if TYPE_CHECKING:
    from lore.declarations import Declaration

__all__ = ["has_changes", "make_evaluate_dag"]

log = logging.getLogger(__name__)

SYNCED = "source_id"
"""Key of an asset event that a sync emitted; one made by hand lacks it."""

HELP = """
Asks the live version of the index the questions of `LORE_QUESTIONS`, as the gate does, whenever a sync changed a
source; or press **Trigger**. The figures are the task's return value, and `lore index show N` has those of the last
run.

Without a question set the task is skipped. How to write one is in `docs/gate.md`.
"""


def make_evaluate_dag(declarations: Sequence[Declaration] = ()) -> DAG:
    """Make the DAG `evaluate`; a sync of any declared source triggers it."""
    assets = [index_asset(declaration.id) for declaration in declarations]
    arguments = dag_arguments() | {
        "schedule": AssetAny(*assets) if assets else None,
        "is_paused_upon_creation": True,
        "tags": ["evaluate", "lore"],
    }
    with DAG(
        dag_id="evaluate",
        dag_display_name="Evaluate the index",
        description="Score the live version of the index by the question set",
        doc_md=HELP,
        **arguments,
    ) as dag:

        @task(
            doc_md="nDCG@10, MRR@10 and recall of the live version; skipped without a question set or a change.",
            multiple_outputs=False,
        )
        def score() -> dict[str, Any]:
            settings = settings_in_airflow()
            if settings.evaluation.questions is None:
                raise AirflowSkipException(
                    "No question set is configured. Set LORE_QUESTIONS; docs/gate.md explains how to write one."
                )
            if not has_changes(dict(get_current_context())):
                raise AirflowSkipException("The syncs that triggered this run changed nothing in the index.")
            scored = open_index(settings).score(listener=LoggedProgress(log).counts("questions asked"))
            figures = scored.figures
            log.info(
                "Version %d by %d questions of %s: nDCG@10 %.3f, MRR@10 %.3f, recall %.3f, %.1f ms a question (p50).",
                scored.version,
                scored.questions,
                scored.question_set,
                figures.ndcg_at_10,
                figures.mrr_at_10,
                figures.recall,
                figures.ms_p50,
            )
            return asdict(scored)

        score()
    return dag


def has_changes(context: Mapping[str, Any]) -> bool:
    """Return False if the run was triggered by syncs, and each of them reports that it changed nothing."""
    extras = [event.extra for events in context["triggering_asset_events"].values() for event in events]
    return not extras or any(SYNCED not in extra or SyncReport.from_json(extra).changes for extra in extras)
