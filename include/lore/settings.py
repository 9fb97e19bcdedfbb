"""The only reader of the environment: every setting is a `LORE_…` variable, in the process or in a `.env` file."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from dotenv import dotenv_values
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from lore.errors import ConfigurationError

__all__ = ["Settings", "load_settings"]

PREFIX = "LORE_"
RESERVED = ("LORE_TEST_", "LORE_BENCH_")  # read by the test suite and the benches, not by Lore
VENDOR_NAMES = {
    "openai_api_key": "OPENAI_API_KEY",
    "cohere_api_key": "COHERE_API_KEY",
    "github_token": "GITHUB_TOKEN",
    "slack_token": "SLACK_BOT_TOKEN",
    "slack_app_token": "SLACK_APP_TOKEN",
    "slack_signing_secret": "SLACK_SIGNING_SECRET",
}
"""Keys that are also taken from the variables that the vendors' own tools read."""


class Settings(BaseModel):
    """What a person may set; read once, passed on, never changed. Relative paths start at the working directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sources_dir: Path = Field(Path("dags/sources"), description="Folder of the declarations")
    assistant: Path = Field(Path("dags/assistant.yaml"), description="File about the assistant itself; need not exist")
    store: Literal["lancedb", "weaviate"] = Field(
        "lancedb", description='"lancedb" (a folder of this machine) or "weaviate" (a server)'
    )
    index_uri: str = Field(".lore/index", description="Folder of the embedded index (LanceDB)")
    staging_uri: str = Field(".lore/staging", description="Where a sync puts shards: a folder, s3://…, gs://…")
    cache_dir: Path = Field(Path(".lore/cache"), description="Folder for what can be made again (the built model)")

    embedder: str = Field("local", description='"local" or "openai:MODEL"')
    reranker: str = Field(
        "auto", description='"auto" (Cohere with a key, else local), "local", "cohere:MODEL" or "none"'
    )
    chat_model: str = Field("", description='Empty (answers quote passages) or "PROVIDER:MODEL" for init_chat_model')
    summary_model: str = Field(
        "", description='Who writes summaries: "PROVIDER:MODEL", "extractive", or empty: LORE_CHAT_MODEL'
    )
    judge_model: str = Field(
        "", description='Who judges answers in `lore evaluate`: "PROVIDER:MODEL", "none", or empty: LORE_CHAT_MODEL'
    )
    local_model_dir: Path | None = Field(None, description="Folder with model.safetensors and tokenizer.json of MiniLM")
    threads: int = Field(0, ge=0, description="Threads of the local embedder; 0 takes every core")

    chat_api_key: SecretStr | None = Field(
        None, description="Key of the chat model's provider; else that provider's own variable, or OpenAI's setting"
    )
    chat_base_url: str | None = Field(None, description="Another address of the chat model's provider")
    max_output_tokens: int = Field(4096, gt=0, description="What a chat model may write in one call, thinking included")
    max_concurrency: int = Field(8, gt=0, description="Calls of remote models at once, in one process")
    reranker_timeout_seconds: float = Field(
        8.0, gt=0, le=86_400, description="How long Cohere is waited for before the local reranker takes its place"
    )
    prices: Path | None = Field(None, description="YAML file with prices of models that go before the known ones")
    budget_per_day: float = Field(0.0, ge=0, description="US dollars for models in a day (UTC); 0: no limit")
    budget_per_question: float = Field(0.0, ge=0, description="US dollars for models in one question; 0: no limit")

    openai_api_key: SecretStr | None = Field(None, description="Key for embeddings and chat; also OPENAI_API_KEY")
    openai_base_url: str | None = Field(None, description="Any OpenAI-compatible server, for embeddings and chat")
    cohere_api_key: SecretStr | None = Field(None, description="Key for Cohere reranking; also COHERE_API_KEY")
    cohere_base_url: str | None = Field(None, description="Another address of Cohere's API")
    github_token: SecretStr | None = Field(
        None, description="Token for GitHub, public repositories need none; also GITHUB_TOKEN"
    )
    github_base_url: str = Field("https://api.github.com", description="GitHub's API, or a GitHub Enterprise one")
    github_app_id: str | None = Field(None, description="A GitHub App that takes the place of the token")
    github_app_private_key: SecretStr | None = Field(None, description="The App's private key, in PEM")
    github_app_installation_id: str | None = Field(None, description="The App's installation; default: found by itself")
    slack_token: SecretStr | None = Field(
        None, description="Bot token for reading Slack and answering in it; also SLACK_BOT_TOKEN"
    )
    slack_app_token: SecretStr | None = Field(
        None, description="App-level token (xapp-…) for Socket Mode; also SLACK_APP_TOKEN"
    )
    slack_signing_secret: SecretStr | None = Field(
        None, description="Signing secret of the app, for HTTP mode; also SLACK_SIGNING_SECRET"
    )
    slack_config_token: SecretStr | None = Field(
        None,
        description="App configuration token (xoxe.xoxp-…), with which `lore doctor --slack` sees the app's events",
    )
    slack_base_url: str = Field("https://slack.com/api/", description="Slack's Web API, as the bot calls it")
    slack_workers: int = Field(4, gt=0, le=64, description="Questions that one bot answers at the same time")
    slack_queue: int = Field(100, gt=0, description="Questions that may wait in one bot; more are asked to come later")
    slack_user_limit: int = Field(20, ge=0, description="Questions of one person in ten minutes; 0: no limit")
    slack_channel_limit: int = Field(100, ge=0, description="Questions in one channel in ten minutes; 0: no limit")
    slack_feedback_channel: str = Field("", description="Id of the channel that is told of answers that did not help")
    slack_trace_url: str = Field("", description="Link to an answer's trace for maintainers, with {id} for its id")
    stackexchange_key: SecretStr | None = Field(
        None, description="Key of Stack Exchange's API: 10,000 calls a day instead of 300"
    )
    api_headers: SecretStr | None = Field(
        None, description='Headers for servers of discourse and json_api: {"https://HOST": {"Name": "value"}}'
    )

    weaviate_url: str | None = Field(None, description="Weaviate's address: http://HOST:PORT, https://HOST")
    weaviate_grpc_host: str | None = Field(None, description="Host of its gRPC port, where it is another one")
    weaviate_grpc_port: int | None = Field(None, gt=0, le=65_535, description="Its gRPC port; default 50051, Cloud 443")
    weaviate_api_key: SecretStr | None = Field(None, description="Key for Weaviate, unless access is anonymous")
    weaviate_headers: SecretStr | None = Field(None, description="More headers for each call, as a JSON object")
    weaviate_prefix: str = Field(
        "Lore", pattern="^[A-Z][A-Za-z0-9_]*$", description="Beginning of the names of its collections: one index each"
    )
    weaviate_replication_factor: int = Field(1, gt=0, description="Copies of each object, when collections are made")
    weaviate_vector_index: Literal["hnsw", "flat", "dynamic"] = Field(
        "hnsw", description="Kind of vector index, when collections are made"
    )
    weaviate_quantization: Literal["none", "rq", "bq"] = Field(
        "none", description="How vectors are compressed in memory, when collections are made"
    )
    weaviate_title_weight: float = Field(0.0, ge=0, description="How much more words of the title count by keyword")

    embedding_dimensions: int | None = Field(None, gt=0, description="Shorten OpenAI embeddings to this many numbers")
    chunk_characters: int | None = Field(None, ge=200, description="Budget of a chunk; default from the embedder")
    alpha: float = Field(0.5, ge=0, le=1, description="Weight of vector against keyword in hybrid search")
    retrieve_limit: int = Field(100, gt=0, description="Chunks taken for each wording")
    rerank_limit: int = Field(8, gt=0, description="Passages that the answer is written from")
    context_tokens: int | None = Field(
        None, ge=1_000, description="Tokens that the chat model reads and writes in all; default by its name"
    )
    plan_seconds: float = Field(30.0, gt=0, le=86_400, description="Limit of planning a question")
    search_seconds: float = Field(30.0, gt=0, le=86_400, description="Limit of embedding and searching its wordings")
    rerank_seconds: float = Field(15.0, gt=0, le=86_400, description="Limit of reranking")
    answer_seconds: float = Field(180.0, gt=0, le=86_400, description="Limit of writing the answer to its end")
    redact: Literal["secrets", "secrets+contacts", "none"] = Field(
        "secrets",
        description="What is taken out of documents: secrets, also people's addresses and numbers, or nothing",
    )
    questions: Path | None = Field(None, description="Question set that judges a new version of the index")
    gate_margin: float = Field(0.03, ge=0, lt=1, description="Loss of nDCG@10 that a new version may have")
    records_url: SecretStr | None = Field(
        None, description='Where answers are recorded: sqlite:///PATH, postgresql://… or "none"'
    )
    records_retention_days: int = Field(0, ge=0, description="Days after which records are removed; 0 keeps them")
    otel_endpoint: str | None = Field(None, description="OpenTelemetry collector (OTLP over HTTP) that gets traces")
    otel_content: bool = Field(False, description="Whether traces have the texts of questions and answers")
    timeout_seconds: float = Field(60.0, gt=0, le=86_400, description="Limit of one outside call")
    max_retries: int = Field(4, ge=0, description="Repeats of an outside call that failed for the moment")

    @field_validator(
        "sources_dir",
        "assistant",
        "index_uri",
        "staging_uri",
        "cache_dir",
        "local_model_dir",
        "questions",
        mode="before",
    )
    @classmethod
    def _from_home(cls, value: object) -> object:
        """`.env` files are read by no shell, which would expand ~."""
        return os.path.expanduser(value) if isinstance(value, str) else value  # noqa: PTH111 - s3:// is no path


def load_settings(environ: Mapping[str, str] | None = None, **overrides: object) -> Settings:
    """Read the settings from `environ` (default: the process) and from `.env` below it; overrides win.

    Raises ConfigurationError for an unknown `LORE_…` name, naming the nearest known one, and for a value that does
    not fit. Values are never repeated in the message: they may be secrets.
    """
    values = _read_dotenv()
    values.update(os.environ if environ is None else environ)
    known = {f"{PREFIX}{name.upper()}": name for name in Settings.model_fields}
    for key in values:
        if key.startswith(PREFIX) and not key.startswith(RESERVED) and key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"Did you mean {near[0]}?" if near else "See the settings table in README.md."
            raise ConfigurationError(f"Unknown setting {key}.", remedy=hint)
    filled = {key: value.strip() for key, value in values.items() if value.strip()}  # a blank value is none
    given: dict[str, object] = {field: filled[name] for field, name in VENDOR_NAMES.items() if name in filled}
    given |= {name: filled[key] for key, name in known.items() if key in filled}
    try:
        return Settings.model_validate(given | overrides)
    except ValidationError as error:
        raise ConfigurationError(_explain(error), remedy="See the settings table in README.md.") from None


def _read_dotenv() -> dict[str, str]:
    try:
        return {key: value for key, value in dotenv_values(".env").items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"The file .env cannot be read: {reason}.", remedy="Correct or remove it.") from None


def _explain(error: ValidationError) -> str:
    wrong = (f"{PREFIX}{str(item['loc'][0]).upper()}: {item['msg']}" for item in error.errors(include_input=False))
    return "Settings do not fit: " + "; ".join(wrong) + "."
