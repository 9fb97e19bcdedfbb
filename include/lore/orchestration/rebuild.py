"""The DAG `rebuild`: a version of the index is built beside the live one, judged, approved if wished, and made live.

    prepare → build, once for each share of the documents → finish → judge → approve → promote → settings_fit

What the tasks do is in `IndexVersions`, as for `lore index`; XCom carries numbers, reports and a verdict cut short.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from airflow.sdk import DAG, Param, get_current_context, task

from lore.orchestration.dag_factory import INDEX_TASKS_AT_ONCE, index_pool
from lore.orchestration.promotion import judge_and_promote, judge_params, require_judge
from lore.orchestration.version_tasks import dag_arguments, log_progress, open_index, settings_of_run

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
    """The DAG `rebuild`, with a form for what is to be different."""
    with DAG(
        dag_id="rebuild",
        dag_display_name="Rebuild the index",
        description="Build another version of the index beside the live one, judge it and promote it",
        params=_recipe_params() | judge_params(),
        doc_md=HELP,
        **dag_arguments(),
    ) as dag:

        @task(doc_md="Makes the version, or finds the one begun; returns the shares in which it is built.")
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
            doc_md="Splits, embeds and stores a share of the documents. Tried again, it goes on where it stopped.",
            pool=index_pool(),
            max_active_tis_per_dag=INDEX_TASKS_AT_ONCE,
            multiple_outputs=False,
        )
        def build(share: Mapping[str, int]) -> dict[str, Any]:
            part = (share["part"], share["of"])
            report = open_index().build(share["version"], part=part, listener=log_progress("documents written"))
            log.info("%d documents, %d of %d passages embedded", report.documents, report.embedded_texts, report.chunks)
            return report.to_json()

        @task(
            doc_md="Takes in what was synced meanwhile, compares the counts, and declares it ready.", pool=index_pool()
        )
        def finish(number: int, reports: Iterable[Mapping[str, Any]]) -> int:
            standing = open_index().finish(number)
            written = sum(report["documents"] for report in reports)
            log.info("%d documents written; it holds %d.", written, standing.counts.documents)
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
            description='"local" or "openai:MODEL". Blank: LORE_EMBEDDER.',
        ),
        "chunk_characters": Param(
            None,
            type=["integer", "null"],
            minimum=200,
            title="Characters of a passage",
            description="At most so many. Blank: LORE_CHUNK_CHARACTERS, or else what the embedder reads.",
        ),
        "new": Param(
            False,
            type="boolean",
            title="One more, even if there is one like it",
            description="Otherwise a version that these settings would make, and that is not live, is gone on with.",
        ),
        "workers": Param(
            4,
            type="integer",
            minimum=1,
            maximum=64,
            title="Shares",
            description="Tasks that build a part of it each. Airflow's pool says how many run at once.",
        ),
    }
