"""The DAG `rebuild`: builds a version of the index beside the live one, judges it, and makes it live after approval.

    prepare → build, once for each share of the documents → finish → judge → approve → promote → settings_fit

The tasks call `IndexVersions`, as `lore index` does; XCom carries numbers, reports and an abridged verdict.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from airflow.sdk import DAG, Param, get_current_context, task

from lore.orchestration.dag_factory import INDEX_TASKS_AT_ONCE, index_pool
from lore.orchestration.progress import LoggedProgress
from lore.orchestration.promotion import judge_and_promote, judge_params, require_judge
from lore.orchestration.version_tasks import dag_arguments, open_index, settings_of_run

__all__ = ["make_rebuild_dag"]

log = logging.getLogger(__name__)

HELP = """
Builds another version of the index beside the live one, from the documents that are kept: no source is asked.
Questions are answered from the live version meanwhile, and syncs write to both.

1. Press **Trigger** and say what is to be different. What is blank is as the deployment's settings say.
2. `judge` compares the new version with the live one by the question set; its log is the report.
3. If a person is to be asked, the run waits at `approve`: open its tab **Required Action** and approve or reject.
   Rejected, nothing changes, and the last tasks are skipped. Otherwise the gate decides, and a version that it does not
   accept fails the task `promote`.
4. `settings_fit` is skipped when the deployment's settings are not those of the version that is live now; its log says
   which to set.

A run that failed or was stopped may be cleared, or triggered anew with the same values: documents that are done are not
done again. `rollback_version` undoes a promotion.
"""


def make_rebuild_dag() -> DAG:
    """Make the DAG `rebuild`, with a form for the settings of the new version."""
    with DAG(
        dag_id="rebuild",
        dag_display_name="Rebuild the index",
        description="Build another version of the index beside the live one, judge it and promote it",
        params=_recipe_params() | judge_params(),
        doc_md=HELP,
        **dag_arguments(),
    ) as dag:

        @task(doc_md="Makes the version, or resumes one; returns the shares in which it is built.")
        def prepare() -> list[dict[str, int]]:
            context = get_current_context()
            params = context["params"]
            settings = settings_of_run(params)
            require_judge(settings, params)
            version = open_index(settings).prepare(new=params["new"])
            log.info("Version %d: %s, %s.", version.number, version.recipe.splitter, version.recipe.embedder)
            context["ti"].xcom_push(key="version", value=version.number)
            shares = params["workers"]
            return [{"version": version.number, "part": part, "of": shares} for part in range(shares)]

        @task(
            doc_md="Splits, embeds and stores a share of the documents. A retry resumes where it stopped.",
            pool=index_pool(),
            max_active_tis_per_dag=INDEX_TASKS_AT_ONCE,
            multiple_outputs=False,
        )
        def build(share: Mapping[str, int]) -> dict[str, Any]:
            part = (share["part"], share["of"])
            report = open_index().build(
                share["version"], part=part, listener=LoggedProgress(log).counts("documents written")
            )
            log.info("%d documents, %d of %d passages embedded", report.documents, report.embedded_texts, report.chunks)
            return report.to_json()

        @task(
            doc_md="Adds what was synced meanwhile, compares the counts, and declares the version ready.",
            pool=index_pool(),
        )
        def finish(number: int, reports: Iterable[Mapping[str, Any]]) -> int:
            status = open_index().finish(number)
            written = sum(report["documents"] for report in reports)
            log.info("%d documents written; it holds %d.", written, status.counts.documents)
            return number

        shares: Any = prepare()  # from here on the calls give references to XComs, not the values
        reports: Any = build.expand(share=shares)
        judge_and_promote(finish(shares["version"], reports))
    return dag


def _recipe_params() -> dict[str, Param]:
    return {
        "embedder": Param(
            None,
            type=["string", "null"],
            title="Embedder",
            description='"local", "fastembed:MODEL" or "openai:MODEL". Blank: LORE_EMBEDDER.',
        ),
        "chunk_characters": Param(
            None,
            type=["integer", "null"],
            minimum=200,
            title="Characters of a passage",
            description="Maximum of a passage. Blank: LORE_CHUNK_CHARACTERS, or else the embedder's limit.",
        ),
        "new": Param(
            False,
            type="boolean",
            title="A new version, even if there is one like it",
            description="Otherwise the run resumes a version with these settings that isn't live.",
        ),
        "workers": Param(
            4,
            type="integer",
            minimum=1,
            maximum=64,
            title="Shares",
            description="Number of tasks that build a share each. Airflow's pool limits how many run at once.",
        ),
    }
