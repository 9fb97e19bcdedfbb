"""Search as a LangChain retriever, for chains of a team's own."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, SkipValidation

from lore.query.answer.prompt_sources import passage_text
from lore.query.pipeline import Pipeline
from lore.types import PUBLIC, Hit, Question
from lore.visible_text import visible, web_address

__all__ = ["LoreRetriever"]


class LoreRetriever(BaseRetriever):
    """Finds the passages of an answer: hybrid search and reranking, without a language model.

    A document's `page_content` is the passage in Markdown, its `id` that of the passage. `metadata` has `source` (the
    address, or the document's id without one), `title`, `section`, `source_id`, `document_id`, `updated_at` (ISO 8601
    or None) and `similarity` (a cosine, or None). Raises LoreError.
    """

    pipeline: SkipValidation[Pipeline] = Field(exclude=True)
    k: int = Field(8, ge=1, le=100, description="Number of passages")
    sources: tuple[str, ...] = Field((), description="Ids of the sources to search; empty: all")
    audiences: tuple[str, ...] = Field((PUBLIC,), description="Whom the retriever reads as")

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None, **_: Any
    ) -> list[Document]:
        question = Question(query, sources=self.sources, audiences=self.audiences)
        return [_document(hit) for hit in self.pipeline.search(question, k or self.k)]


def _document(hit: Hit) -> Document:
    chunk = hit.chunk
    return Document(
        id=chunk.id,
        page_content=passage_text(hit),
        metadata={
            "source": web_address(chunk.url) or chunk.document_id,
            "title": visible(chunk.title),
            "section": " > ".join(filter(None, map(visible, chunk.headings))),
            "source_id": chunk.source_id,
            "document_id": chunk.document_id,
            "updated_at": chunk.updated_at.isoformat() if chunk.updated_at else None,
            "similarity": None if hit.vector_score is None else float(hit.vector_score),
        },
    )
