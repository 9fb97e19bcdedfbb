"""The DAG files as Airflow sees them, and real runs of them in this process."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from lore.errors import ConfigurationError, LoreError, ModelError, SourceError
from lore.types import Answer, Citation, Plan, Question, Trace

from .conftest import Project

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.xdist_group("airflow")


def rows(model: str, *names: str) -> list[tuple[Any, ...]]:
    """Columns of one of Airflow's tables."""
    from airflow.utils.session import create_session
    from sqlalchemy import text

    with create_session() as session:
        return [tuple(row) for row in session.execute(text(f"select {', '.join(names)} from {model}"))]


def test_every_declaration_is_a_dag_and_a_broken_one_takes_no_other_down(project: Project) -> None:
    ingest = ["ingest_notes", "ingest_oversize", "ingest_partly"]
    versions = ["promote_version", "prune_versions", "rebuild", "rollback_version"]
    others = ["ask", "ask_database", "evaluate", "retire_source"]
    assert project.airflow.dag_ids == sorted([*others, *ingest, *versions])


def test_broken_declarations_are_an_import_error_of_their_own_file(project: Project) -> None:
    assert list(project.airflow.import_errors) == ["broken_declarations.py"]
    text = project.airflow.import_errors["broken_declarations.py"]
    assert "misspelt.yaml, line 3: unknown key `shedule`" in text
    assert "Did you mean `schedule`?" in text
    assert "misspelt.yaml, line 1: unknown key `url_varible`" in text
    assert "'long_tag'" in text
    assert "100 characters" in text


def test_the_dag_says_what_its_declaration_says(project: Project) -> None:
    dag = project.airflow.dag("ingest_notes")
    assert dag.schedule.expression == "30 4 * * *"
    assert dag.allowed_run_types is not None
    assert "backfill" not in {kind.value for kind in dag.allowed_run_types}
    assert (dag.catchup, dag.max_active_runs) == (False, 1)
    assert dag.owner == "platform"
    assert {"handbook", "files", "lore", "ingest"} <= set(dag.tags)
    assert "https://notes.example.com" in (dag.doc_md or "")
    assert project.airflow.dag("ingest_oversize").schedule is None


def test_the_steps_hang_together(project: Project) -> None:
    from airflow.sdk.definitions.mappedoperator import MappedOperator

    dag = project.airflow.dag("ingest_notes")
    assert {task.task_id: sorted(task.downstream_task_ids) for task in dag.tasks} == {
        "extract": ["index", "reconcile"],
        "index": ["reconcile"],
        "reconcile": ["all_documents_indexed"],
        "all_documents_indexed": [],
    }
    assert isinstance(dag.get_task("index"), MappedOperator)
    reconcile = dag.get_task("reconcile")
    assert reconcile.trigger_rule == "none_failed"
    assert [alias.name for alias in reconcile.outlets] == ["changes_of_notes"]
    for task_id in ("extract", "index", "reconcile"):
        task = dag.get_task(task_id)
        assert task.retry_exponential_backoff
        assert task.retry_policy is not None


def test_an_ingestion_indexes_and_a_second_one_changes_nothing(project: Project) -> None:
    first = project.airflow.run("ingest_notes")
    assert first.succeeded, first.errors
    assert first.tasks["index[0]"] == "success"
    assert all(isinstance(path, str) for path in first.value("extract"))
    report = first.value("reconcile")
    assert (report["status"], report["new"], report["failures"]) == ("ok", 2, [])
    second = project.airflow.run("ingest_notes").value("reconcile")
    assert (second["new"], second["unchanged"], second["embedding_calls"]) == (0, 2, 0)


@pytest.mark.parametrize("schedule", ["@hourly", "@daily", "30 4 * * *"])
def test_a_source_that_is_triggered_first_has_no_scheduled_run_beside_it(project: Project, schedule: str) -> None:
    from airflow.serialization.serialized_objects import DagSerialization
    from lore.declarations.files import FilesDeclaration
    from lore.orchestration.dag_factory import make_ingest_dag

    dag = make_ingest_dag(FilesDeclaration(kind="files", id="new", path=project.folder, schedule=schedule))
    scheduled = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    first = scheduled.next_dagrun_info(last_automated_run_info=None)
    assert first is not None
    assert first.run_after >= datetime.now(UTC)


def test_a_sync_that_changed_the_index_leaves_an_asset_event_with_its_report(project: Project) -> None:
    (project.folder / "notes" / "new.md").write_text(f"# New\n\n{uuid4()}\n")
    run = project.airflow.run("ingest_notes")
    again = project.airflow.run("ingest_notes")
    (project.folder / "notes" / "new.md").unlink()
    removed = project.airflow.run("ingest_notes")
    events = dict(rows("asset_event", "source_run_id", "extra"))
    assert json.loads(events[run.run_id]) == run.value("reconcile")
    assert json.loads(events[removed.run_id])["removed"] == 1
    assert again.run_id not in events
    assert ("lore://index/notes",) in rows("asset", "uri")


def test_an_evaluation_has_nothing_to_score_after_syncs_that_changed_nothing(project: Project) -> None:
    from lore.orchestration.evaluate import has_changes

    unchanged = project.airflow.run("ingest_oversize").value("reconcile")
    by_hand: dict[str, Any] = {}

    def changes(*extras: dict[str, Any]) -> bool:
        return has_changes({"triggering_asset_events": {"asset": [SimpleNamespace(extra=extra) for extra in extras]}})

    assert has_changes({"triggering_asset_events": {}})
    assert not changes(unchanged, unchanged)
    assert changes(unchanged, {**unchanged, "removed": 1})
    assert changes(by_hand)


@pytest.mark.slow
def test_with_nothing_to_index_the_run_is_reconciled_all_the_same(project: Project) -> None:
    run = project.airflow.run("ingest_oversize")
    assert run.succeeded, run.errors
    assert run.value("extract") == []
    assert (run.tasks["index"], run.tasks["reconcile"]) == ("skipped", "success")
    assert run.value("reconcile")["status"] == "warning"
    assert run.tasks["all_documents_indexed"] == "skipped"


def test_a_document_that_fails_alone_leaves_a_skipped_task_that_says_so(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="lore.orchestration.dag_factory")
    run = project.airflow.run("ingest_partly")
    assert run.succeeded, run.errors
    assert run.tasks["all_documents_indexed"] == "skipped"
    report = run.value("reconcile")
    assert report["status"] == "warning"
    assert [failure["document_id"] for failure in report["failures"]] == ["partly:bad.ipynb"]
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [line.count("partly:bad.ipynb") for line in said if "bad.ipynb" in line] == [1]


def test_a_shard_that_fails_fails_the_run_and_nothing_is_reconciled(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LORE_LOCAL_MODEL_DIR", str(project.folder / "no-model-here"))
    monkeypatch.setenv("LORE_INDEX_URI", str(project.folder / "another-index"))
    run = project.airflow.run("ingest_notes")
    assert run.state == "failed"
    assert run.tasks["index[0]"] == "failed"
    assert run.tasks["reconcile"] == run.tasks["all_documents_indexed"] == "upstream_failed"
    assert isinstance(run.errors["index[0]"], LoreError)
    assert run.run_id not in [run_id for (run_id,) in rows("asset_event", "source_run_id")]
    with pytest.raises(LoreError):
        run.value("reconcile")


def test_tasks_with_indexes_of_their_own_are_told_which_setting_is_missing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LORE_INDEX_URI", str(project.folder / "index-of-one-machine"))
    index = project.airflow.dag("ingest_notes").get_task("index").partial_kwargs
    monkeypatch.setitem(
        index,
        "on_success_callback",
        [lambda _: monkeypatch.setenv("LORE_INDEX_URI", str(project.folder / "index-of-another"))],
    )
    run = project.airflow.run("ingest_notes")
    error = run.errors["reconcile"]
    assert isinstance(error, ConfigurationError) and not error.retryable
    assert "LORE_INDEX_URI" in str(error) and "index-of-another" in str(error)


def test_a_question_to_an_undeclared_source_fails(project: Project) -> None:
    run = project.airflow.run("ask", {"question": "How often is the signing key rotated?", "sources": ["ntoes"]})
    assert "No source 'ntoes' is declared" in str(run.errors["answer"]) and "notes" in str(run.errors["answer"])


def test_ask_answers_with_citations_and_a_button_for_the_answer(project: Project) -> None:
    project.airflow.run("ingest_notes")
    run = project.airflow.run("ask", {"question": "How often is the signing key rotated?", "sources": ["notes"]})
    assert run.succeeded, run.errors
    answer = run.value("answer")
    assert "ninety days" in answer["answer"]
    first = answer["citations"][0]
    assert (first["number"], first["url"]) == (1, "https://notes.example.com/keys")
    xcoms = {key: value for run_id, key, value in rows("xcom", "run_id", "key", "value") if run_id == run.run_id}
    assert xcoms.keys() == {"return_value", "_link_answer"}
    assert json.loads(xcoms["_link_answer"]).endswith(f"/lore/a/{answer['id']}")


def test_the_log_of_an_answer_has_short_lines_and_every_address_on_one_of_its_own(project: Project) -> None:
    from lore.orchestration.ask import answer_lines

    citation = Citation(1, "notes:a", "c1", "notes", "https://notes.example.com/a", "A", ("B",), "quote")
    code = "```\n" + "x = 1; " * 30 + "\n```"
    text = f"> {'a passage of many words ' * 20}[1]\n\n{code}\n"
    lines = list(answer_lines(Answer(Question("Why?"), text, (citation,), True, Trace(Plan("Why?", ("Why?",))))))
    quoted = [line for line in lines if line.startswith("> ")]
    assert len(quoted) > 3
    assert all(len(line) <= 110 for line in quoted)
    assert "x = 1; " * 30 in lines
    assert lines[-2:] == ["[1] A > B", "    https://notes.example.com/a"]


def test_ask_refuses_an_empty_question(project: Project) -> None:
    from airflow.sdk.exceptions import ParamValidationError

    params = project.airflow.dag("ask").params
    with pytest.raises(ParamValidationError):
        params.get_param("question").resolve("")
    assert params.get_param("sources").resolve(None) is None
    assert {"notes", "oversize", "partly"} <= set(params.get_param("sources").schema["examples"])


def test_the_dags_stay_live_in_the_database_beside_the_import_error(project: Project) -> None:
    project.airflow.run("ingest_oversize")
    live = {dag_id: (stale, errors) for dag_id, stale, errors in rows("dag", "dag_id", "is_stale", "has_import_errors")}
    assert live["ingest_notes"] == live["ask"] == (0, 0)
    assert rows("import_error", "filename") == [("broken_declarations.py",)]


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (ConfigurationError("wrong"), "fail"),
        (SourceError("refused"), "fail"),
        (ModelError("busy", retryable=True), "default"),
        (RuntimeError("who knows"), "default"),
    ],
)
def test_only_what_may_pass_is_tried_again(project: Project, error: Exception, action: str) -> None:
    from lore.orchestration.retries import LoreRetryPolicy

    assert LoreRetryPolicy().evaluate(error, 1, 3).action.value == action


def test_an_unknown_dag_is_a_clear_error(project: Project) -> None:
    with pytest.raises(ConfigurationError, match=r"(?s)no DAG 'ingest_misspelt'.*unknown key"):
        project.airflow.run("ingest_misspelt")
