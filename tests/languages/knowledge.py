"""A handbook in German, Japanese and English, questions about it, and a pipeline over parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from lore.ingest.split.splitter import MarkdownSplitter
from lore.models.local_reranker import LocalReranker
from lore.protocols import Embedder
from lore.query.deadlines import Deadlines
from lore.query.pipeline import Pipeline, PipelineModels, PipelineSettings
from lore.stores.lancedb.store import LanceStore
from lore.types import EmbeddedDocument, Recipe

from tests.fakes import make_document

FOLDER = Path(__file__).with_name("handbook")


@dataclass(frozen=True)
class Asked:
    """A question, with the words that answer it in its own language and in English."""

    text: str
    own: str
    english: str


def questions(language: str) -> list[Asked]:
    loaded = yaml.safe_load(FOLDER.with_suffix(".yaml").read_text(encoding="utf-8"))
    return [Asked(one["ask"], one["own"], one["english"]) for one in loaded[language]]


def pipeline_over(languages: Sequence[str], embedder: Embedder, folder: Path) -> Pipeline:
    """Index the handbook in these languages, and return a pipeline without a language model."""
    splitter = MarkdownSplitter(MarkdownSplitter.budget_for(embedder))
    store = LanceStore(str(folder), Recipe(embedder.name, embedder.dimensions, splitter.name))
    entries = []
    for language in languages:
        for file in sorted((FOLDER / language).glob("*.md")):
            text = file.read_text(encoding="utf-8")
            title = text.partition("\n")[0].removeprefix("# ")
            document = make_document(f"{language}/{file.stem}", text, language, title=title, format="md")
            chunks = splitter.split(document)
            vectors = embedder.embed_documents([chunk.embedded_text for chunk in chunks])
            entries.append(EmbeddedDocument(document, "1", tuple(chunks), vectors))
    store.replace(entries)
    return Pipeline(
        store,
        PipelineModels(embedder, LocalReranker(embedder)),
        PipelineSettings(alpha=0.5, retrieve_limit=100, rerank_limit=8, deadlines=Deadlines(30, 30, 30, 60, 30)),
    )
