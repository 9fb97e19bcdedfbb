"""Fifty people ask at once, through a real pipeline: every answer is recorded, whole, and as it was given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
from lore.protocols import OnUsage
from lore.records.recorder import QueuedRecorder
from lore.records.records import Records
from lore.records.rows import RECORDED_CANDIDATES
from lore.types import Message, Question, Usage

from tests.fakes import FakeEmbedder
from tests.query.fakes import MemoryIndex, make_chunk, pipeline_over
from tests.records.conftest import unredacted

ASKERS = 50
QUESTIONS = 3
CHUNKS = [make_chunk(f"page{number}", f"Topic{number} is set with `option{number}`.") for number in range(ASKERS)]


class EchoingModel:
    """Plans and answers with the topic of the question, which it finds in what it is sent."""

    name = "fake:echo"

    def structured(
        self, messages: Sequence[Message], schema: type[Any], *, on_usage: OnUsage | None = None, **_: object
    ) -> Any:
        topic = _topic(messages)
        if on_usage:
            on_usage(Usage(self.name, "", int(topic), 1, 0.001))
        return schema.model_validate(
            {"question": f"What about Topic{topic}?", "wordings": [f"Topic{topic} option{topic}"]}
        )

    def stream(self, messages: Sequence[Message], *, on_usage: OnUsage | None = None, **_: object) -> Iterator[str]:
        topic = _topic(messages)
        yield f"Topic{topic} is set "
        yield f"with `option{topic}` [1]."
        if on_usage:
            on_usage(Usage(self.name, "", int(topic), 2, 0.002))


def _topic(messages: Sequence[Message]) -> str:
    """The number after the last "Topic" of the question, which stands last."""
    return messages[-1].content.rpartition("What about Topic")[2].partition("?")[0]


@pytest.mark.slow
def test_fifty_askers_at_once(url: str) -> None:
    embedder = FakeEmbedder(dimensions=1024)
    recorder = QueuedRecorder(lambda: Records.open(url, unredacted), "the records")
    pipeline = pipeline_over(
        MemoryIndex(CHUNKS, embedder),
        embedder,
        None,
        EchoingModel(),  # type: ignore[arg-type]
        retrieve_limit=20,
        rerank_limit=20,
        recorder=recorder,
    )
    start = Barrier(ASKERS)

    def ask(number: int) -> list[Any]:
        start.wait(timeout=60)
        question = Question(f"What about Topic{number}?", surface="test", asker=f"U{number}")
        return [pipeline.ask(question) for _ in range(QUESTIONS)]

    with ThreadPoolExecutor(ASKERS) as pool:
        given = [answer for answers in pool.map(ask, range(ASKERS)) for answer in answers]
    assert recorder.flush(timeout=60)
    recorder.close()

    assert recorder.dropped == 0
    assert len({answer.id for answer in given}) == ASKERS * QUESTIONS
    with Records.open(url, unredacted) as records:
        assert records.count() == ASKERS * QUESTIONS
        for answer in given:
            ranking = tuple(
                one for one in answer.trace.ranking if one.reranked_at or one.found_at <= RECORDED_CANDIDATES
            )
            recorded = replace(answer, trace=replace(answer.trace, ranking=ranking))
            assert records.get(answer.id).answer == recorded
            number = int(answer.question.asker[1:])
            assert f"Topic{number} is set" in answer.text
            assert [usage.input_tokens for usage in answer.trace.usage] == [number, number]
            assert answer.trace.passages
            assert answer.trace.ranking
            assert answer.trace.prompts.keys() == {"plan", "answer"}
