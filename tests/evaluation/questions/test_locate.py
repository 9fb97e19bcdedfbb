"""Finding a question set's pages in an index."""

from __future__ import annotations

import pytest
from lore.errors import ConfigurationError
from lore.evaluation.questions.locate import LocatedSet, locate
from lore.evaluation.questions.question_set import JudgedQuestion, QuestionSet
from lore.types import Document

from tests.fakes import make_document

DOCUMENTS = [
    make_document("keys.md", url="https://docs.example.com/keys/"),
    make_document("backup.md", url="https://docs.example.com/backup#top"),
    make_document("scale.md", url=""),
    make_document("keys.md", source_id="wiki", url="https://wiki.example.com/keys"),
]


def located(*pages: str, sources: tuple[str, ...] = (), documents: list[Document] = DOCUMENTS) -> LocatedSet:
    question = JudgedQuestion("q1", "x", dict.fromkeys(pages, 1), sources)
    return locate(QuestionSet("set", (question,)), iter(documents), minimum=0)


@pytest.mark.parametrize(
    ("page", "document"),
    [
        ("fake:keys.md", "fake:keys.md"),
        ("backup.md", "fake:backup.md"),
        ("https://docs.example.com/keys", "fake:keys.md"),
        ("https://docs.example.com/keys/", "fake:keys.md"),
        ("https://docs.example.com/keys/#rotate", "fake:keys.md"),
        ("https://docs.example.com/backup", "fake:backup.md"),
        ("https://docs.example.com/backup#other", "fake:backup.md"),
    ],
)
def test_a_page_is_named_by_id_by_id_within_its_source_or_by_address(page: str, document: str) -> None:
    assert located(page).questions[0].relevance == {document: 1}


@pytest.mark.parametrize(
    "page", ["", "#", "/", "keys", "fake:", "https://docs.example.com", "FAKE:keys.md", "ake:keys.md"]
)
def test_what_is_nearly_a_page_is_none(page: str) -> None:
    missing = located(page)
    assert (missing.questions, missing.missing_pages) == ((), (page,))
    assert [question.id for question in missing.left_out] == ["q1"]


def test_a_page_that_is_hidden_behind_another_counts_as_that_one() -> None:
    hidden = make_document(
        "keys-old.md", url="https://docs.example.com/1.0/keys", metadata={"duplicate_of": "fake:keys.md"}
    )
    for page in ("keys-old.md", "https://docs.example.com/1.0/keys"):
        assert located(page, documents=[*DOCUMENTS, hidden]).questions[0].relevance == {"fake:keys.md": 1}
    both = located("keys-old.md", "fake:keys.md", documents=[*DOCUMENTS, hidden])
    assert both.questions[0].relevance == {"fake:keys.md": 1}


def test_an_id_goes_before_an_id_within_a_source_and_that_before_an_address() -> None:
    documents = [
        make_document("a:x", source_id="b"),
        make_document("x", source_id="a"),
        make_document("y", source_id="c", url="x"),
    ]
    assert located("a:x", documents=documents).questions[0].relevance == {"a:x": 1}
    assert located("x", documents=documents).questions[0].relevance == {"a:x": 1}


def test_documents_of_other_sources_than_the_questions_do_not_count() -> None:
    assert located("keys.md", sources=("wiki",)).questions[0].relevance == {"wiki:keys.md": 1}
    assert located("https://docs.example.com/keys", sources=("wiki",)).questions == ()


def test_a_page_that_several_documents_are_counts_once() -> None:
    question = located("keys.md").questions[0]
    assert question.relevance == {"fake:keys.md": 1}
    assert question.same_page == {"wiki:keys.md": "fake:keys.md"}


def test_a_page_that_is_named_in_two_ways_counts_once_with_the_better_grade() -> None:
    judged = JudgedQuestion("q1", "x", {"wiki:keys.md": 1, "keys.md": 3, "https://docs.example.com/keys": 2})
    question = locate(QuestionSet("set", (judged,)), DOCUMENTS, minimum=1).questions[0]
    assert question.relevance == {"wiki:keys.md": 3}
    assert question.same_page == {"fake:keys.md": "wiki:keys.md"}


def test_a_question_keeps_the_pages_that_are_there() -> None:
    partly = located("fake:keys.md", "gone", "https://docs.example.com/gone")
    assert partly.questions[0].relevance == {"fake:keys.md": 1}
    assert partly.missing_pages == ("gone", "https://docs.example.com/gone")
    assert partly.left_out == ()


def test_too_few_questions_are_an_error_that_names_a_page() -> None:
    questions = [JudgedQuestion(f"q{n}", f"question {n}", {"fake:keys.md": 1}) for n in range(4)]
    questions.append(JudgedQuestion("q4", "about nothing", {"gone.md": 1}))
    with pytest.raises(ConfigurationError, match="4 of 5 questions can be judged, and a verdict needs at least 5") as e:
        locate(QuestionSet("set", tuple(questions)), DOCUMENTS)
    assert "lacks the pages of 1, such as 'gone.md' of 'about nothing'" in e.value.message
    assert len(locate(QuestionSet("set", tuple(questions)), DOCUMENTS, minimum=4).questions) == 4


def test_an_unanswerable_question_judges_no_search() -> None:
    questions = (
        JudgedQuestion("q1", "x", {"keys.md": 1, "gone": 1}),
        JudgedQuestion("q2", "y", {}, unanswerable=True),
    )
    found = locate(QuestionSet("set", questions), DOCUMENTS, minimum=1)
    assert [one.question.id for one in found.questions] == ["q1"]
    assert found.questions[0].missing == ("gone",)
    assert found.left_out == ()
    with pytest.raises(ConfigurationError, match="1 of 1 questions can be judged"):
        locate(QuestionSet("set", questions), DOCUMENTS, minimum=2)
