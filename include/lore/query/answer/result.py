"""The finished answer with its trace, made from the state of a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from lore.query.answer.quotes import at_section, citations_of, cite
from lore.query.retrieve.passages import SourcePassage
from lore.query.state import QuestionState
from lore.types import Answer, CandidateRank, Citation, Hit, Trace

__all__ = ["finished_answer", "nearest_pages"]

NEAREST_PAGES = 3


def finished_answer(state: QuestionState) -> Answer:
    """Return the answer with a new id."""
    text = "".join(state.text)
    trace = Trace(
        plan=state.plan,
        retrieved=state.retrieved,
        candidates=len(state.candidates),
        passages=state.passages,
        ranking=_ranking(state.candidates, state.ranked, state.sources),
        check=state.check,
        models=state.models,
        prompts=state.prompts,
        usage=tuple(state.usage),
        seconds=state.seconds,
        notes=tuple(state.notes),
        version=state.version,
        ignored=state.ignored,
    )
    citations = tuple(
        at_section(
            replace(citation, quote=state.quotes.get(citation.number, citation.quote)),
            state.sources[citation.number - 1],
        )
        for citation in citations_of(text, state.passages, state.check.kept_citations, state.plan.question)
    )
    return Answer(state.question, text, citations, state.found, trace, state.nearest, uuid4().hex)


def nearest_pages(state: QuestionState) -> tuple[Citation, ...]:
    """Return citations of the closest pages, each page once."""
    pages: dict[str, Hit] = {}
    for hit in state.passages:
        pages.setdefault(hit.chunk.document_id, hit)
    nearest = list(pages.values())[:NEAREST_PAGES]
    return tuple(cite(number, hit, state.plan.question) for number, hit in enumerate(nearest, start=1))


def _ranking(
    candidates: Sequence[Hit], ranked: Sequence[Hit], sources: Sequence[SourcePassage]
) -> tuple[CandidateRank, ...]:
    """Return each candidate's ranks; the kept ones are the parts of sources."""
    kept = {hit.chunk.id for source in sources for hit in source.parts}
    places = {hit.chunk.id: place for place, hit in enumerate(ranked, start=1) if hit.chunk.id in kept}
    return tuple(
        CandidateRank(hit.chunk.id, hit.chunk.document_id, hit.chunk.title, place, places.get(hit.chunk.id), hit.score)
        for place, hit in enumerate(candidates, start=1)
    )
