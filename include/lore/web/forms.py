"""JSON forms of what the API takes and gives."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from lore.errors import LoreError
from lore.types import Answer, Citation, Hit, Message
from lore.web.render import render_markdown

__all__ = [
    "EXAMPLE_ANSWER",
    "EXAMPLE_HIT",
    "EXAMPLE_SOURCES",
    "AskBody",
    "FeedbackBody",
    "answer_form",
    "citation_form",
    "documented",
    "error_form",
    "hit_form",
]

MAX_QUESTION = 4_000
MAX_TURN = 20_000
MAX_TURNS = 20

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Turn(BaseModel):
    """An earlier message of the conversation."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant"]
    content: Annotated[str, StringConstraints(max_length=MAX_TURN)]

    def message(self) -> Message:
        """Return it as the pipeline's message."""
        return Message(self.role, self.content)


class AskBody(BaseModel):
    """A question, the conversation before it, oldest turn first, and the ids of the sources to search (none: all)."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"question": "How do I rotate an API key?"}]}
    )

    question: Annotated[Text, Field(max_length=MAX_QUESTION)]
    history: Annotated[list[Turn], Field(max_length=MAX_TURNS)] = []
    sources: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=100)] = []


class FeedbackBody(BaseModel):
    """A person's opinion of an answer."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"helpful": False, "reason": "The command is outdated."}]}
    )

    helpful: bool
    reason: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)] = ""


EXAMPLE_CITATION = {
    "number": 1,
    "title": "API keys",
    "headings": ["Rotation"],
    "url": "https://docs.example.com/api-keys#rotation",
    "source": "handbook",
    "quote": "The old key works for a day.",
    "quote_html": "<p>The old key works for a day.</p>",
    "updated_at": "2026-11-30T08:00:00+00:00",
}
EXAMPLE_ANSWER = {
    "id": "5f0c2a9e8b7d4c1a9e3f6b2d8c7a1e04",
    "question": "How long does the old key work?",
    "text": "The old key works for a day [1].",
    "html": '<p>The old key works for a day <a class="citation" href="#source-1" data-number="1">1</a>.</p>',
    "found": True,
    "citations": [EXAMPLE_CITATION],
    "nearest": [],
    "notes": [],
    "models": {"chat": "openai:gpt-4.1-mini"},
    "seconds": {"retrieve": 0.05, "answer": 1.2, "total": 1.4},
    "cost": 0.0011,
    "trace": {"question": "How long does the old key work?", "wordings": [], "candidates": 120, "passages": 8},
}
EXAMPLE_HIT = {
    **{name: EXAMPLE_CITATION[name] for name in ("title", "headings", "url", "source", "updated_at")},
    "text": "The old key works for a day.",
    "html": "<p>The old key works for a day.</p>",
    "similarity": 0.71,
}
EXAMPLE_SOURCES = {
    "name": "Handbook assistant",
    "suggestions": ["How do I rotate an API key?"],
    "reader": "",
    "login": "",
    "sources": [
        {
            "id": "handbook",
            "kind": "files",
            "title": "Handbook",
            "documents": 42,
            "state": "ok",
            "synced_at": "2026-11-30T08:00:00+00:00",
        }
    ],
}
EXAMPLE_ERROR = {
    "error": {
        "message": "Too many questions are being answered.",
        "remedy": "Ask again in a few seconds.",
        "retry": True,
    }
}


def documented(example: object, *errors: int) -> dict[int | str, dict[str, Any]]:
    """Return OpenAPI's description of a route's responses: an example, and the statuses of its errors."""
    described: dict[int | str, dict[str, Any]] = {200: {"content": {"application/json": {"example": example}}}}
    meanings = {401: "Key or login missing", 404: "Unknown", 429: "Asked too often", 503: "Try again"}
    for status in errors:
        content = {"application/json": {"example": EXAMPLE_ERROR}}
        described[status] = {"description": meanings[status], "content": content}
    return described


def citation_form(citation: Citation) -> dict[str, Any]:
    """Return a citation with its quote as Markdown and as HTML."""
    return {
        "number": citation.number,
        "title": citation.title,
        "headings": list(citation.headings),
        "url": citation.url,
        "source": citation.source_id,
        "quote": citation.quote,
        "quote_html": render_markdown(citation.quote),
        "updated_at": citation.updated_at.isoformat() if citation.updated_at else None,
    }


def answer_form(answer: Answer) -> dict[str, Any]:
    """Return an answer for its reader. The cost, in US dollars, is None unless every call's price is known."""
    costs = [usage.cost for usage in answer.trace.usage]
    return {
        "id": answer.id,
        "question": answer.question.text,
        "text": answer.text,
        "html": render_markdown(answer.text, [citation.number for citation in answer.citations]),
        "found": answer.found,
        "citations": [citation_form(citation) for citation in answer.citations],
        "nearest": [citation_form(citation) for citation in answer.nearest],
        "notes": list(answer.trace.notes),
        "models": dict(answer.trace.models),
        "seconds": {stage: round(seconds, 3) for stage, seconds in answer.trace.seconds.items()},
        "cost": None if None in costs else round(sum(cost for cost in costs if cost is not None), 6),
        "trace": {
            "question": answer.trace.plan.question,
            "wordings": list(answer.trace.plan.wordings),
            "candidates": answer.trace.candidates,
            "passages": len(answer.trace.passages),
        },
    }


def hit_form(hit: Hit) -> dict[str, Any]:
    """Return a found passage; `similarity` is the cosine to the question."""
    chunk = hit.chunk
    return {
        "title": chunk.title,
        "headings": list(chunk.headings),
        "url": chunk.url,
        "source": chunk.source_id,
        "text": chunk.text,
        "html": render_markdown(chunk.headed_text),
        "similarity": None if hit.vector_score is None else round(float(hit.vector_score), 4),
        "updated_at": chunk.updated_at.isoformat() if chunk.updated_at else None,
    }


def error_form(error: LoreError) -> dict[str, Any]:
    """Return an error as every route gives it."""
    return {"error": {"message": error.message, "remedy": error.remedy, "retry": error.retryable}}
