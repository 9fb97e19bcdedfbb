"""Questions in German and Japanese, with a tiny model from a folder and without a language model."""

from __future__ import annotations

import pytest
from lore.models.fastembed.embedder import FastEmbedEmbedder
from lore.query.pipeline import Pipeline
from lore.types import Message, Question

from tests.languages.knowledge import pipeline_over, questions
from tests.tiny_model import write_embedder

pytestmark = pytest.mark.xdist_group("handbook")  # one index for all

LEAST_RIGHT = {"de": 10, "ja": 9}
"""Of ten questions: the tiny model knows letters, and no meaning."""


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("handbook")
    model = write_embedder(folder / "model")
    embedder = FastEmbedEmbedder(str(model), cache_dir=folder, threads=2)
    return pipeline_over(["de", "en", "ja"], embedder, folder / "index")


@pytest.mark.parametrize("language", ["de", "ja"])
def test_answers_quote_the_lines_that_answer(pipeline: Pipeline, language: str) -> None:
    right = 0
    for asked in questions(language):
        answer = pipeline.ask(Question(asked.text))
        shown = " ".join(answer.text.replace("\n> ", " ").split())
        right += answer.found and asked.own in shown
        assert not answer.found or answer.citations[0].source_id == language
    assert right >= LEAST_RIGHT[language]


def test_the_quote_is_one_sentence_of_japanese(pipeline: Pipeline) -> None:
    (citation, *_) = pipeline.ask(Question("有給休暇は年に何日ありますか？")).citations
    assert citation.quote == "有給休暇は一人あたり年に28日です。"


def test_a_question_in_english_finds_the_english_page(pipeline: Pipeline) -> None:
    answer = pipeline.ask(Question("How long is an access token valid?"))
    assert "valid for 90 days" in answer.text
    assert answer.citations[0].source_id == "en"


@pytest.mark.parametrize("text", ["こんにちは", "ありがとうございます！", "Guten Morgen", "Vielen Dank!"])
def test_greetings_are_not_searched_for(pipeline: Pipeline, text: str) -> None:
    assert pipeline.ask(Question(text)).citations == ()


@pytest.mark.parametrize(
    "text", ["アクセストークンの有効期限は？", "Wie lange gilt ein Zugangstoken?", "Was ist ein Zugangstoken?"]
)
def test_a_complete_question_borrows_nothing(pipeline: Pipeline, text: str) -> None:
    history = (Message("user", "ホテルは一泊いくらまでですか？"), Message("user", "Wie melde ich mich krank?"))
    assert pipeline.ask(Question(text, history=history)).trace.plan.question == text


def test_a_follow_up_borrows_its_subject(pipeline: Pipeline) -> None:
    history = (Message("user", "Wie lange gilt ein Zugangstoken?"),)
    assert "Zugangstoken" in pipeline.ask(Question("Und warum?", history=history)).trace.plan.question
