"""The groups of settings: each field has a type, a default, bounds and a description."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

__all__ = [
    "BudgetSettings",
    "CallSettings",
    "DatabaseSettings",
    "EvaluationSettings",
    "GitHubSettings",
    "IndexSettings",
    "IngestSettings",
    "ModelSettings",
    "ProjectSettings",
    "ProviderSettings",
    "QuerySettings",
    "RecordSettings",
    "SettingsGroup",
    "SlackSettings",
    "SourceSettings",
    "TraceSettings",
    "WeaviateSettings",
    "WebSettings",
]


def _expand_home(value: object) -> object:
    """Expand `~`, since no shell reads a `.env` file."""
    return os.path.expanduser(value) if isinstance(value, str) else value  # noqa: PTH111 - s3:// is not a path


File: TypeAlias = Annotated[Path, BeforeValidator(_expand_home)]
Uri: TypeAlias = Annotated[str, BeforeValidator(_expand_home)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]


class SettingsGroup(BaseModel):
    """Settings that belong together. The variable of a field is `LORE_` + `variable_prefix` + the field's name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    variable_prefix: ClassVar[str] = ""


class ProjectSettings(SettingsGroup):
    """Files and folders of the project. Relative paths start at the working directory."""

    sources_dir: File = Field(Path("dags/sources"), description="Folder of the declarations")
    databases_dir: File = Field(Path("dags/databases"), description="Folder of the declared databases, for `lore sql`")
    assistant: File = Field(Path("dags/assistant.yaml"), description="File about the assistant itself; need not exist")
    access: File = Field(Path("dags/access.yaml"), description="File about logins and audiences; need not exist")
    cache_dir: File = Field(Path(".lore/cache"), description="Folder for what can be made again (the built model)")


class SourceSettings(SettingsGroup):
    """Access to what sources read, apart from GitHub and Slack."""

    stackexchange_key: SecretStr | None = Field(
        None, description="Key of Stack Exchange's API: 10,000 calls a day instead of 300"
    )
    api_headers: SecretStr | None = Field(
        None, description='Headers for servers of discourse and json_api: {"https://HOST": {"Name": "value"}}'
    )


class GitHubSettings(SettingsGroup):
    """Access to GitHub."""

    variable_prefix = "github_"

    token: SecretStr | None = Field(
        None, description="Token for GitHub, public repositories need none; also GITHUB_TOKEN"
    )
    base_url: str = Field("https://api.github.com", description="GitHub's API, or a GitHub Enterprise one")
    app_id: str | None = Field(None, description="A GitHub App that takes the place of the token")
    app_private_key: SecretStr | None = Field(None, description="The App's private key, in PEM")
    app_installation_id: str | None = Field(None, description="The App's installation; default: found by itself")


class IngestSettings(SettingsGroup):
    """Choices of a sync."""

    staging_uri: Uri = Field(".lore/staging", description="Where a sync puts shards: a folder, s3://…, gs://…")
    redact: Literal["secrets", "secrets+contacts", "none"] = Field(
        "secrets",
        description="What is taken out of documents: secrets, also people's addresses and numbers, or nothing",
    )
    chunk_characters: int | None = Field(None, ge=200, description="Budget of a chunk; default from the embedder")


class IndexSettings(SettingsGroup):
    """Place of the index."""

    store: Literal["lancedb", "weaviate"] = Field(
        "lancedb", description='"lancedb" (a folder of this machine) or "weaviate" (a server)'
    )
    index_uri: Uri = Field(".lore/index", description="Folder of the embedded index (LanceDB)")


class WeaviateSettings(SettingsGroup):
    """The Weaviate server, and the layout of new collections."""

    variable_prefix = "weaviate_"

    url: str | None = Field(None, description="Weaviate's address: http://HOST:PORT, https://HOST")
    grpc_host: str | None = Field(None, description="Host of its gRPC port, where it is another one")
    grpc_port: int | None = Field(None, gt=0, le=65_535, description="Its gRPC port; default 50051, Cloud 443")
    api_key: SecretStr | None = Field(None, description="Key for Weaviate, unless access is anonymous")
    oidc: SecretStr | None = Field(
        None, description="Login by OpenID Connect instead of a key, as a JSON object with `username` and `password`"
    )
    headers: SecretStr | None = Field(None, description="More headers for each call, as a JSON object")
    prefix: str = Field(
        "Lore", pattern="^[A-Z][A-Za-z0-9_]*$", description="Beginning of the names of its collections: one index each"
    )
    replication_factor: int = Field(1, gt=0, description="Copies of each object, when collections are made")
    vector_index: Literal["hnsw", "flat", "dynamic"] = Field(
        "hnsw", description="Kind of vector index, when collections are made"
    )
    quantization: Literal["none", "rq", "bq"] = Field(
        "none", description="How vectors are compressed in memory, when collections are made"
    )
    title_weight: float = Field(0.0, ge=0, description="How much more words of the title count by keyword")


class ModelSettings(SettingsGroup):
    """Choice of embedder, reranker and language models."""

    embedder: str = Field("local", description='"local", "fastembed:MODEL" or "openai:MODEL"')
    embedding_dimensions: int | None = Field(None, gt=0, description="Shorten OpenAI embeddings to this many numbers")
    local_model_dir: File | None = Field(None, description="Folder with model.safetensors and tokenizer.json of MiniLM")
    threads: int = Field(0, ge=0, description="Threads of models on this machine; 0 takes every core")
    reranker: str = Field(
        "auto",
        description='"auto" (Cohere with a key, else local), "local", "fastembed:MODEL", "cohere:MODEL" or "none"',
    )
    chat_model: str = Field("", description='Empty (answers quote passages) or "PROVIDER:MODEL" for init_chat_model')
    summary_model: str = Field(
        "", description='Who writes summaries: "PROVIDER:MODEL", "extractive", or empty: LORE_CHAT_MODEL'
    )
    judge_model: str = Field(
        "", description='Who judges answers in `lore evaluate`: "PROVIDER:MODEL", "none", or empty: LORE_CHAT_MODEL'
    )
    verify: str = Field("auto", description='Who verifies answers: "auto" (LORE_CHAT_MODEL), "off" or "PROVIDER:MODEL"')
    max_output_tokens: int = Field(4096, gt=0, description="What a chat model may write in one call, thinking included")
    prices: File | None = Field(None, description="YAML file with prices of models that go before the known ones")


class ProviderSettings(SettingsGroup):
    """Keys and addresses of the models' providers."""

    chat_api_key: SecretStr | None = Field(
        None, description="Key of the chat model's provider; else that provider's own variable, or OpenAI's setting"
    )
    chat_base_url: str | None = Field(None, description="Another address of the chat model's provider")
    openai_api_key: SecretStr | None = Field(None, description="Key for embeddings and chat; also OPENAI_API_KEY")
    openai_base_url: str | None = Field(None, description="Any OpenAI-compatible server, for embeddings and chat")
    cohere_api_key: SecretStr | None = Field(None, description="Key for Cohere reranking; also COHERE_API_KEY")
    cohere_base_url: str | None = Field(None, description="Another address of Cohere's API")


class CallSettings(SettingsGroup):
    """Bounds of calls to other machines."""

    timeout_seconds: Seconds = Field(60.0, description="Limit of one outside call")
    max_retries: int = Field(4, ge=0, description="Repeats of an outside call that failed for the moment")
    max_concurrency: int = Field(8, gt=0, description="Calls of remote models at once, in one process")


class BudgetSettings(SettingsGroup):
    """Bounds of what models may cost, in US dollars."""

    variable_prefix = "budget_"

    per_day: float = Field(0.0, ge=0, description="US dollars for models in a day (UTC); 0: no limit")
    per_question: float = Field(0.0, ge=0, description="US dollars for models in one question; 0: no limit")


class QuerySettings(SettingsGroup):
    """Search, and the time that each stage of a question has."""

    alpha: float = Field(0.5, ge=0, le=1, description="Weight of vector against keyword in hybrid search")
    retrieve_limit: int = Field(100, gt=0, description="Chunks taken for each wording")
    rerank_limit: int = Field(8, gt=0, description="Passages that the answer is written from")
    context_tokens: int | None = Field(
        None, ge=1_000, description="Tokens that the chat model reads and writes in all; default by its name"
    )
    plan_seconds: Seconds = Field(30.0, description="Limit of planning a question")
    search_seconds: Seconds = Field(30.0, description="Limit of embedding and searching its wordings")
    rerank_seconds: Seconds = Field(15.0, description="Limit of reranking")
    reranker_timeout_seconds: Seconds = Field(
        8.0, description="How long Cohere is waited for before the local reranker takes its place"
    )
    answer_seconds: Seconds = Field(180.0, description="Limit of writing the answer to its end")
    verify_seconds: Seconds = Field(30.0, description="Limit of verifying the answer by a model")


class DatabaseSettings(SettingsGroup):
    """Questions to databases."""

    variable_prefix = "sql_"

    retrieval: Literal["linked", "keyword", "faiss", "chroma", "none"] = Field(
        "linked", description="How the tables are found that a question needs"
    )
    tables: int = Field(8, ge=1, le=1_000, description="Most tables that a model gets of a schema")
    schema_tokens: int = Field(4_000, ge=100, description="Most tokens of a schema that a model gets")
    review: bool = Field(True, description="Whether a second call reviews each statement")
    repairs: int = Field(2, ge=0, le=2, description="Most times that an error goes back to the model")


class EvaluationSettings(SettingsGroup):
    """Judging of a new version of the index."""

    questions: File | None = Field(None, description="Question set that judges a new version of the index")
    gate_margin: float = Field(0.03, ge=0, lt=1, description="Loss of nDCG@10 that a new version may have")


class RecordSettings(SettingsGroup):
    """Records of questions and answers."""

    variable_prefix = "records_"

    url: SecretStr | None = Field(
        None, description='Where answers are recorded: sqlite:///PATH, postgresql://… or "none"'
    )
    retention_days: int = Field(365, ge=0, description="Days after which records are removed; 0 keeps them")


class TraceSettings(SettingsGroup):
    """Traces for an OpenTelemetry collector."""

    variable_prefix = "otel_"

    endpoint: str | None = Field(None, description="OpenTelemetry collector (OTLP over HTTP) that gets traces")
    content: bool = Field(False, description="Whether traces have the texts of questions and answers")


class SlackSettings(SettingsGroup):
    """Slack, as a source and as the place where the bot answers."""

    variable_prefix = "slack_"

    token: SecretStr | None = Field(
        None, description="Bot token for reading Slack and answering in it; also SLACK_BOT_TOKEN"
    )
    app_token: SecretStr | None = Field(
        None, description="App-level token (xapp-…) for Socket Mode; also SLACK_APP_TOKEN"
    )
    signing_secret: SecretStr | None = Field(
        None, description="Signing secret of the app, for HTTP mode; also SLACK_SIGNING_SECRET"
    )
    config_token: SecretStr | None = Field(
        None,
        description="App configuration token (xoxe.xoxp-…), with which `lore doctor --slack` sees the app's events",
    )
    base_url: str = Field("https://slack.com/api/", description="Slack's Web API, as the bot calls it")
    channels: File = Field(
        Path("dags/slack.yaml"), description="File about the channels in which the bot answers; need not exist"
    )
    workers: int = Field(4, gt=0, le=64, description="Questions that one bot answers at the same time")
    queue: int = Field(100, gt=0, description="Questions that may wait in one bot; more are asked to come later")
    user_limit: int = Field(20, ge=0, description="Questions of one person in ten minutes; 0: no limit")
    channel_limit: int = Field(100, ge=0, description="Questions in one channel in ten minutes; 0: no limit")
    feedback_channel: str = Field("", description="Id of the channel that is told of answers that did not help")
    trace_url: str = Field("", description="Link to an answer's trace for maintainers, with {id} for its id")


class WebSettings(SettingsGroup):
    """The web page and the JSON API."""

    variable_prefix = "web_"

    workers: int = Field(8, gt=0, le=64, description="Questions that one server answers at the same time")
    queue: int = Field(64, ge=0, description="Questions that may wait in one server; more are asked to come later")
    user_limit: int = Field(
        30, ge=0, description="With --public: questions from one address in ten minutes; 0: no limit"
    )
    hosts: str = Field("", description="Names by which the server may be called, separated by commas; empty: any")
    sites: str = Field("", description="Origins of sites that may show the widget, separated by commas")
    proxies: str = Field("", description="Addresses of proxies whose headers name the caller, separated by commas")
    metrics_token: SecretStr | None = Field(
        None,
        description="Token that Prometheus sends for /metrics; with --public or --keys, nobody reads them without",
    )
    login_secret: SecretStr | None = Field(None, description="The secret of the client that access.yaml declares")
    session_secret: SecretStr | None = Field(
        None, description="Signs logins, the same on every server; default: a new one at each start"
    )
    root_path: str = Field("", pattern="^(/[\\w./-]*[\\w-])?$", description="Path below which a proxy shows the page")
