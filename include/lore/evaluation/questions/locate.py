"""Where the pages of a question set are in the team's index."""

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
    """What is looked at of a document that the index holds; every `Document` is one."""

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

    Where several documents are the same page, one of them stands in `relevance` and `same_page` leads the others to it.
    `missing` are those of its pages that the index lacks.
    """

    question: JudgedQuestion
    relevance: Mapping[str, int]
    same_page: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LocatedSet:
    """The questions that an index can be judged by, those that it cannot, and the pages that it lacks."""

    name: str
    questions: tuple[LocatedQuestion, ...]
    left_out: tuple[JudgedQuestion, ...] = ()
    missing_pages: tuple[str, ...] = ()


def locate(questions: QuestionSet, documents: Iterable[IndexedPage], *, minimum: int = MINIMUM_QUESTIONS) -> LocatedSet:
    """Find the questions' pages among the documents of an index, which are gone through once.

    A page is the document that has it as its id; else the one whose id is "<source>:<page>"; else the one whose address
    it is, without regard to a fragment and a slash at the end. Only documents of the question's sources count, and a
    document that is hidden because it is there twice counts as the one that is shown.
    A question with no page in the index is left out, and an unanswerable one is passed over. Raises ConfigurationError
    when fewer than `minimum` are left.
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
        """The ids of the documents that are the page, in order; none when it is not there."""
        return next((ids for ids in self._ways(page, sources) if ids), [])

    def _ways(self, page: str, sources: tuple[str, ...]) -> Iterator[list[str]]:
        for way in self.by_way:
            yield sorted({id_ for id_, source in way.get(page, ()) if not sources or source in sources})


def _address(url: str) -> str:
    return url.partition("#")[0].rstrip("/")
