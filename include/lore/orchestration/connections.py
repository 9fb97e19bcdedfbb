"""Settings inside an Airflow task: the environment's `LORE_…` variables, below the connections that Airflow holds.

| connection          | password  | host, or `base_url` in extra |
| ------------------- | --------- | ---------------------------- |
| `openai_default`    | API key   | any OpenAI-compatible server |
| `chat_default`      | API key   | the chat model's provider    |
| `cohere_default`    | API key   | another address of the API   |
| `github_default`    | token     | GitHub's API, or Enterprise  |
| `slack_api_default` | bot token | is not read                  |

`weaviate_default` is a connection of Airflow's Weaviate provider: host, port, and in extra `http_secure`, `grpc_host`,
`grpc_port` and `additional_headers`. The provider's hook reads its key or login by OpenID Connect. A password without a
login is an API key too.

Only tasks may call this: while DAG files are parsed no connection is read. A connection's password is masked in task
logs by Airflow itself, and nothing here is logged.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import Connection, get_current_context
from airflow.sdk.exceptions import AirflowNotFoundException

from lore.errors import ConfigurationError
from lore.settings import Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lore.declarations.database import DatabaseDeclaration

__all__ = ["database_addresses", "settings_beside", "settings_in_airflow", "settings_of_server"]

WEAVIATE_CONNECTION = "weaviate_default"
CONNECTIONS = {
    "openai_default": ("openai_api_key", "openai_base_url"),
    "chat_default": ("chat_api_key", "chat_base_url"),
    "cohere_default": ("cohere_api_key", "cohere_base_url"),
    "github_default": ("github_token", "github_base_url"),
    "slack_api_default": ("slack_token", None),
}
"""Connection → the settings that its password and its address are."""


def settings_beside(dag_file: str, **overrides: object) -> Settings:
    """Return the environment's settings; by default the files of the project are those beside a DAG file.

    Airflow runs DAG files of a bundle in any working directory. Raises ConfigurationError as `load_settings` does.
    """
    folder = Path(dag_file).resolve().parent
    defaults = {
        "sources_dir": folder / "sources",
        "databases_dir": folder / "databases",
        "assistant": folder / "assistant.yaml",
        "access": folder / "access.yaml",
    }
    return load_settings(None, defaults=defaults, **overrides)


def settings_of_server(dags: Path) -> Settings:
    """Return the settings for Airflow's API server: those beside its DAG files, below Airflow's connections.

    Raises ConfigurationError as `load_settings` does.
    """
    overrides: dict[str, Any] = {**dict(_overrides()), **dict(_weaviate())}
    return settings_beside(str(dags / "ask.py"), **overrides)


def settings_in_airflow() -> Settings:
    """Return the settings of the running task: those beside its DAG file, below Airflow's connections.

    A missing connection, or an empty field of one, changes nothing. Raises ConfigurationError as `load_settings` does.
    """
    dag: Any = get_current_context()["dag"]
    overrides: dict[str, Any] = {**dict(_overrides()), **dict(_weaviate())}
    return settings_beside(dag.fileloc, **overrides)


def database_addresses(declaration: DatabaseDeclaration) -> Mapping[str, str] | None:
    """Return the variable of the declaration's Airflow connection, as the environment would have it; None without one.

    Raises ConfigurationError if Airflow has no such connection.
    """
    if declaration.connection is None:
        return None
    try:
        connection = Connection.get(declaration.connection)
    except AirflowNotFoundException:
        raise ConfigurationError(
            f"Airflow has no connection {declaration.connection!r}, which the database {declaration.id} names.",
            remedy="Add it in the UI under Admin, Connections.",
        ) from None
    names = ("conn_type", "host", "login", "password", "port", "schema")
    parts = {name: value for name in names if (value := getattr(connection, name))}
    return {f"AIRFLOW_CONN_{declaration.connection.upper()}": json.dumps(parts)}


def _overrides() -> Iterator[tuple[str, str]]:
    for connection_id, (key_field, url_field) in CONNECTIONS.items():
        try:
            connection = Connection.get(connection_id)
        except AirflowNotFoundException:
            continue
        if connection.password:
            yield key_field, connection.password
        if url_field and (url := _base_url(connection)):
            yield url_field, url


def _weaviate() -> Iterator[tuple[str, object]]:
    """Settings from the fields of `weaviate_default`; TLS is that of the address, also for gRPC."""
    try:
        connection = Connection.get(WEAVIATE_CONNECTION)
    except AirflowNotFoundException:
        return
    extra = connection.extra_dejson
    if connection.host:
        secure = extra.get("http_secure") in (True, "true", "True")
        yield "weaviate_url", _address(connection, default="https" if secure else "http")
    login = _weaviate_login(connection)
    if key := login.pop("api_key", None):
        yield "weaviate_api_key", key
    elif login:
        yield "weaviate_oidc", json.dumps(login)
    for field in ("grpc_host", "grpc_port"):
        if extra.get(field):
            yield f"weaviate_{field}", extra[field]
    if extra.get("additional_headers"):
        yield "weaviate_headers", json.dumps(extra["additional_headers"])


def _weaviate_login(connection: Any) -> dict[str, Any]:
    """Return the credentials that the provider reads from a connection, as the arguments of the client's login."""
    from airflow.providers.weaviate.hooks.weaviate import WeaviateHook

    class Hook(WeaviateHook):
        def credentials(self) -> Any:
            return self._extract_auth_credentials(connection)

    login = {name: value for name, value in asdict(Hook().credentials()).items() if value}
    if "password" in login and not connection.login:
        return {"api_key": login["password"]}
    return login if login.keys() != {"username"} else {}


def _base_url(connection: Connection) -> str:
    """The host as an address, or `base_url` from extra, where the OpenAI provider keeps it too."""
    extra = connection.extra_dejson
    client = extra.get("openai_client_kwargs")
    given = extra.get("base_url") or (client.get("base_url") if isinstance(client, dict) else "")
    if not connection.host:
        return given if isinstance(given, str) else ""
    return _address(connection, default="https")


def _address(connection: Connection, *, default: str) -> str:
    """The host as an address; `default` is the scheme where none is given."""
    host = connection.host or ""
    if "://" in host:
        return host
    scheme = connection.schema if connection.schema in ("http", "https") else default
    return f"{scheme}://{host}" + (f":{connection.port}" if connection.port else "")
