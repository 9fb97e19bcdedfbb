"""A team's questions with the pages that answer them.

A question set is a YAML file (`question_file`) or a folder in BEIR's layout, whose corpus is then not read: its
judgements are about pages that the team's index is expected to hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from lore.errors import ConfigurationError
from lore.evaluation.beir.dataset import Query, load_queries
from lore.evaluation.questions.question_file import QuestionItem, read_question_file
from lore.types import PUBLIC, Question

__all__ = ["JudgedQuestion", "QuestionSet", "load_questions"]


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question and the pages that answer it: a document's id or address → grade, 1 being the lowest.

    `sources` and `audiences` are the asker's, as in `Question`. `must_mention` are words that a correct answer
    contains, `reference` is such an answer, and `tags` are the team's own; the gate reads none of them. An
    `unanswerable` question has no pages: the right answer is that nothing was found.
    """

    id: str
    text: str
    pages: Mapping[str, int]
    sources: tuple[str, ...] = ()
    audiences: tuple[str, ...] = (PUBLIC,)
    must_mention: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    reference: str = ""
    unanswerable: bool = False

    def asked(self) -> Question:
        """The question as the search takes it."""
        return Question(self.text, sources=self.sources, audiences=self.audiences)

    def mentioned_in(self, answer: str) -> float | None:
        """Return the share of `must_mention` that an answer contains, ignoring case; None without such words."""
        if not self.must_mention:
            return None
        folded = " ".join(answer.casefold().split())
        return fmean(" ".join(words.casefold().split()) in folded for words in self.must_mention)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Judged questions in file order; `name` is that of the file or folder. `drafts` counts the questions that nobody
    has accepted yet.
    """

    name: str
    questions: tuple[JudgedQuestion, ...]
    drafts: int = 0


def load_questions(path: Path) -> QuestionSet:
    """Read a YAML file of questions, or the queries and judgements of a BEIR folder; drafts are left out.

    Raises ConfigurationError with the file, the line and the remedy.
    """
    if path.is_dir():
        return QuestionSet(path.resolve().name, tuple(map(_from_query, load_queries(path))))
    items = read_question_file(path)
    accepted = tuple(_from_item(item) for item in items if not item.draft)
    if not accepted:
        raise ConfigurationError(
            f"{path}: all of its questions are drafts.",
            remedy="Read them, and delete `draft: true` from those that you accept.",
        )
    return QuestionSet(path.name, accepted, drafts=len(items) - len(accepted))


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
        reference=item.reference,
        unanswerable=item.unanswerable,
    )
