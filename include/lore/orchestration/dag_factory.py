"""From a declaration to its ingestion DAG: extract → index, once for each shard → reconcile → all_documents_indexed.

Parsing a DAG file must be quick, so everything heavy (the store, the models) is imported inside the tasks. XCom carries
paths of shards and small reports, never documents.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow import settings as airflow_settings
from airflow.configuration import conf
from airflow.sdk import DAG, Asset, AssetAlias, CronTriggerTimetable, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException
from airflow.sdk.types import RuntimeTaskInstanceProtocol

from lore.declarations import Declaration, load_declarations
from lore.errors import ConfigurationError, DeclarationError, StagedFileError
from lore.orchestration.connections import settings_in_airflow
from lore.orchestration.progress import LoggedProgress
from lore.orchestration.retries import RETRIES

if TYPE_CHECKING:
    from lore.ingest.sync import Sync
    from lore.protocols import Embedder
    from lore.settings import Settings

__all__ = [
    "IngestDags",
    "index_asset",
    "index_pool",
    "make_ingest_dag",
    "make_ingest_dags",
    "scheduler_name",
    "shared_embedder",
]

log = logging.getLogger(__name__)

INDEX_TASKS_AT_ONCE = 4
"""Mapped index tasks of one DAG that run at once; each of them holds an embedder."""
DUPLICATES_SHOWN = 20
FAILURES_SHOWN = 20
RUN_TYPES: Any = ("scheduled", "manual", "operator_triggered", "asset_triggered", "asset_materialization")
"""All but backfills, which would sync the present documents once for each day."""
"""Failed documents named in an asset event; the store and the task's log have all of them."""


@dataclass(frozen=True, slots=True)
class IngestDags:
    """The DAGs of a folder of declarations, and an error for each file that gives none."""

    dags: tuple[DAG, ...]
    broken: tuple[DeclarationError, ...]


def make_ingest_dags(folder: Path) -> IngestDags:
    """Make a DAG for each declaration in the folder. Raises ConfigurationError if there is no such folder."""
    declarations = load_declarations(folder)
    dags: list[DAG] = []
    broken = list(declarations.broken)
    for declaration in declarations.valid:
        try:
            dag = make_ingest_dag(declaration)
            dag.validate()  # type: ignore[no-untyped-call]
            dags.append(dag)
        except Exception as error:  # Airflow's own limits, such as the length of a tag; the others must load
            broken.append(
                DeclarationError(
                    f"{folder}, declaration {declaration.id!r}: Airflow takes no such DAG: {error}.",
                    remedy="Change the key that the message names.",
                )
            )
    return IngestDags(tuple(dags), tuple(broken))


def index_asset(source_id: str) -> Asset:
    """Return the asset for a source's passages in the index: DAGs scheduled on it run after a sync that changed it.

    Its `extra` has the address of the source on the page about the index.
    """
    address = conf.get("api", "base_url", fallback="").rstrip("/")
    extra: dict[str, Any] = {"page": f"{address}/lore/index#source-{source_id}"} if address else {}
    return Asset(name=f"lore_{source_id}", uri=f"lore://index/{source_id}", group="lore", extra=extra)


def index_pool() -> str:
    """Return the pool that limits the tasks which hold an embedder and write to the index."""
    pool: str = conf.get("lore", "index_pool", fallback="default_pool")
    return pool


def scheduler_name() -> str:
    """Return the name of this Airflow, for the leases on sources."""
    return f"airflow {conf.get('api', 'base_url', fallback='')}"


def make_ingest_dag(declaration: Declaration) -> DAG:
    """Make the DAG `ingest_<id>`: one run at a time, no catch-up or backfill, retries with growing pauses."""
    asset = index_asset(declaration.id)
    changed = AssetAlias(f"changes_of_{declaration.id}")
    with DAG(
        dag_id=f"ingest_{declaration.id}",
        dag_display_name=f"Ingest {declaration.title}",
        description=declaration.description or f"Bring the index up to date with {declaration.title}",
        schedule=_timetable(declaration.schedule),
        catchup=False,
        max_active_runs=1,
        allowed_run_types=RUN_TYPES,
        tags=sorted({"lore", "ingest", declaration.kind, *declaration.tags}),
        doc_md=_describe(declaration),
        default_args={"owner": declaration.owner, **RETRIES},
        auto_register=False,  # a DAG belongs to the file that names it, not to every file that makes one
    ) as dag:

        @task(
            doc_md="Reads what changed in the source and stages it as compressed shards; returns their paths.",
            show_return_value_in_logs=False,
        )
        def extract() -> list[str]:
            context = get_current_context()
            sync = _sync(declaration)
            _instance(context).xcom_push(key="index", value=_index_versions())
            extraction = sync.extract(context["run_id"], progress=LoggedProgress(log))
            _instance(context).xcom_push(key="extraction", value=extraction)
            shards = list(sync.shards(extraction))
            log.info("Staged %d shards in %s", len(shards), extraction)
            return shards

        @task(
            doc_md="Converts, splits, embeds and stores the documents of one shard. Safe to repeat.",
            pool=index_pool(),
            max_active_tis_per_dag=INDEX_TASKS_AT_ONCE,
            show_return_value_in_logs=False,
        )
        def index(shard: str, extracted: list[str] | None) -> dict[str, Any]:
            _require_same_index(extracted)
            with _staged():
                report = _sync(declaration).index(shard, progress=LoggedProgress(log))
            log.info(
                "%d documents: %d new, %d changed, %d unchanged, %d failed; %d chunks in %.1f s",
                *(report.documents, report.new, report.changed, report.unchanged, len(report.failures)),
                *(report.chunks, report.seconds),
            )
            log.debug("Written: %s", ", ".join(report.indexed))
            return _plain(report.to_json()) | {"index": _index_versions()}

        # none_failed: with nothing changed there are no shards and `index` is skipped, yet deletions must be seen;
        # after a shard that failed the source is not as it was read, and nothing may be removed or called done.
        @task(
            doc_md="Removes what the source no longer has, reads the counts back and moves the cursor.",
            trigger_rule="none_failed",
            outlets=[changed],
            show_return_value_in_logs=False,
        )
        def reconcile(
            extraction: str, reports: Iterable[Mapping[str, Any]] | None, extracted: list[str] | None
        ) -> dict[str, Any]:
            from lore.ingest.report import ShardReport

            _require_same_index(extracted)
            shard_reports = []
            for shard in reports or ():
                _require_same_index(shard.get("index"))
                shard_reports.append(ShardReport.from_json({key: shard[key] for key in shard if key != "index"}))
            with _staged():
                report = _sync(declaration).reconcile(extraction, shard_reports, progress=LoggedProgress(log))
            log.info(report.summary())
            for line in report.duplicates.lines(DUPLICATES_SHOWN):
                log.info(line)
            result = _plain(report.to_json())
            duplicates = {**result["duplicates"], "named": result["duplicates"]["named"][:DUPLICATES_SHOWN]}
            shown = {**result, "failures": result["failures"][:FAILURES_SHOWN], "duplicates": duplicates}
            if report.changes:  # what is scheduled on the asset has nothing to do otherwise
                get_current_context()["outlet_events"][changed].add(asset, extra=shown)
            return result

        @task(
            doc_md="Green when every document was indexed. Skipped, with the names in its log, when some were not: "
            "they are tried again in the next run.",
            retries=0,
        )
        def all_documents_indexed(report: Mapping[str, Any]) -> None:
            from lore.ingest.finish.reconcile import describe_failure
            from lore.types import Failure

            if report["status"] == "ok":
                return
            for failure in report["failures"]:
                log.warning(describe_failure(Failure(**failure)))
            raise AirflowSkipException(f"{len(report['failures'])} documents could not be indexed; see the lines above")

        shards: Any = extract()  # from here on the calls give references to XComs, not the values
        reports: Any = index.partial(extracted=shards["index"]).expand(shard=shards)
        report: Any = reconcile(shards["extraction"], reports, shards["index"])
        all_documents_indexed(report)
    return dag


@lru_cache(maxsize=1)
def shared_embedder(settings: Settings) -> Embedder:
    """Return the process's embedder: a process that runs many tasks loads the model once."""
    from lore.wiring.models import make_embedder

    return make_embedder(settings)


def _sync(declaration: Declaration) -> Sync:
    from lore.wiring.ingest import make_sync

    settings = settings_in_airflow()
    return make_sync(declaration, settings, embedder=shared_embedder(settings), scheduler=scheduler_name())


def _index_versions() -> list[str]:
    """Return what identifies the index of this worker: when each of its versions was made; nothing before that."""
    from lore.wiring.stores import open_versions

    return [version.created_at.isoformat() for version in open_versions(settings_in_airflow()).all()]


def _require_same_index(versions: Collection[str] | None) -> None:
    """Raise ConfigurationError if another task of the run used an index that has none of this worker's versions."""
    if not versions or not set(versions).isdisjoint(_index_versions()):
        return
    settings = settings_in_airflow()
    named, remedy = "LORE_WEAVIATE_URL", "Set it to the same server on every worker."
    if settings.index.store != "weaviate":
        named = f"LORE_INDEX_URI, which is {Path(settings.index.index_uri).absolute()} here,"
        remedy = "Set it to a folder that all workers share, or use LORE_STORE=weaviate. Then trigger the DAG again."
    raise ConfigurationError(f"The tasks of this run use different indexes: {named} isn't the same.", remedy=remedy)


def _timetable(schedule: str | None) -> CronTriggerTimetable | str | None:
    """Return the schedule, whose first run waits for its time: beside it a triggered one would be the second."""
    if schedule is None or schedule == "@once":
        return schedule
    return CronTriggerTimetable(schedule, timezone=airflow_settings.TIMEZONE, run_immediately=timedelta())


@contextmanager
def _staged() -> Iterator[None]:
    """Tell what to clear in Airflow where a staged file can't be read."""
    try:
        yield
    except StagedFileError as error:
        remedy = "Clear the task `extract` of this run with its downstream tasks: it stages the documents anew."
        if error.missing:
            remedy += (
                " If the run hasn't ended before, its tasks run on several machines: set LORE_STAGING_URI to a place "
                "that all of them reach."
            )
        raise StagedFileError(error.message, remedy=remedy, missing=error.missing) from None


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return lists for tuples: Airflow would wrap a tuple in the name of its class, which other readers can't use."""
    plain: dict[str, Any] = json.loads(json.dumps(values))
    return plain


def _instance(context: Any) -> RuntimeTaskInstanceProtocol:
    instance: RuntimeTaskInstanceProtocol = context["ti"]
    return instance


def _describe(declaration: Declaration) -> str:
    """Describe the declaration as Markdown. It contains no secrets: declarations hold none, and addresses no user
    names.
    """
    values = declaration.model_dump(mode="json", exclude_defaults=True, exclude={"title", "description"})
    rows = [f"| {name} | {_cell(value)} |" for name, value in values.items()]
    head = f"# {declaration.title}\n\n{declaration.description}".strip()
    table = "\n".join(["| key | value |", "| --- | --- |", f"| kind | {declaration.kind} |", *rows])
    foot = "A run that left documents out ends with `all_documents_indexed` skipped; its log names them."
    return f"{head}\n\n{table}\n\n{foot}"


def _cell(value: object) -> str:
    text = ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)
    return "`" + " ".join(text.replace("|", "\\|").replace("`", "'").split()) + "`"
