"""The DAG `retire_source`: removes sources from the index whose declarations were deleted, after approval.

find → approve → remove
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException

from lore.errors import ConfigurationError
from lore.orchestration.connections import settings_in_airflow
from lore.orchestration.dag_factory import index_pool, scheduler_name, shared_embedder
from lore.orchestration.version_tasks import dag_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lore.settings import Settings

__all__ = ["make_retire_dag"]

log = logging.getLogger(__name__)

HELP = """
Documents of a source stay answerable after its declaration was deleted. Once a day this DAG looks for such sources; if
there are any, it waits under **Required Actions** until somebody approves their removal or rejects it.

To ask for one source at once, press **Trigger** and name it. Rejected, everything stays; the next day asks again.
"""


def make_retire_dag() -> DAG:
    """Make the DAG `retire_source`, with a form for the id of a source."""
    source = Param(
        None,
        type=["string", "null"],
        title="Source",
        description="Id of a source that is no longer declared. Blank: all of them.",
    )
    with DAG(
        dag_id="retire_source",
        dag_display_name="Retire sources",
        description="Remove sources from the index that are no longer declared, after approval",
        params={"source": source},
        doc_md=HELP,
        **dag_arguments() | {"schedule": "@daily", "tags": ["lore", "sources"]},
    ) as dag:

        @task(doc_md="Finds sources in the index that no declaration names; skipped when there are none.")
        def find() -> list[str]:
            context = get_current_context()
            counts = _undeclared(settings_in_airflow(), context["params"]["source"])
            if not counts:
                raise AirflowSkipException("Every source in the index is declared.")
            context["ti"].xcom_push(key="report", value=_page(counts))
            return list(counts)

        @task(
            doc_md="Removes the sources, unless they were declared again meanwhile. Safe to repeat.", pool=index_pool()
        )
        def remove(source_ids: Sequence[str]) -> None:
            from lore.ingest.removal import remove_source
            from lore.wiring.records import make_source_leases

            settings = settings_in_airflow()
            declared = _declared(settings)
            for source_id in source_ids:
                if source_id in declared:
                    log.warning("%s is declared again, so it stays.", source_id)
                    continue
                removed = remove_source(
                    _store(settings),
                    source_id,
                    staging_uri=settings.ingest.staging_uri,
                    leases=make_source_leases(settings, scheduler=scheduler_name()),
                )
                log.info("Removed %s: %d documents.", source_id, removed)

        found: Any = find()
        approve = ApprovalOperator(
            task_id="approve",
            doc_md="Waits for a person. Rejected, the sources stay.",
            subject="Remove these sources from the index?",
            body=found["report"],
        )
        found >> approve >> remove(found)
    return dag


def _declared(settings: Settings) -> frozenset[str]:
    """Return the ids of the declared sources.

    Raises ConfigurationError if a declaration is broken: its source may be one that seems to be no longer declared.
    """
    from lore.declarations import load_declarations

    declarations = load_declarations(settings.project.sources_dir)
    if declarations.broken:
        raise ConfigurationError(
            f"Couldn't tell which sources are declared: {declarations.broken[0].message}",
            remedy="Correct the declarations that the import error of broken_declarations.py names.",
        )
    return frozenset(declaration.id for declaration in declarations.valid)


def _undeclared(settings: Settings, source_id: str | None) -> Mapping[str, int]:
    """Return the number of documents of each source that is no longer declared, or of the one that is asked for."""
    declared = _declared(settings)
    store = _store(settings)
    held = sorted(store.states())
    if source_id and source_id in declared:
        raise ConfigurationError(
            f"The source {source_id!r} is declared.",
            remedy="Delete its declaration first; otherwise its next sync indexes it again.",
        )
    if source_id and source_id not in held:
        undeclared = ", ".join(name for name in held if name not in declared) or "none"
        raise ConfigurationError(
            f"The index holds no source {source_id!r}.", remedy=f"No longer declared are: {undeclared}."
        )
    chosen = [source_id] if source_id else [name for name in held if name not in declared]
    return {name: store.count(name).documents for name in chosen}


def _store(settings: Settings) -> Any:
    from lore.wiring.stores import make_splitter, open_store

    embedder = shared_embedder(settings)
    return open_store(settings, embedder, make_splitter(settings, embedder))


def _page(counts: Mapping[str, int]) -> str:
    """Return the approval page as Markdown. Ids of sources hold nothing that Markdown reads."""
    rows = "\n".join(f"| `{source_id}` | {documents:,} |" for source_id, documents in counts.items())
    return (
        "No declaration names these sources any more, and questions are still answered from their documents.\n\n"
        f"| source | documents |\n| --- | --- |\n{rows}\n\n"
        "**Approve** removes their documents for good. **Reject** leaves them as they are.\n"
    )
