"""What works here and what does not: the checks behind `lore doctor`, each with what to do.

A check reads, or makes one tiny call; none of them creates an index or changes anything that is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from uuid import uuid4

from include.lore.declarations import (
    GitHubIssuesDeclaration,
    GitHubRepoDeclaration,
    SlackDeclaration,
    load_assistant,
    load_declarations,
)
from include.lore.errors import LoreError, ModelError
from include.lore.protocols import ChatModel, Embedder, FallbackReranker, Reranker, Store
from include.lore.settings import Settings, load_settings
from include.lore.types import Chunk, Hit, Message

if TYPE_CHECKING:
    from include.lore.sources.github_probe import Need

__all__ = ["Finding", "examine"]

GitHubDeclaration: TypeAlias = GitHubRepoDeclaration | GitHubIssuesDeclaration
Status: TypeAlias = Literal["ok", "warning", "problem", "skipped"]

MINIMUM_PYTHON = (3, 11)
PACKAGES = ("lancedb", "weaviate-client", "onnxruntime", "tokenizers", "pydantic", "openai", "cohere", "langchain")
AIRFLOW_SERIES = "3.3."
CALL_SECONDS = 20.0
MAX_REPOSITORIES = 20
SLACK_SCOPES = ("channels:read", "channels:history", "users:read")
"""What every declaration of the kind needs; private channels need groups:read and groups:history, too."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check. `remedy` says what to do, and is empty where nothing has to be done."""

    name: str
    status: Status
    detail: str
    remedy: str = ""


def examine(environ: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """Yield the findings one by one, as the checks end; an error in one check never ends the others."""
    yield _guarded("python", check_python)
    yield _guarded("packages", check_packages)
    yield _guarded("airflow", check_airflow)
    try:
        settings = load_settings(environ)
    except LoreError as error:
        yield Finding("settings", "problem", error.message, error.remedy)
        return
    yield Finding("settings", "ok", "every LORE_ name is known and every value fits")
    yield _guarded("declarations", lambda: check_declarations(settings.sources_dir))
    yield _guarded("assistant", lambda: check_assistant(settings.assistant))
    yield _guarded("staging", lambda: check_staging(settings.staging_uri))
    yield _guarded("records", lambda: check_records(settings))
    settings = settings.model_copy(
        update={"max_retries": 0, "timeout_seconds": min(settings.timeout_seconds, CALL_SECONDS)}
    )
    yield from _examine_accounts(settings)
    if settings.store == "weaviate":
        yield _guarded("weaviate", lambda: check_weaviate(settings))
    yield from _examine_models(settings)


def check_python() -> Finding:
    """Is this Python new enough?"""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MINIMUM_PYTHON:
        return Finding("python", "problem", f"{found} is too old", "Install Python 3.11 or newer.")
    return Finding("python", "ok", found)


def check_packages() -> Finding:
    """Are the packages installed that the work rests on?"""
    found = {name: _version(name) for name in PACKAGES}
    missing = [name for name, number in found.items() if number is None]
    if missing:
        return Finding(
            "packages", "problem", f"not installed: {', '.join(missing)}", f"Run: pip install {' '.join(missing)}"
        )
    return Finding("packages", "ok", ", ".join(f"{name} {number}" for name, number in found.items()))


def check_airflow() -> Finding:
    """Which Airflow is installed? The command line works without one."""
    found = _version("apache-airflow")
    if found is None:
        return Finding(
            "airflow", "warning", "not installed: the DAGs cannot run here", "Run: pip install -r requirements.txt"
        )
    if not found.startswith(AIRFLOW_SERIES):
        return Finding(
            "airflow", "warning", f"{found}; the DAGs are made for {AIRFLOW_SERIES}x", "Install apache-airflow 3.3."
        )
    return Finding("airflow", "ok", found)


def check_declarations(folder: Path) -> Finding:
    """Can every declaration be read?"""
    declarations = load_declarations(folder)
    if declarations.broken:
        return Finding(
            "declarations",
            "problem",
            " ".join(error.message for error in declarations.broken),
            " ".join(error.remedy for error in declarations.broken if error.remedy),
        )
    if not declarations.valid:
        return Finding("declarations", "warning", f"none in {folder}", "Declare a source; README.md shows how.")
    return Finding("declarations", "ok", ", ".join(declaration.id for declaration in declarations.valid))


def check_assistant(file: Path) -> Finding:
    """Can the file about the assistant be read, where there is one?"""
    assistant = load_assistant(file)
    if assistant is None:
        return Finding("assistant", "skipped", f"there is no {file}: no question is answered from a global context")
    return Finding("assistant", "ok", assistant.name)


def check_staging(uri: str) -> Finding:
    """Can the staging area be written to and read back?"""
    from upath import UPath

    root = UPath(uri)
    existed = root.exists()
    probe = root / f"doctor-{uuid4().hex}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"lore")
        same = probe.read_bytes() == b"lore"
        probe.unlink()
        if not existed:
            root.rmdir()
    except Exception as error:  # every file system has errors of its own
        return Finding("staging", "problem", f"{uri}: {error}", "Make it writable, or set LORE_STAGING_URI.")
    if not same:
        return Finding(
            "staging", "problem", f"{uri} gave back something else than was written", "Set LORE_STAGING_URI."
        )
    return Finding("staging", "ok", uri)


def check_records(settings: Settings) -> Finding:
    """Can the records be opened, and are they of this Lore or an older one?"""
    from include.lore.wiring.records import describe_records

    return Finding("records", "ok", describe_records(settings))


def check_github(settings: Settings, declarations: Sequence[GitHubDeclaration] = ()) -> Finding:
    """Does GitHub take the token or the App, and may it read what is declared? The declarations are of one server."""
    from include.lore.sources.github_http import GitHubAccess
    from include.lore.sources.github_probe import probe_github
    from include.lore.sources.retries import Retries
    from include.lore.wiring.secrets import secret
    from include.lore.wiring.sources import make_github_access

    if settings.github_token is None and not settings.github_app_id:
        return Finding("github", "skipped", "no token is set: 60 calls an hour, public repositories only")
    if settings.github_app_id and not declarations:
        return Finding("github", "skipped", "an App is set, and no repository is declared to look at")
    token = secret(settings.github_token)
    access = (
        make_github_access(declarations[0], settings)
        if declarations
        else GitHubAccess(settings.github_base_url, lambda: token, settings.timeout_seconds, Retries(0))
    )
    found = probe_github(access, [_need(declaration) for declaration in declarations[:MAX_REPOSITORIES]])
    left = "no rate limit" if found.calls_left is None else f"{found.calls_left:,} calls left this hour"
    detail = f"{found.who}, {access.base_url}, {left}"
    if found.lacking:
        return Finding(
            "github",
            "problem",
            f"{detail}; it may not read {', '.join(found.lacking)}",
            "Give the token or the App read access to that (a classic token: the scope repo), or correct `repository`.",
        )
    return Finding("github", "ok", detail)


def check_slack(settings: Settings, declarations: Sequence[SlackDeclaration]) -> Finding:
    """Does Slack take the token, and has it the scopes that are needed? The declarations are of one server."""
    from include.lore.sources.slack_probe import probe_slack
    from include.lore.wiring.sources import make_slack_connection

    if settings.slack_token is None and not declarations:
        return Finding("slack", "skipped", "no token is set, and no channel is declared")
    files = any(declaration.include_files for declaration in declarations)
    needed = (*SLACK_SCOPES, *(("files:read",) if files else ()))
    declaration = declarations[0] if declarations else SlackDeclaration.model_validate({"id": "slack"})
    found = probe_slack(make_slack_connection(declaration, settings), needed)
    told = f"scopes {', '.join(found.scopes)}" if found.scopes else "its scopes are not told"
    if found.lacking:
        return Finding(
            "slack",
            "problem",
            f"{found.who}; the token lacks {', '.join(found.lacking)}",
            "Add what it lacks to the app under OAuth & Permissions, and reinstall it.",
        )
    return Finding("slack", "ok", f"{found.who}, {told}")


def check_weaviate(settings: Settings) -> Finding:
    """Is the server there, new enough and ready, and may the key write? A key for asking only need not."""
    from include.lore.stores.weaviate_connection import MINIMUM_VERSION, WeaviateConnection
    from include.lore.stores.weaviate_probe import probe
    from include.lore.wiring import weaviate_server

    connection = WeaviateConnection(weaviate_server(settings))
    found = probe(connection, settings.weaviate_prefix)
    detail = f"{connection.address}, version {'.'.join(map(str, found.version))}"
    if found.version < MINIMUM_VERSION:
        oldest = ".".join(map(str, MINIMUM_VERSION))
        return Finding("weaviate", "problem", f"{detail}: too old", f"Install Weaviate {oldest} or newer.")
    if not found.ready:
        return Finding("weaviate", "problem", f"{detail}: not ready", "Look at the server's log.")
    if found.refused:
        remedy = "Enough for asking; a sync needs a key that may write."
        return Finding("weaviate", "warning", f"{detail}: reads, but does not write: {found.refused}", remedy)
    return Finding("weaviate", "ok", f"{detail}, reads and writes")


def check_embedder(embedder: Embedder) -> Finding:
    """Does a real text become a vector of the promised length?"""
    vector = embedder.embed_query("Does this work?")
    if len(vector) != embedder.dimensions:
        return Finding(
            "embedder",
            "problem",
            f"{embedder.name} gave {len(vector)} numbers instead of {embedder.dimensions}",
            "Set LORE_EMBEDDING_DIMENSIONS to what the model gives.",
        )
    return Finding("embedder", "ok", f"{embedder.name}, {embedder.dimensions} dimensions")


def check_reranker(reranker: Reranker | None, embedder: Embedder) -> Finding:
    """Does the reranker order two passages? One that would be fallen back on must not hide that the first fails."""
    if reranker is None:
        return Finding("reranker", "skipped", "none is set")
    if isinstance(reranker, FallbackReranker):
        return _first_of(reranker, embedder)
    texts = ("Paris is the capital of France.", "Bread is made from flour.")
    vectors = embedder.embed_documents(texts)
    query = embedder.embed_query("capital of France")
    hits = [
        Hit(_chunk(text), score=float(vector @ query), vector_score=float(vector @ query), vector=vector)
        for text, vector in zip(texts, vectors, strict=True)
    ]
    if len(reranker.rerank("capital of France", hits, 2)) != 2:
        return Finding("reranker", "problem", f"{reranker.name} lost a passage", "Set LORE_RERANKER to local.")
    return Finding("reranker", "ok", reranker.name)


def _first_of(reranker: FallbackReranker, embedder: Embedder) -> Finding:
    """The finding on the first of several; where it fails, the next one takes its place in each question."""
    first, then = reranker.parts[:2]
    try:
        return check_reranker(first, embedder)
    except ModelError as error:
        return Finding(
            "reranker", "problem", f"{error.message} {then.name} takes its place.", error.remedy or "Try again later."
        )


def check_chat_model(chat_model: ChatModel | None) -> Finding:
    """Does the language model answer?"""
    if chat_model is None:
        return Finding("chat model", "skipped", "none is set: answers quote the best passages")
    answer = "".join(chat_model.stream([Message("user", "Answer with the single word: yes")]))
    if not answer.strip():
        return Finding("chat model", "problem", f"{chat_model.name} gave an empty answer", "Choose another model.")
    return Finding("chat model", "ok", chat_model.name)


def check_index(store: Store, embedder: Embedder) -> Finding:
    """Can the index be searched, does it hold what its documents say, and did the last syncs end well?"""
    counts = store.count()
    store.search("documentation", embedder.embed_query("documentation"), limit=1, alpha=0.5)
    if counts.chunks != counts.recorded_chunks:
        return Finding(
            "index",
            "problem",
            f"{counts.chunks} chunks, but the documents record {counts.recorded_chunks}",
            "Run: lore sync --all",
        )
    unwell = [state.source_id for state in store.states().values() if state.status != "ok"]
    if unwell:
        return Finding(
            "index", "warning", f"the last sync did not end well for: {', '.join(sorted(unwell))}", "Run: lore sources"
        )
    if counts.documents == 0:
        return Finding("index", "warning", "empty", "Run: lore sync --all")
    return Finding("index", "ok", f"{counts.documents:,} documents, {counts.chunks:,} chunks")


def _examine_accounts(settings: Settings) -> Iterator[Finding]:
    """The accounts by which sources are read, a finding for each server."""
    try:
        declared = load_declarations(settings.sources_dir).valid
    except LoreError:  # which is a finding already
        declared = ()
    github: dict[str, list[GitHubDeclaration]] = {}
    slack: dict[str, list[SlackDeclaration]] = {}
    for one in declared:
        if isinstance(one, GitHubRepoDeclaration | GitHubIssuesDeclaration):
            github.setdefault(one.base_url or settings.github_base_url, []).append(one)
        elif isinstance(one, SlackDeclaration):
            slack.setdefault(one.base_url or "", []).append(one)
    for repositories in github.values() or [[]]:
        yield _guarded("github", partial(check_github, settings, repositories))
    for channels in slack.values() or [[]]:
        yield _guarded("slack", partial(check_slack, settings, channels))


def _need(declaration: GitHubDeclaration) -> Need:
    from include.lore.sources.github_probe import Need

    if isinstance(declaration, GitHubRepoDeclaration):
        return Need(declaration.repository, ("contents",))
    pulls = ("pull requests",) if declaration.include_pull_requests else ()
    discussions = ("discussions",) if declaration.include_discussions else ()
    return Need(declaration.repository, ("issues", *pulls, *discussions))


def _examine_models(settings: Settings) -> Iterator[Finding]:
    embedder: Embedder | None = None

    def embed() -> Finding:
        from include.lore.wiring import make_embedder

        nonlocal embedder
        made = make_embedder(settings)
        finding = check_embedder(made)
        embedder = made
        return finding

    def rerank(embedder: Embedder) -> Finding:
        from include.lore.wiring import make_reranker

        return check_reranker(make_reranker(settings, embedder), embedder)

    def index(embedder: Embedder) -> Finding:
        from include.lore.wiring import open_store

        embedded = settings.store == "lancedb" and "://" not in settings.index_uri
        if embedded and not Path(settings.index_uri).exists():
            return Finding("index", "warning", f"there is none at {settings.index_uri} yet", "Run: lore sync --all")
        return check_index(open_store(settings, embedder), embedder)

    def chat() -> Finding:
        from include.lore.wiring import make_chat_model

        return check_chat_model(make_chat_model(settings))

    yield _guarded("embedder", embed)
    for name, check in (("reranker", rerank), ("index", index)):
        if embedder is None:
            yield Finding(name, "skipped", "needs the embedder")
        else:
            yield _guarded(name, partial(check, embedder))
    yield _guarded("chat model", chat)


def _guarded(name: str, check: Callable[[], Finding]) -> Finding:
    """The check's finding; its error is a finding too."""
    try:
        return check()
    except LoreError as error:
        return Finding(name, "problem", error.message, error.remedy)
    except ImportError as error:
        return Finding(name, "problem", f"cannot be loaded: {error}", "Install the locked requirements: make install")


def _chunk(text: str) -> Chunk:
    return Chunk("doctor", "doctor", "doctor", "", "", (), text, position=0, start=0, end=len(text))


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
