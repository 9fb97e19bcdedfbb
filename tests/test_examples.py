"""The example is what the demo stands on: its sources load whole, and its questions have their answers in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lore.convert import convert
from lore.declarations import load_declarations
from lore.evaluation.questions.locate import locate
from lore.evaluation.questions.question_set import JudgedQuestion, QuestionSet, load_questions
from lore.settings import Settings
from lore.types import Document
from lore.wiring.sources import make_source

from tests.conftest import ROOT
from tests.servers.github import GitHubServer

EXAMPLES = ROOT / "examples"
QUESTIONS = load_questions(EXAMPLES / "questions.yaml").questions


def payloads(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((EXAMPLES / "github" / name).read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def documents() -> dict[str, Document]:
    """Every document of the example, converted, by id."""
    declarations = load_declarations(EXAMPLES / "sources")
    assert declarations.broken == ()
    with GitHubServer(payloads("issues.json"), payloads("comments.json"), repository="tidewheel/tidewheel") as github:
        settings = Settings.of(github_base_url=github.base_url)
        batches = [
            batch for declaration in declarations.valid for batch in make_source(declaration, settings).read(None)
        ]
    assert [failure for batch in batches for failure in batch.failures] == []
    return {document.id: convert(document) for batch in batches for document in batch.documents}


def test_every_source_gives_documents_with_titles_and_addresses(documents: dict[str, Document]) -> None:
    by_source: dict[str, int] = {}
    for document in documents.values():
        by_source[document.source_id] = by_source.get(document.source_id, 0) + 1
        assert document.title and document.url.startswith("https://") and document.text.strip(), document.id
    assert by_source == {"handbook": 18, "team_slack": 12, "tracker": len(payloads("issues.json"))}


@pytest.mark.parametrize(
    "question", [one for one in QUESTIONS if not one.unanswerable], ids=lambda question: question.text
)
def test_the_pages_of_a_question_are_there_and_hold_the_answer(
    question: JudgedQuestion, documents: dict[str, Document]
) -> None:
    answering = [documents[document_id].text for document_id in question.pages]
    assert [words for words in question.must_mention if words not in answering[0]] == []


def test_an_index_of_the_example_can_be_judged_by_all_questions(documents: dict[str, Document]) -> None:
    located = locate(QuestionSet("example", QUESTIONS), documents.values())
    assert (len(located.questions), located.left_out, located.missing_pages) == (10, (), ())


def test_the_demo_asks_three_questions_of_three_sources() -> None:
    first = [next(iter(question.pages)).partition(":")[0] for question in QUESTIONS if "demo" in question.tags]
    assert sorted(first) == ["handbook", "team_slack", "tracker"]


def test_every_file_of_the_handbook_is_a_document(documents: dict[str, Document]) -> None:
    files = {path.relative_to(EXAMPLES / "handbook").as_posix() for path in (EXAMPLES / "handbook").rglob("*.*")}
    assert {f"handbook:{file}" for file in files} <= set(documents)


def test_every_issue_has_all_its_comments() -> None:
    counted = {issue["url"]: 0 for issue in payloads("issues.json")}
    for comment in payloads("comments.json"):
        counted[comment["issue_url"]] += 1
    assert counted == {issue["url"]: issue["comments"] for issue in payloads("issues.json")}
