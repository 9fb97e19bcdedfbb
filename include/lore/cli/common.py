"""Shared parts of commands: names of sources, the index for reading, values as JSON."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lore.errors import ConfigurationError

if TYPE_CHECKING:
    from lore.protocols import Embedder, Store
    from lore.settings import Settings
    from lore.types import Answer, Citation, Filters, Hit

__all__ = ["INTERRUPTED", "answer_json", "check_sources", "hit_json", "open_index"]

INTERRUPTED = 130
"""Exit code of an interrupted command: 128 and the number of SIGINT."""


def check_sources(wanted: Sequence[str], known: Collection[str], where: str) -> None:
    """Raise ConfigurationError for an unknown source id, naming the nearest known one."""
    for source_id in wanted:
        if source_id in known:
            continue
        near = difflib.get_close_matches(source_id, known, n=1)
        if near:
            remedy = f"Did you mean {near[0]}?"
        else:
            remedy = f"Known: {', '.join(sorted(known))}." if known else "There are none yet."
        raise ConfigurationError(f"No source {source_id!r} {where}.", remedy=remedy)


def open_index(settings: Settings, sources: Sequence[str] = ()) -> tuple[Store, Embedder]:
    """Open the index with its embedder for reading. Raises ConfigurationError if it is absent or lacks a source."""
    from lore.wiring.models import make_embedder
    from lore.wiring.stores import open_store, require_index

    require_index(settings)
    embedder = make_embedder(settings)
    store = open_store(settings, embedder)
    if sources:
        check_sources(sources, set(store.states()), "in the index")
    return store, embedder


def hit_json(hit: Hit) -> dict[str, Any]:
    """Return a passage as JSON values."""
    chunk = hit.chunk
    return {
        "score": round(float(hit.score), 6),
        "vector_score": None if hit.vector_score is None else round(float(hit.vector_score), 6),
        "keyword_score": None if hit.keyword_score is None else round(float(hit.keyword_score), 6),
        "source_id": chunk.source_id,
        "document_id": chunk.document_id,
        "chunk_id": chunk.id,
        "title": chunk.title,
        "headings": list(chunk.headings),
        "url": chunk.url,
        "text": chunk.text,
        "updated_at": chunk.updated_at.isoformat() if chunk.updated_at else None,
    }


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return an answer, its citations and its trace as JSON values."""
    trace = answer.trace
    return {
        "id": answer.id,
        "question": answer.question.text,
        "found": answer.found,
        "text": answer.text,
        "citations": [_citation_json(citation) for citation in answer.citations],
        "nearest": [_citation_json(citation) for citation in answer.nearest],
        "trace": {
            "question": trace.plan.question,
            "wordings": list(trace.plan.wordings),
            "search": trace.plan.search,
            "from_context": trace.plan.from_context,
            "filters": _filters_json(trace.plan.filters),
            "retrieved": trace.retrieved,
            "candidates": trace.candidates,
            "passages": [hit_json(hit) for hit in trace.passages],
            "kept_citations": list(trace.check.kept_citations),
            "dropped_citations": list(trace.check.dropped_citations),
            "dropped_links": list(trace.check.dropped_links),
            "dropped_commands": list(trace.check.dropped_commands),
            "unsupported": list(trace.check.unsupported),
            "misquoted": list(trace.check.misquoted),
            "uncited": trace.check.uncited,
            "cited": trace.check.cited,
            "supported": trace.check.supported,
            "models": dict(trace.models),
            "seconds": {stage: round(seconds, 4) for stage, seconds in trace.seconds.items()},
            "notes": list(trace.notes),
            "ignored": list(trace.ignored),
            "unverified": list(trace.check.unverified),
        },
    }


def _filters_json(filters: Filters) -> dict[str, Any]:
    bounds = {"updated_after": filters.updated_after, "updated_before": filters.updated_before}
    return {"sources": list(filters.sources)} | {
        name: bound.isoformat() if bound else None for name, bound in bounds.items()
    }


def _citation_json(citation: Citation) -> dict[str, Any]:
    updated_at = citation.updated_at.isoformat() if citation.updated_at else None
    return asdict(citation) | {"updated_at": updated_at}
