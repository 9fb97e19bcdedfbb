"""The checks behind `lore doctor`, each with a remedy.

A check reads, or makes one tiny call. None of them creates an index or changes stored data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from lore.doctor.accounts import check_github, check_slack, examine_accounts
from lore.doctor.finding import Finding, guarded
from lore.doctor.index import check_index, check_settings_fit, check_weaviate
from lore.doctor.models import check_chat_model, check_embedder, check_reranker
from lore.doctor.system import (
    check_access,
    check_airflow,
    check_assistant,
    check_declarations,
    check_packages,
    check_python,
    check_records,
    check_staging,
)
from lore.errors import LoreError
from lore.protocols import Embedder
from lore.settings import Settings, load_settings

__all__ = [
    "Finding",
    "check_access",
    "check_airflow",
    "check_assistant",
    "check_chat_model",
    "check_declarations",
    "check_embedder",
    "check_github",
    "check_index",
    "check_packages",
    "check_python",
    "check_records",
    "check_reranker",
    "check_slack",
    "check_staging",
    "check_weaviate",
    "examine",
    "examine_accounts",
    "guarded",
]

CALL_SECONDS = 20.0


def examine(environ: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """Yield the findings one by one, as the checks end; an error in one check never ends the others."""
    yield guarded("python", check_python)
    yield guarded("packages", check_packages)
    yield guarded("airflow", check_airflow)
    try:
        settings = load_settings(environ)
    except LoreError as error:
        yield Finding("settings", "problem", error.message, error.remedy)
        return
    yield Finding("settings", "ok", "every LORE_ name is known and every value fits")
    yield guarded("declarations", lambda: check_declarations(settings.project.sources_dir))
    yield guarded("assistant", lambda: check_assistant(settings.project.assistant))
    yield guarded("access", lambda: check_access(settings))
    yield guarded("staging", lambda: check_staging(settings.ingest.staging_uri))
    yield guarded("records", lambda: check_records(settings))
    settings = settings.with_values(max_retries=0, timeout_seconds=min(settings.calls.timeout_seconds, CALL_SECONDS))
    yield from examine_accounts(settings)
    if settings.index.store == "weaviate":
        yield guarded("weaviate", lambda: check_weaviate(settings))
    yield from _examine_models(settings)


def _examine_models(settings: Settings) -> Iterator[Finding]:
    embedder: Embedder | None = None

    def embed() -> Finding:
        from lore.wiring.models import make_embedder

        nonlocal embedder
        made = make_embedder(settings)
        finding = check_embedder(made)
        embedder = made
        return finding

    def rerank(embedder: Embedder) -> Finding:
        from lore.wiring.models import make_reranker

        return check_reranker(make_reranker(settings, embedder), embedder)

    def index(embedder: Embedder) -> Finding:
        from lore.wiring.stores import index_exists, open_store

        if not index_exists(settings):
            place = Path(settings.index.index_uri).absolute()
            return Finding("index", "warning", f"there is none at {place} yet", "Run: lore sync --all")
        finding = check_index(open_store(settings, embedder), embedder)
        if finding.status != "problem":
            check_settings_fit(settings, embedder)
        return finding

    def chat() -> Finding:
        from lore.wiring.models import make_chat_model

        return check_chat_model(make_chat_model(settings))

    yield guarded("embedder", embed)
    for name, check in (("reranker", rerank), ("index", index)):
        if embedder is None:
            yield Finding(name, "skipped", "needs the embedder")
        else:
            yield guarded(name, partial(check, embedder))
    yield guarded("chat model", chat)
