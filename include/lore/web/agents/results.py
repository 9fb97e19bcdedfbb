"""Results of the tools for agents, with the schemas that clients see."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from lore.types import Answer, Citation, Document, Hit
from lore.visible_text import visible, web_address
from lore.web.services import ServedSource

__all__ = [
    "AnswerResult",
    "DocumentResult",
    "SearchResult",
    "SourcesResult",
    "answer_result",
    "document_result",
    "hit_result",
    "source_result",
]


class CitedPage(BaseModel):
    """A page that an answer cites, or one that comes near."""

    number: int = Field(description="The n of [n] in the text")
    title: str
    headings: list[str] = Field(description="Path of the section within the page")
    url: str = Field(description="Address to cite; may be empty")
    document: str = Field(description="Id for read_document")
    source: str
    quote: str = Field(description="Verbatim piece of the page")
    updated_at: datetime | None = Field(description="Last change of the page, if its source tells")


class AnswerResult(BaseModel):
    """An answer with its sources."""

    text: str = Field(description="Answer in Markdown; [n] refers to a citation")
    found: bool = Field(description="False if the sources don't have the answer")
    citations: list[CitedPage]
    nearest: list[CitedPage] = Field(description="Closest pages if nothing was found")
    notes: list[str] = Field(description="Remarks about the search, such as a corrected spelling")
    id: str = Field(description="Id under which the answer is recorded")


class FoundPassage(BaseModel):
    """A passage of a document."""

    title: str
    headings: list[str]
    url: str
    document: str = Field(description="Id for read_document")
    source: str
    text: str = Field(description="The passage in Markdown")
    offset: int = Field(description="Its first character in the document")
    similarity: float | None = Field(description="Cosine to the query, at most 1")
    updated_at: datetime | None


class SearchResult(BaseModel):
    """Passages, best first."""

    passages: list[FoundPassage]


class DocumentResult(BaseModel):
    """A document, or a part of a long one."""

    document: str
    title: str
    url: str
    source: str
    text: str
    offset: int
    characters: int = Field(description="Length of the whole document")
    next_offset: int | None = Field(description="Offset of the next part; null at the end")
    updated_at: datetime | None


class SourceRow(BaseModel):
    """A source."""

    id: str
    title: str
    kind: str
    documents: int
    synced_at: datetime | None


class SourcesResult(BaseModel):
    """The sources that the caller may read."""

    sources: list[SourceRow]


def answer_result(answer: Answer) -> AnswerResult:
    """Return an answer for an agent."""
    return AnswerResult(
        text=answer.text,
        found=answer.found,
        citations=[_page(citation) for citation in answer.citations],
        nearest=[] if answer.found else [_page(citation) for citation in answer.nearest],
        notes=list(answer.trace.notes),
        id=answer.id,
    )


def _page(citation: Citation) -> CitedPage:
    return CitedPage(
        number=citation.number,
        title=citation.title,
        headings=list(citation.headings),
        url=citation.url,
        document=citation.document_id,
        source=citation.source_id,
        quote=citation.quote,
        updated_at=citation.updated_at,
    )


def hit_result(hit: Hit) -> FoundPassage:
    """Return a found passage for an agent."""
    chunk = hit.chunk
    return FoundPassage(
        title=visible(chunk.title),
        headings=[visible(heading) for heading in chunk.headings],
        url=web_address(chunk.url),
        document=chunk.document_id,
        source=chunk.source_id,
        text=chunk.text,
        offset=chunk.start,
        similarity=None if hit.vector_score is None else round(float(hit.vector_score), 4),
        updated_at=chunk.updated_at,
    )


def document_result(document: Document, offset: int, limit: int) -> DocumentResult:
    """Return `limit` characters of a document, from `offset` on."""
    text = document.text[offset : offset + limit]
    end = offset + len(text)
    return DocumentResult(
        document=document.id,
        title=visible(document.title),
        url=web_address(document.url),
        source=document.source_id,
        text=text,
        offset=offset,
        characters=len(document.text),
        next_offset=end if end < len(document.text) else None,
        updated_at=document.updated_at,
    )


def source_result(source: ServedSource) -> SourceRow:
    """Return a source for an agent."""
    return SourceRow(
        id=source.id, title=source.title, kind=source.kind, documents=source.documents, synced_at=source.synced_at
    )
