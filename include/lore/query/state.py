"""What is known of one question while it is answered, and the answer that comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

from lore.protocols import Index, OnUsage
from lore.query.answer.quotes import cite
from lore.query.budget import Purse
from lore.query.retrieve.passages import Passage
from lore.query.verify.stream import citations_of
from lore.types import Answer, CandidateRank, Check, Citation, Hit, Plan, Question, Trace, Usage

__all__ = ["Run"]

NEAREST_PAGES = 3


@dataclass
class Run:
    """One question on its way. All of its searches are of one version of the `index`, which has the number `version`.

    `sources` are the passages that the answer is written from: the n-th is the one that `[n]` cites.
    """

    question: Question
    models: Mapping[str, str]
    plan: Plan
    index: Index
    version: int | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    notes: list[str] = field(default_factory=list)
    retrieved: int = 0
    candidates: tuple[Hit, ...] = ()
    ranked: tuple[Hit, ...] = ()
    sources: tuple[Passage, ...] = ()
    prompts: dict[str, str] = field(default_factory=dict)
    usage: list[Usage] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    check: Check = field(default_factory=Check)
    found: bool = True
    nearest: tuple[Citation, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    purse: Purse | None = None

    @property
    def passages(self) -> tuple[Hit, ...]:
        """The passages that the answer is written from, as hits."""
        return tuple(source.hit for source in self.sources)

    def on_usage(self, stage: str) -> OnUsage:
        """What a model of this stage tells its usage to."""
        return partial(self._used, stage)

    def _used(self, stage: str, usage: Usage) -> None:
        usage = replace(usage, stage=stage)
        self.usage.append(usage)
        if self.purse:
            self.purse.book(usage)

    def refusal(self, stage: str, model: str, size: int | None = None) -> str:
        """Why the budget does not allow a stage to call its model, for the notes; "" where it does."""
        return self.purse.refusal(stage, model, size) if self.purse else ""

    def close(self) -> None:
        """The question is answered, or was left."""
        if self.purse:
            self.purse.close()

    def nearest_pages(self) -> tuple[Citation, ...]:
        """The closest pages, each once."""
        pages: dict[str, Hit] = {}
        for hit in self.passages:
            pages.setdefault(hit.chunk.document_id, hit)
        nearest = list(pages.values())[:NEAREST_PAGES]
        return tuple(cite(number, hit, self.plan.question) for number, hit in enumerate(nearest, start=1))

    def answer(self) -> Answer:
        """The answer as it now stands, with an id of its own."""
        text = "".join(self.text)
        trace = Trace(
            plan=self.plan,
            retrieved=self.retrieved,
            candidates=len(self.candidates),
            passages=self.passages,
            ranking=_ranking(self.candidates, self.ranked, self.sources),
            check=self.check,
            models=self.models,
            prompts=self.prompts,
            usage=tuple(self.usage),
            seconds=self.seconds,
            notes=tuple(self.notes),
            version=self.version,
        )
        citations = citations_of(text, self.passages, self.check.kept_citations, self.plan.question)
        return Answer(self.question, text, citations, self.found, trace, self.nearest, uuid4().hex)


def _ranking(candidates: Sequence[Hit], ranked: Sequence[Hit], sources: Sequence[Passage]) -> tuple[CandidateRank, ...]:
    """Where each candidate stood; kept are those that a source was made of."""
    kept = {hit.chunk.id for source in sources for hit in source.parts}
    places = {hit.chunk.id: place for place, hit in enumerate(ranked, start=1) if hit.chunk.id in kept}
    return tuple(
        CandidateRank(hit.chunk.id, hit.chunk.document_id, hit.chunk.title, place, places.get(hit.chunk.id), hit.score)
        for place, hit in enumerate(candidates, start=1)
    )
