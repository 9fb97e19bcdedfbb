"""A team's questions with the pages that answer them.

A question set is a YAML file (`question_file`) or a folder in BEIR's layout, whose corpus is then not read: its
judgements are about pages that the team's index is expected to hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from include.lore.evaluation.beir import Query, load_queries
from include.lore.evaluation.question_file import QuestionItem, read_question_file
from include.lore.types import PUBLIC, Question

__all__ = ["JudgedQuestion", "QuestionSet", "load_questions"]


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question and the pages that answer it: a document's id or address → grade, of which 1 is the lowest.

    `sources` and `audiences` are those of the asker, as in `Question`. `must_mention` are words that a correct answer
    holds, and `tags` are the team's own; the gate reads neither.
    """

    id: str
    text: str
    pages: Mapping[str, int]
    sources: tuple[str, ...] = ()
    audiences: tuple[str, ...] = (PUBLIC,)
    must_mention: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def asked(self) -> Question:
        """The question as the search takes it."""
        return Question(self.text, sources=self.sources, audiences=self.audiences)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Judged questions in the order of their file; `name` is that of the file or folder."""

    name: str
    questions: tuple[JudgedQuestion, ...]


def load_questions(path: Path) -> QuestionSet:
    """Read a YAML file of questions, or the queries and judgements of a BEIR folder.

    Raises ConfigurationError, which names the file, the line and what to do.
    """
    if path.is_dir():
        return QuestionSet(path.resolve().name, tuple(map(_from_query, load_queries(path))))
    return QuestionSet(path.name, tuple(map(_from_item, read_question_file(path))))


def _from_query(query: Query) -> JudgedQuestion:
    return JudgedQuestion(query.id, query.text, {page: grade for page, grade in query.relevance.items() if grade > 0})


def _from_item(item: QuestionItem) -> JudgedQuestion:
    return JudgedQuestion(
        id=item.id,
        text=item.question,
        pages=item.pages,
        sources=item.sources,
        audiences=item.audiences,
        must_mention=item.must_mention,
        tags=item.tags,
    )
