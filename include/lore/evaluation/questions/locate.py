"""The documents of the index that the pages of a question set refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from lore.errors import ConfigurationError
from lore.evaluation.questions.question_set import JudgedQuestion, QuestionSet
from lore.ingest.finish.duplicates import DUPLICATE_OF

__all__ = ["MINIMUM_QUESTIONS", "IndexedPage", "LocatedQuestion", "LocatedSet", "locate"]

MINIMUM_QUESTIONS = 5


class IndexedPage(Protocol):
    """The part of an indexed document that locating reads; every `Document` has it."""

    @property
    def id(self) -> str: ...

    @property
    def source_id(self) -> str: ...

    @property
    def url(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class LocatedQuestion:
    """A question whose pages are in the index. `relevance` maps document ids to grades.

    If several documents are the same page, one of them is in `relevance` and `same_page` maps the others to it.
    `missing` are those of its pages that the index lacks.
    """

    question: JudgedQuestion
    relevance: Mapping[str, int]
    same_page: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LocatedSet:
    """The questions that can judge an index, those that can't, and the pages that it lacks."""

    name: str
    questions: tuple[LocatedQuestion, ...]
    left_out: tuple[JudgedQuestion, ...] = ()
    missing_pages: tuple[str, ...] = ()


def locate(questions: QuestionSet, documents: Iterable[IndexedPage], *, minimum: int = MINIMUM_QUESTIONS) -> LocatedSet:
    """Find the questions' pages among the documents of an index in one pass.

    A page is the document with that id; else the one with the id "<source>:<page>"; else the one at that address,
    ignoring a fragment and a trailing slash. Only documents of the question's sources count, and a hidden duplicate
    counts as the one that is shown. Questions without a page in the index, and unanswerable ones, are left out. Raises
    ConfigurationError if fewer than `minimum` are left.
    """
    found = _Found.among(documents, {page for question in questions.questions for page in question.pages})
    located: list[LocatedQuestion] = []
    left_out: list[JudgedQuestion] = []
    missing: dict[str, None] = {}
    for question in questions.questions:
        if question.unanswerable:
            continue
        lacks: list[str] = []
        relevance: dict[str, int] = {}
        same_page: dict[str, str] = {}
        for page, grade in question.pages.items():
            ids = found.documents(page, question.sources)
            if not ids:
                lacks.append(page)
                continue
            first = next((same_page.get(id_, id_) for id_ in ids if id_ in relevance or id_ in same_page), ids[0])
            same_page |= {id_: first for id_ in ids if id_ != first}
            relevance[first] = max(grade, relevance.get(first, 0))
        missing |= dict.fromkeys(lacks)
        if relevance:
            located.append(LocatedQuestion(question, relevance, same_page, tuple(lacks)))
        else:
            left_out.append(question)
    if len(located) < minimum:
        raise _too_few(questions, len(located), left_out, minimum)
    return LocatedSet(questions.name, tuple(located), tuple(left_out), tuple(missing))


def _too_few(questions: QuestionSet, judged: int, left_out: list[JudgedQuestion], minimum: int) -> ConfigurationError:
    total = sum(not question.unanswerable for question in questions.questions)
    why = ""
    if left_out:
        page = next(iter(left_out[0].pages))
        why = f" The index lacks the pages of {len(left_out)}, such as {page[:200]!r} of {left_out[0].text[:200]!r}."
    return ConfigurationError(
        f"{questions.name}: {judged} of {total} questions can be judged, and a verdict needs at least {minimum}.{why}",
        remedy="Add questions, correct their pages (document ids or addresses), or sync the sources that hold them.",
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """Page as written → (document id, source id) of the documents it may mean, by the way it names them."""

    by_way: tuple[dict[str, list[tuple[str, str]]], ...]

    @classmethod
    def among(cls, documents: Iterable[IndexedPage], pages: set[str]) -> _Found:
        wanted_urls: dict[str, list[str]] = {}
        for page in pages:
            wanted_urls.setdefault(_address(page), []).append(page)
        found = cls(({}, {}, {}))
        for document in documents:
            shown = document.metadata.get(DUPLICATE_OF, document.id)
            local = document.id.removeprefix(f"{document.source_id}:")
            names: tuple[Iterable[str], ...] = (
                {document.id} & pages,
                {local} & pages,
                wanted_urls.get(_address(document.url), ()) if document.url else (),
            )
            for way, matches in zip(found.by_way, names, strict=True):
                for page in matches:
                    way.setdefault(page, []).append((shown, document.source_id))
        return found

    def documents(self, page: str, sources: tuple[str, ...]) -> list[str]:
        """Return the ids of the documents that are the page, in order; empty if it is absent."""
        return next((ids for ids in self._ways(page, sources) if ids), [])

    def _ways(self, page: str, sources: tuple[str, ...]) -> Iterator[list[str]]:
        for way in self.by_way:
            yield sorted({id_ for id_, source in way.get(page, ()) if not sources or source in sources})


def _address(url: str) -> str:
    return url.partition("#")[0].rstrip("/")
