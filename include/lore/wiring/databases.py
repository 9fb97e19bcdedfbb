"""The declared databases, and the SQL assistant that asks them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from lore.errors import ConfigurationError, require
from lore.settings import read_variable

if TYPE_CHECKING:
    from lore.databases.database import OpenDatabase
    from lore.databases.journey.assistant import SqlAssistant
    from lore.databases.retrieve.retriever import RetrievedSchema, SchemaRetriever
    from lore.databases.schema.model import DatabaseSchema
    from lore.declarations.database import DatabaseDeclaration
    from lore.protocols import Embedder, Recorder
    from lore.settings import Settings

__all__ = ["find_database", "make_schema_retriever", "make_sql_assistant", "open_declared", "retrieve_tables"]

AIRFLOW_PREFIX = "AIRFLOW_CONN_"
"""Airflow reads connections from such variables, so the command line does, too."""


def find_database(settings: Settings, name: str) -> DatabaseDeclaration:
    """Return the declaration of a database. Raises DeclarationError for its broken file, else ConfigurationError."""
    from lore.declarations.database import load_databases

    declared = load_databases(settings.project.databases_dir)
    if name in declared.valid:
        return declared.valid[name]
    if declared.broken:
        raise declared.broken[0]
    near = difflib.get_close_matches(name, declared.valid, n=1)
    known = f"Known: {', '.join(declared.valid)}." if declared.valid else "None is declared yet."
    raise ConfigurationError(f"No database {name!r} is declared.", remedy=f"Did you mean {near[0]}?" if near else known)


def open_declared(declaration: DatabaseDeclaration, environ: Mapping[str, str] | None = None) -> OpenDatabase:
    """Return the declared database; its address comes from `environ` (default: the process and `.env`).

    Nothing is connected yet. Raises ConfigurationError without an address.
    """
    require("sqlglot", "sql", "Asking a database")
    from lore.databases.database import OpenDatabase
    from lore.databases.run.connect import open_database

    if declaration.url_variable:
        variable = declaration.url_variable
        url = read_variable(variable, environ)
    else:
        variable = AIRFLOW_PREFIX + (declaration.connection or "").upper()
        url = _connection_url(read_variable(variable, environ) or "", variable)
    if not url:
        raise ConfigurationError(
            f"The address of the database {declaration.id} is missing.",
            remedy=f"Set {variable} to sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE.",
        )
    return OpenDatabase(declaration, open_database(url, variable))


def make_schema_retriever(settings: Settings, embedder: Embedder, way: str = "") -> SchemaRetriever:
    """Return the way to find tables that the settings name, or `way`. Nothing is embedded yet."""
    from lore.databases.retrieve.linked import LinkedRetriever
    from lore.databases.retrieve.vector_indexes import ChromaRetriever, FaissRetriever
    from lore.databases.retrieve.vectors import VectorFiles
    from lore.databases.retrieve.words import KeywordRetriever, WholeSchema

    folder = settings.project.cache_dir / "schemas"
    vectors = VectorFiles(embedder, folder)
    match way or settings.sql.retrieval:
        case "none":
            return WholeSchema()
        case "keyword":
            return KeywordRetriever()
        case "faiss":
            return FaissRetriever(vectors)
        case "chroma":
            return ChromaRetriever(vectors, folder / "chroma")
    return LinkedRetriever(vectors)


def retrieve_tables(settings: Settings, question: str, schema: DatabaseSchema) -> RetrievedSchema:
    """Return the tables for a question, by the settings' way and limits."""
    from lore.databases.retrieve.retriever import retrieve_schema
    from lore.databases.retrieve.words import KeywordRetriever
    from lore.wiring.models import make_embedder

    return retrieve_schema(
        question,
        schema,
        make_schema_retriever(settings, make_embedder(settings)),
        KeywordRetriever(),
        limit=settings.sql.tables,
        max_tokens=settings.sql.schema_tokens,
    )


def make_sql_assistant(
    settings: Settings,
    declaration: DatabaseDeclaration,
    *,
    recorder: Recorder | None = None,
    environ: Mapping[str, str] | None = None,
) -> SqlAssistant:
    """Return the assistant for a database; a `recorder` keeps its answers. `environ` has its address, as above.

    Raises ConfigurationError without a language model, or without the database's address.
    """
    from lore.databases.journey.assistant import SqlAssistant
    from lore.wiring.models import make_chat_model
    from lore.wiring.query import make_budget

    database = open_declared(declaration, environ)
    chat = make_chat_model(settings)
    if chat is None:
        raise ConfigurationError(
            "No language model is set to write SQL.", remedy="Set LORE_CHAT_MODEL, for example to openai:gpt-4.1-mini."
        )
    return SqlAssistant(
        database,
        chat,
        partial(retrieve_tables, settings),
        review=settings.sql.review,
        repairs=settings.sql.repairs,
        budget=make_budget(settings, recorded=recorder is not None, leave_for_answer=False),
        recorder=recorder,
    )


def _connection_url(text: str, variable: str) -> str:
    """Return the address in an Airflow connection: a URI, or a JSON object with its parts."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        parts = json.loads(text)
        kind = str(parts["conn_type"]).replace("postgresql", "postgres")
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(f"{variable} is no Airflow connection.", remedy="Write a URI or JSON.") from None
    if kind == "sqlite":
        return f"sqlite:///{parts.get('host', '')}"
    login = ":".join(quote(str(parts[key]), safe="") for key in ("login", "password") if parts.get(key))
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{kind}ql://{login + '@' if login else ''}{parts.get('host', '')}{port}/{parts.get('schema', '')}"
