"""Failing and late parts: the answer does without them, and its notes say so."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from lore.errors import ConfigurationError, ContextTooLongError, LoreError, ModelError, StoreError
from lore.protocols import Embedder, Reranker
from lore.query.deadlines import Deadlines
from lore.types import Answer, Hit, Question

from tests.fakes import FakeChatModel, FakeEmbedder, make_document
from tests.query.fakes import MemoryIndex, make_chunk, pipeline_over

KEYS = "Rotate the API key under Settings. The old key works for a day."
CHUNKS = (make_chunk("keys", KEYS), make_chunk("limits", "The API allows twenty calls a minute for each key."))
QUESTION = Question("How do I rotate the API key?")
WORDINGS = ["rotate API key", "change the key", "The key is rotated under Settings"]
PLAN = {"question": "", "wordings": WORDINGS}
SHORT = Deadlines(plan=0.2, search=0.4, rerank=0.2, answer=0.3)


class Hanging:
    """Every call hangs until the test is over."""

    name = "fake:hanging"
    dimensions = 512
    max_tokens = 256

    def __init__(self) -> None:
        self.over = threading.Event()

    def _hang(self, *_: object, **__: object) -> object:
        self.over.wait(20)
        raise ModelError("The test is over.")

    embed_query = embed_documents = rerank = structured = _hang

    def stream(self, *_: object, **__: object) -> Iterator[str]:
        yield "Open Settings and rotate it [1]. "
        self._hang()


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    hanging = Hanging()
    yield hanging
    hanging.over.set()


class Failing:
    """An embedder and reranker that fails."""

    name = "fake:failing"
    dimensions = 512
    max_tokens = 256

    def __init__(self, error: LoreError) -> None:
        self._error = error

    def embed_query(self, text: str) -> object:
        raise self._error

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        raise self._error


def ask(
    structured: Sequence[object] = (PLAN,),
    streamed: Sequence[object] = ("Go to Settings [1].",),
    *,
    index: MemoryIndex | None = None,
    embedder: object = None,
    reranker: object = None,
    chat_model: object = None,
    deadlines: Deadlines | None = None,
) -> Answer:
    words = FakeEmbedder(dimensions=512)
    used: Embedder = embedder or words  # type: ignore[assignment]
    ranker: Reranker | None = reranker  # type: ignore[assignment]
    return pipeline_over(
        index or MemoryIndex(CHUNKS, words),
        used,
        ranker,
        chat_model or FakeChatModel(structured, streamed),  # type: ignore[arg-type]
        deadlines=deadlines,
    ).ask(QUESTION)


def noted(answer: Answer, *words: str) -> bool:
    return any(all(word in note for word in words) for note in answer.trace.notes)


class TestTheEmbedder:
    def test_without_it_words_are_searched(self) -> None:
        error = ModelError("No answer.", remedy="Set LORE_OPENAI_API_KEY.")
        answer = ask(embedder=Failing(error))
        assert answer.text == "Go to Settings [1]."
        assert answer.trace.passages[0].chunk.id == "chunk-keys"
        assert noted(answer, "keyword only", "No answer.", "Set LORE_OPENAI_API_KEY.")

    def test_one_that_hangs_is_not_waited_for(self, hanging: Hanging) -> None:
        answer = ask(embedder=hanging, deadlines=SHORT)
        assert answer.found
        assert noted(answer, "keyword only", "LORE_SEARCH_SECONDS")

    def test_what_a_person_must_mend_is_an_error(self) -> None:
        with pytest.raises(ConfigurationError, match="no such model"):
            ask(embedder=Failing(ConfigurationError("There is no such model.")))

    def test_an_error_of_the_code_is_not_taken_for_a_failure(self) -> None:
        class Broken(FakeEmbedder):
            def embed_query(self, text: str) -> object:  # type: ignore[override]
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            ask(embedder=Broken(512))


class TestTheSearch:
    def test_one_failed_wording_is_done_without(self) -> None:
        index = MemoryIndex(CHUNKS, FakeEmbedder(512), StoreError("Shard lost."), failing_wordings=WORDINGS[:1])
        answer = ask(index=index)
        assert answer.found
        assert noted(answer, "1 of 3 wordings", "Shard lost.")

    def test_when_all_fail_it_is_an_error(self) -> None:
        with pytest.raises(StoreError, match="gone"):
            ask(index=MemoryIndex(CHUNKS, FakeEmbedder(512), StoreError("The index is gone.")))

    def test_pages_that_cannot_be_read_leave_the_passages_as_they_are(self) -> None:
        index = MemoryIndex(CHUNKS, FakeEmbedder(512))
        index.pages = {chunk.document_id: StoreError("Not now.") for chunk in CHUNKS}
        answer = ask(index=index)
        assert answer.text == "Go to Settings [1]."
        assert noted(answer, "weren't joined", "Not now.")


class TestTheModels:
    def test_a_planner_that_hangs_gives_the_question_as_it_is(
        self, hanging: Hanging, caplog: pytest.LogCaptureFixture
    ) -> None:
        answer = ask(chat_model=hanging, deadlines=SHORT)
        assert answer.trace.plan.wordings == (QUESTION.text,)
        assert noted(answer, "question itself", "took longer") and "LORE_PLAN_SECONDS" in caplog.text

    def test_a_reranker_that_hangs_gives_the_order_of_the_search(self, hanging: Hanging) -> None:
        answer = ask(reranker=hanging, deadlines=SHORT)
        assert answer.trace.passages[0].chunk.id == "chunk-keys"
        assert noted(answer, "order of the search", "LORE_RERANK_SECONDS")

    def test_an_answer_that_does_not_end_is_ended_with_quotes(self, hanging: Hanging) -> None:
        answer = ask(chat_model=hanging, deadlines=SHORT)
        assert answer.text.startswith("Open Settings and rotate it [1].")
        assert "> Rotate the API key under Settings." in answer.text
        assert noted(answer, "quotes the passages", "took longer")

    def test_sources_that_are_too_long_are_halved_once(self) -> None:
        error = ContextTooLongError("4,096 tokens at most.")
        chat = FakeChatModel([PLAN], [error, "Go to Settings [1]."])
        long = make_chunk("keys", f"{KEYS} " * 60)
        answer = ask(chat_model=chat, index=MemoryIndex([long], FakeEmbedder(512)))
        assert answer.text == "Go to Settings [1]."
        assert noted(answer, "cut to half", "4,096 tokens")
        first, second = (len(call[1].content) for call in chat.calls[1:])
        assert second < 0.7 * first

    def test_and_not_twice(self) -> None:
        error = ContextTooLongError("4,096 tokens at most.")
        chat = FakeChatModel([PLAN], [error, error])
        answer = ask(chat_model=chat)
        assert len(chat.calls) == 3
        assert noted(answer, "quotes the passages", "4,096 tokens")


def test_the_state_and_age_of_a_page_reach_the_model() -> None:
    index = MemoryIndex(CHUNKS, FakeEmbedder(512))
    index.pages = {"docs:keys": replace(make_document(text=KEYS), id="docs:keys", metadata={"state": "closed"})}
    chat = FakeChatModel([PLAN], ["Go to Settings [1]."])
    ask(index=index, chat_model=chat)
    assert '<source number="1" title="Page keys" state="closed">' in chat.calls[1][1].content
    assert sorted(index.read) == ["docs:keys", "docs:limits"]
