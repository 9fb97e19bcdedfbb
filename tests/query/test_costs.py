"""A question's journey with paid models and budgets, against servers with the vendors' wire formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lore.query.pipeline import Pipeline
from lore.settings import load_settings
from lore.types import Question
from lore.wiring.query import make_pipeline

from tests.fakes import FakeEmbedder
from tests.query.fakes import MemoryIndex, make_chunk
from tests.servers.model_apis import cohere, openai

QUESTION = Question("How do I rotate the API key?")
PLAN = json.dumps(
    {
        "question": QUESTION.text,
        "wordings": ["rotate API key", "change the key", "new API key"],
        "search": True,
        "from_context": False,
    }
)
CHUNKS = (
    make_chunk("keys", "Rotate the API key under Settings. The old key works for a day."),
    make_chunk("limits", "The API allows twenty calls a minute for each key."),
)


def reply(body: dict[str, Any]) -> str:
    return "Rotate the API key under Settings [1]." if body.get("stream") else PLAN


@dataclass
class Servers:
    chat: openai.OpenAIServer
    reranker: cohere.CohereServer
    folder: Path

    def pipeline(self, **settings: str) -> Pipeline:
        environ = {
            "LORE_CHAT_MODEL": "openai:gpt-4.1-mini",
            "LORE_OPENAI_API_KEY": "sk-secret",
            "LORE_OPENAI_BASE_URL": self.chat.base_url,
            "LORE_COHERE_API_KEY": "co-secret",
            "LORE_COHERE_BASE_URL": self.reranker.base_url,
            "LORE_SOURCES_DIR": str(self.folder),
            "LORE_RECORDS_URL": f"sqlite:///{self.folder}/records.db",
            "LORE_MAX_RETRIES": "0",
            "LORE_VERIFY": "off",
        }
        embedder = FakeEmbedder(dimensions=512)
        index = MemoryIndex(CHUNKS, embedder)
        return make_pipeline(load_settings(environ | settings), index=index, embedder=embedder)

    def asked(self) -> list[str]:
        """Return the calls made: "plan", "answer", "rerank"."""
        chat = ["answer" if request.body.get("stream") else "plan" for request in self.chat.requests]
        return chat + ["rerank"] * len(self.reranker.requests)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with openai.OpenAIServer(reply) as chat, cohere.CohereServer() as reranker:
        yield Servers(chat, reranker, tmp_path)


def test_a_question_costs_two_calls_and_a_search_and_the_trace_says_what(servers: Servers) -> None:
    trace = servers.pipeline().ask(QUESTION).trace
    assert servers.asked() == ["plan", "answer", "rerank"]
    assert [usage.stage for usage in trace.usage] == ["plan", "rerank", "answer"]
    assert trace.usage[1].cost == 0.0025
    assert all(usage.cost for usage in trace.usage)
    assert trace.models["reranker"] == "cohere:rerank-v4.0-pro"


def test_where_a_plan_is_too_much_the_answer_is_still_written(servers: Servers) -> None:
    answer = servers.pipeline(LORE_BUDGET_PER_QUESTION="0.0045").ask(QUESTION)
    assert servers.asked() == ["answer"]
    assert [note.partition(",")[0] for note in answer.trace.notes] == [
        "The plan is the question itself",
        "The passages were ordered without cohere:rerank-v4.0-pro",
    ]
    assert answer.trace.models["reranker"].startswith("local:")
    assert answer.citations


def test_without_money_the_answer_quotes_and_says_why(servers: Servers) -> None:
    answer = servers.pipeline(LORE_BUDGET_PER_DAY="0.0001").ask(QUESTION)
    assert servers.asked() == []
    assert answer.text.startswith("*The answer quotes the passages, because the day's budget for models ($0.0001)")
    assert answer.citations
    assert len(answer.trace.notes) == 3


def test_a_day_ends_when_it_is_spent_and_not_before(servers: Servers) -> None:
    pipeline = servers.pipeline(LORE_BUDGET_PER_DAY="0.0055", LORE_RERANKER="local")
    spent, last = 0.0, pipeline.ask(QUESTION)
    while last.trace.usage:
        spent += sum(usage.cost or 0.0 for usage in last.trace.usage)
        assert spent <= 0.0055
        last = pipeline.ask(QUESTION)
    assert spent > 0.001
    assert "the day's budget" in last.text


def test_a_reranker_that_is_down_and_a_planner_that_is_down_cost_nobody_the_answer(servers: Servers) -> None:
    servers.reranker.faults.append(cohere.error(500, "oops"))
    servers.chat.faults.append(openai.error(503, "busy"))
    answer = servers.pipeline().ask(QUESTION)
    assert answer.citations
    assert [note.partition(",")[0] for note in answer.trace.notes] == [
        "The plan is the question itself",
        "The passages were ordered by local:minilm-bm25",
    ]
    assert [usage.stage for usage in answer.trace.usage] == ["answer"]


def test_a_context_that_is_too_long_is_tried_with_less(servers: Servers) -> None:
    plan_comes = openai.Fault()
    too_long = openai.error(400, "This model's maximum context length is 512 tokens.", "context_length_exceeded")
    servers.chat.faults.extend([plan_comes, too_long])
    answer = servers.pipeline().ask(QUESTION)
    assert servers.asked() == ["plan", "answer", "answer", "rerank"]
    assert answer.citations
