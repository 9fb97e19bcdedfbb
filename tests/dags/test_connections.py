"""Settings inside a task: Airflow's connections above the environment, and what lies beside the DAG file below it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
import yaml
from lore.settings import SETTINGS, Settings
from pydantic import SecretStr

from tests.conftest import ROOT

from .conftest import Project

pytestmark = pytest.mark.xdist_group("airflow")

ReadSettings: TypeAlias = Callable[[], Settings]


@pytest.fixture
def settings_of_a_task(project: Project) -> ReadSettings:
    """Reads the settings as a task of the DAG `ask` does."""

    def read() -> Settings:
        from airflow.sdk.execution_time.context import set_current_context
        from lore.orchestration.connections import settings_in_airflow

        with set_current_context({"dag": project.airflow.dag("ask")}):  # type: ignore[arg-type,typeddict-item]
            return settings_in_airflow()

    return read


def test_declarations_lie_beside_the_dag_file_unless_a_setting_names_another_folder(
    settings_of_a_task: ReadSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LORE_SOURCES_DIR")
    assert settings_of_a_task().project.sources_dir == ROOT / "dags" / "sources"
    assert settings_of_a_task().project.assistant == ROOT / "dags" / "assistant.yaml"
    (tmp_path / ".env").write_text("LORE_SOURCES_DIR=elsewhere\n")
    assert settings_of_a_task().project.sources_dir == Path("elsewhere")


def test_connections_go_before_the_environment(
    settings_of_a_task: ReadSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    settings = settings_of_a_task()
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
    settings_of_a_task: ReadSettings,
    monkeypatch: pytest.MonkeyPatch,
    connection: dict[str, object] | None,
    expected: tuple[str, str],
) -> None:
    monkeypatch.setenv("LORE_CHAT_API_KEY", "key-from-environment")
    monkeypatch.setenv("LORE_CHAT_BASE_URL", "https://from-environment.example.com")
    if connection is not None:
        monkeypatch.setenv("AIRFLOW_CONN_CHAT_DEFAULT", json.dumps({"conn_type": "generic", **connection}))
    settings = settings_of_a_task()
    assert settings.providers.chat_api_key is not None
    assert (settings.providers.chat_api_key.get_secret_value(), settings.providers.chat_base_url) == expected
    assert settings.providers.openai_api_key is None


def test_the_connections_for_the_astro_cli_are_those_that_are_read(
    settings_of_a_task: ReadSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = yaml.safe_load((ROOT / "airflow_settings.yaml").read_text())["airflow"]["connections"]
    names = [connection["conn_id"] for connection in declared]
    for name in names:
        password = json.dumps({"conn_type": "generic", "password": f"of {name}"})
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", password)
    settings = settings_of_a_task()
    secrets = {
        field: key.get_secret_value() for field in SETTINGS if isinstance(key := settings.value(field), SecretStr)
    }
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
    settings_of_a_task: ReadSettings,
    monkeypatch: pytest.MonkeyPatch,
    connection: dict[str, object],
    expected: tuple[object, ...],
) -> None:
    monkeypatch.setenv("LORE_WEAVIATE_URL", "http://from-environment:8080")
    monkeypatch.setenv("LORE_WEAVIATE_API_KEY", "key-from-environment")
    monkeypatch.setenv("AIRFLOW_CONN_WEAVIATE_DEFAULT", json.dumps({"conn_type": "weaviate", **connection}))
    settings = settings_of_a_task()
    key = settings.weaviate.api_key and settings.weaviate.api_key.get_secret_value()
    assert (settings.weaviate.url, settings.weaviate.grpc_host, settings.weaviate.grpc_port, key) == expected


@pytest.mark.parametrize(
    ("connection", "login"),
    [
        (
            {"login": "ada", "password": "p", "extra": {"scope": "s"}},
            {"username": "ada", "password": "p", "scope": "s"},
        ),
        ({"extra": {"client_secret": "c", "oidc_scope": "s"}}, {"client_secret": "c", "scope": "s"}),
        ({"extra": {"access_token": "t", "expires_in": 9}}, {"access_token": "t", "expires_in": 9}),
        ({"login": "ada", "password": "p", "extra": {"token": "key"}}, None),
        ({"login": "ada"}, None),
    ],
)
def test_a_login_by_openid_connect_is_read_by_airflows_own_hook(
    settings_of_a_task: ReadSettings,
    monkeypatch: pytest.MonkeyPatch,
    connection: dict[str, object],
    login: dict[str, object] | None,
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_WEAVIATE_DEFAULT", json.dumps({"conn_type": "weaviate", **connection}))
    settings = settings_of_a_task().weaviate
    assert (settings.oidc and json.loads(settings.oidc.get_secret_value())) == login
    assert (settings.api_key is not None) == ("key" in str(connection))


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
    settings_of_a_task: ReadSettings, monkeypatch: pytest.MonkeyPatch, connection: dict[str, object], expected: str
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_GITHUB_DEFAULT", json.dumps({"conn_type": "generic", **connection}))
    assert settings_of_a_task().github.base_url == expected
