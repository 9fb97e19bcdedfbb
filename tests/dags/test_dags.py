"""The DAG files as Airflow sees them, and real runs of them in this process."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from lore.errors import ConfigurationError, LoreError, ModelError, SourceError
from lore.types import Answer, Citation, Plan, Question, Trace
from pydantic import SecretStr

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
    assert project.airflow.dag_ids == sorted(["ask", "evaluate", *ingest, *versions])


def test_broken_declarations_are_an_import_error_of_their_own_file(project: Project) -> None:
    assert list(project.airflow.import_errors) == ["broken_declarations.py"]
    text = project.airflow.import_errors["broken_declarations.py"]
    assert "misspelt.yaml, line 3: unknown key `shedule`" in text
    assert "Did you mean `schedule`?" in text
    assert "'long_tag'" in text
    assert "100 characters" in text


def test_the_dag_says_what_its_declaration_says(project: Project) -> None:
    dag = project.airflow.dag("ingest_notes")
    assert dag.schedule == "30 4 * * *"
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
    assert [asset.uri for asset in reconcile.outlets] == ["lore://index/notes"]
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


def test_a_run_that_succeeded_leaves_an_asset_event_with_its_report(project: Project) -> None:
    run = project.airflow.run("ingest_notes")
    [extra] = [extra for run_id, extra in rows("asset_event", "source_run_id", "extra") if run_id == run.run_id]
    assert json.loads(extra) == run.value("reconcile")


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


def test_ask_answers_with_citations_and_buttons_for_them(project: Project) -> None:
    project.airflow.run("ingest_notes")
    run = project.airflow.run("ask", {"question": "How often is the signing key rotated?", "sources": ["notes"]})
    assert run.succeeded, run.errors
    answer = run.value("answer")
    assert "ninety days" in answer["answer"]
    first = answer["citations"][0]
    assert (first["number"], first["url"]) == (1, "https://notes.example.com/keys")
    links = {key: value for run_id, key, value in rows("xcom", "run_id", "key", "value") if run_id == run.run_id}
    assert json.loads(links["_link_source_1"]) == first["url"]


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


def test_connections_go_before_the_environment(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from lore.orchestration.connections import settings_in_airflow

    monkeypatch.setenv("LORE_OPENAI_API_KEY", "from-environment")
    monkeypatch.setenv("LORE_GITHUB_TOKEN", "token-from-environment")
    monkeypatch.setenv(
        "AIRFLOW_CONN_OPENAI_DEFAULT",
        json.dumps(
            {"conn_type": "generic", "password": "from-airflow", "extra": {"base_url": "http://127.0.0.1:1/v1"}}
        ),
    )
    monkeypatch.setenv("AIRFLOW_CONN_GITHUB_DEFAULT", json.dumps({"conn_type": "generic", "host": "ghe.example.com"}))
    slack = {"conn_type": "slack", "password": "from-slack", "host": "https://not.read.example.com"}
    monkeypatch.setenv("AIRFLOW_CONN_SLACK_API_DEFAULT", json.dumps(slack))
    settings = settings_in_airflow()
    assert settings.slack.token is not None
    assert settings.slack.token.get_secret_value() == "from-slack"
    assert settings.providers.openai_api_key is not None
    assert settings.providers.openai_api_key.get_secret_value() == "from-airflow"
    assert settings.providers.openai_base_url == "http://127.0.0.1:1/v1"
    assert settings.github.token is not None
    assert settings.github.token.get_secret_value() == "token-from-environment"
    assert settings.github.base_url == "https://ghe.example.com"
    assert settings.providers.cohere_api_key is None


@pytest.mark.parametrize(
    ("connection", "expected"),
    [
        (None, ("key-from-environment", "https://from-environment.example.com")),
        ({}, ("key-from-environment", "https://from-environment.example.com")),
        ({"password": "from-airflow"}, ("from-airflow", "https://from-environment.example.com")),
        ({"host": "x.org", "port": 8443}, ("key-from-environment", "https://x.org:8443")),
        (
            {"password": "from-airflow", "extra": {"base_url": "http://127.0.0.1:1/v1"}},
            ("from-airflow", "http://127.0.0.1:1/v1"),
        ),
    ],
)
def test_the_chat_models_own_key_and_address_have_a_connection(
    project: Project, monkeypatch: pytest.MonkeyPatch, connection: dict[str, object] | None, expected: tuple[str, str]
) -> None:
    from lore.orchestration.connections import settings_in_airflow

    monkeypatch.setenv("LORE_CHAT_API_KEY", "key-from-environment")
    monkeypatch.setenv("LORE_CHAT_BASE_URL", "https://from-environment.example.com")
    if connection is not None:
        monkeypatch.setenv("AIRFLOW_CONN_CHAT_DEFAULT", json.dumps({"conn_type": "generic", **connection}))
    settings = settings_in_airflow()
    assert settings.providers.chat_api_key is not None
    assert (settings.providers.chat_api_key.get_secret_value(), settings.providers.chat_base_url) == expected
    assert settings.providers.openai_api_key is None


def test_the_connections_for_the_astro_cli_are_those_that_are_read(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lore.orchestration.connections import settings_in_airflow

    declared = yaml.safe_load((ROOT / "airflow_settings.yaml").read_text())["airflow"]["connections"]
    names = [connection["conn_id"] for connection in declared]
    for name in names:
        password = json.dumps({"conn_type": "generic", "password": f"of {name}"})
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", password)
    secrets = {field: key.get_secret_value() for field, key in settings_in_airflow() if isinstance(key, SecretStr)}
    assert {field: key for field, key in secrets.items() if key.startswith("of ")} == {
        "openai_api_key": "of openai_default",
        "chat_api_key": "of chat_default",
        "cohere_api_key": "of cohere_default",
        "github_token": "of github_default",
        "slack_token": "of slack_api_default",
        "weaviate_api_key": "of weaviate_default",
    }


@pytest.mark.parametrize(
    ("connection", "expected"),
    [
        (
            {"host": "weaviate", "port": 8080, "extra": {"token": "from-token", "grpc_port": "50051"}},
            ("http://weaviate:8080", None, 50051, "from-token"),
        ),
        (
            {"host": "x.org", "password": "from-password", "extra": {"http_secure": True, "grpc_host": "grpc-x.org"}},
            ("https://x.org", "grpc-x.org", None, "from-password"),
        ),
        (
            {"host": "https://x.org", "extra": {"api_key": "from-api-key"}},
            ("https://x.org", None, None, "from-api-key"),
        ),
        ({}, ("http://from-environment:8080", None, None, "key-from-environment")),
    ],
)
def test_the_weaviate_connection_is_read_as_airflows_provider_writes_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, connection: dict[str, object], expected: tuple[object, ...]
) -> None:
    from lore.orchestration.connections import settings_in_airflow

    monkeypatch.setenv("LORE_WEAVIATE_URL", "http://from-environment:8080")
    monkeypatch.setenv("LORE_WEAVIATE_API_KEY", "key-from-environment")
    monkeypatch.setenv("AIRFLOW_CONN_WEAVIATE_DEFAULT", json.dumps({"conn_type": "weaviate", **connection}))
    settings = settings_in_airflow()
    key = settings.weaviate.api_key and settings.weaviate.api_key.get_secret_value()
    assert (settings.weaviate.url, settings.weaviate.grpc_host, settings.weaviate.grpc_port, key) == expected


@pytest.mark.parametrize(
    ("connection", "expected"),
    [
        ({"host": "127.0.0.1", "port": 8080, "schema": "http"}, "http://127.0.0.1:8080"),
        ({"host": "ghe.example.com", "port": 8443}, "https://ghe.example.com:8443"),
        ({"host": "https://ghe.example.com/api/v3"}, "https://ghe.example.com/api/v3"),
        ({"extra": {"base_url": "https://x.org"}}, "https://x.org"),
        ({"extra": {"openai_client_kwargs": {"base_url": "https://x.org"}}}, "https://x.org"),
        ({"extra": {"openai_client_kwargs": None, "base_url": None}}, "https://api.github.com"),
        ({"extra": {"openai_client_kwargs": "x", "base_url": 5}}, "https://api.github.com"),
    ],
)
def test_a_connection_may_say_the_address_in_any_of_airflows_ways(
    project: Project, monkeypatch: pytest.MonkeyPatch, connection: dict[str, object], expected: str
) -> None:
    from lore.orchestration.connections import settings_in_airflow

    monkeypatch.setenv("AIRFLOW_CONN_GITHUB_DEFAULT", json.dumps({"conn_type": "generic", **connection}))
    assert settings_in_airflow().github_base_url == expected


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
