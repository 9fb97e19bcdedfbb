"""The global context: the questions that it answers, and its citation."""

from __future__ import annotations

import numpy as np
import pytest
from lore.errors import ModelError
from lore.query.understand.context import GlobalContext

from tests.fakes import FakeEmbedder

TEXT = """
This assistant answers questions on Tidewheel, a job scheduler.

The handbook is at https://handbook.example.com.
Tidewheel is developed by the platform team.
Users ask for help in the Slack channel #support.
"""


class Failing(FakeEmbedder):
    def embed_documents(self, texts: object) -> np.ndarray:
        raise ModelError("No key.")


def context(embedder: FakeEmbedder | None = None) -> GlobalContext:
    return GlobalContext("Tidewheel assistant", TEXT, embedder or FakeEmbedder(512), file="desk.yaml")


def test_it_is_a_passage_that_names_the_declaration() -> None:
    chunk = context().passage.chunk
    assert (chunk.document_id, chunk.source_id, chunk.title) == (
        "assistant:desk.yaml",
        "assistant",
        "Tidewheel assistant",
    )
    assert chunk.text == TEXT.strip()


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Where is the handbook?", "The handbook is at https://handbook.example.com."),
        ("Which platform team is Tidewheel developed by?", "Tidewheel is developed by the platform team."),
        ("Where do users ask for help in the Slack channel?", "Users ask for help in the Slack channel #support."),
    ],
)
def test_a_line_that_says_all_that_a_question_asks_for_is_quoted(question: str, line: str) -> None:
    hit = context().line_for(question)
    assert hit is not None
    assert hit.chunk.text == line == TEXT.strip()[hit.chunk.start : hit.chunk.end]


@pytest.mark.parametrize(
    "question",
    [
        "How is the handbook at https://handbook.example.com?",
        "Where is Tidewheel?",
        "Where is the handbook of bananas?",
        "Where?",
        "When do bananas ripen?",
        "The handbook is at https://handbook.example.com.",
    ],
)
def test_anything_less_certain_is_not(question: str) -> None:
    assert context().line_for(question) is None


def test_a_line_that_has_the_words_among_many_others_is_not_certain() -> None:
    line = "Among the shelves " + " ".join(f"word{number}" for number in range(40)) + " a handbook may lie about."
    assert GlobalContext("Desk", line, FakeEmbedder(512)).line_for("Where is the handbook?") is None


def test_a_model_is_not_believed_where_nothing_is_near() -> None:
    assert context().may_answer("Where is the handbook?")
    assert context().may_answer("Who developed this?")
    assert not context().may_answer("Do bananas ripen beside apples?")


def test_an_embedder_that_fails_quotes_nothing_and_denies_nothing() -> None:
    assert context(Failing()).line_for("Where is the handbook?") is None
    assert context(Failing()).may_answer("Do bananas ripen?")


def test_the_lines_are_embedded_once() -> None:
    embedder = FakeEmbedder(512)
    one = context(embedder)
    for _ in range(3):
        one.line_for("Where is the handbook?")
    assert len(embedder.embedded) == 4
