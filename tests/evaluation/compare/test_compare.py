"""Strategies side by side on a small knowledge base: what is built, found, answered, and saved by a second run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lore.errors import ConfigurationError
from lore.evaluation.compare.results import Comparison, IndexPlan
from lore.evaluation.compare.run import compare
from lore.settings import load_settings

from tests.servers.model_apis.openai import OpenAIServer

LONG = "".join(
    f"The bucket number {number} of the gateway holds some tokens and is refilled soon. " for number in range(30)
)
PAGES = {
    "keys.md": f"# API keys\n\nRotate a key with `keys rotate`. The grace period is one hour.\n\n{LONG}",
    "backup.md": f"# Backups\n\nNightly backups are kept for thirty days.\n\n## Restore\n\n{LONG}",
    "scale.md": "# Scaling\n\nWorkers scale with the length of the queue.\n",
}
QUESTIONS = """
- question: How do I rotate an API key?
  pages: ["handbook:keys.md"]
  must_mention: ["keys rotate", "grace   PERIOD"]
- question: How long are nightly backups kept?
  pages: ["handbook:backup.md"]
- question: What is elsewhere?
  pages: ["other:page.md"]
"""


def reply(body: dict[str, Any]) -> str:
    """A plan, a summary, or an answer, as the request asks."""
    said = json.dumps(body["messages"])
    if "response_format" in body:
        return json.dumps({"question": "", "wordings": ["rotate key", "key rotation", "keys rotate"], "search": True})
    if "<passage" in said:
        return "Summary: it tells of keys, backups and tokens."
    return "Use `keys rotate` [1]." if "<source" in said else "I would guess: keys rotate."


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(reply) as running:
        yield running


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    (tmp_path / "handbook").mkdir()
    for name, text in PAGES.items():
        (tmp_path / "handbook" / name).write_text(text, encoding="utf-8")
    (tmp_path / "questions.yaml").write_text(QUESTIONS, encoding="utf-8")
    return tmp_path / "handbook"


Compare = Callable[..., Comparison]


@pytest.fixture
def run(handbook: Path, server: OpenAIServer, tmp_path: Path) -> Compare:
    """A comparison with embeddings, and with `chat` the language model, from the server."""

    def make(*names: str, chat: bool = False, **options: Any) -> Comparison:
        environ = {
            "LORE_SOURCES_DIR": str(tmp_path / "sources"),
            "LORE_CACHE_DIR": str(tmp_path / "cache"),
            "LORE_INDEX_URI": str(tmp_path / "index"),
            "LORE_OPENAI_API_KEY": "k",
            "LORE_OPENAI_BASE_URL": server.base_url,
            "LORE_EMBEDDER": "openai:text-embedding-3-small",
            "LORE_RERANKER": "local",
            "LORE_CHAT_MODEL": "openai:gpt-4.1-mini" if chat else "",
        } | options.pop("environ", {})
        return compare(names or [str(handbook)], tmp_path / "questions.yaml", load_settings(environ), **options)

    return make


def plans(*names: str) -> list[IndexPlan]:
    return [IndexPlan.parse(name) for name in names]


@pytest.mark.slow
def test_every_strategy_is_searched_in_every_way_without_a_language_model(run: Compare, tmp_path: Path) -> None:
    comparison = run()
    assert (comparison.corpus, comparison.documents, comparison.questions, comparison.left_out) == ("handbook", 3, 2, 1)
    assert [index.name for index in comparison.indexes] == ["basic", "summary", "summary_parent"]
    basic, summary, parent = comparison.indexes
    assert basic.vectors > summary.vectors == parent.vectors and basic.summaries == 0
    assert summary.summaries == 2 and summary.summarizer == "extractive" and summary.summary_calls == 0
    assert basic.embedded_tokens > summary.embedded_tokens > 0 and basic.cost is not None and basic.cost > 0
    assert [pair.name for pair in comparison.pairs[:3]] == [
        f"{name} · keyword" for name in ("basic", "summary", "summary_parent")
    ]
    assert len(comparison.pairs) == 12
    keyword = comparison.pairs[0]
    assert keyword.ndcg_at_10 == keyword.recall_at_10 == keyword.mrr_at_10 == 1.0 and keyword.difference is None
    assert comparison.pairs[1].difference == 0.0
    by_name = {pair.name: pair for pair in comparison.pairs}
    contexts = [by_name[f"{name} · hybrid+rerank"].context_tokens for name in ("summary", "summary_parent")]
    assert 0 < contexts[0] < contexts[1]
    assert len(comparison.notes) == 2 and "sentences of the passages" in comparison.notes[1]
    assert not (tmp_path / "index").exists(), "the team's index is not touched"


def test_answers_quote_passages_without_a_language_model(run: Compare) -> None:
    comparison = run(plans=plans("basic"), retrievals=["keyword"], answers=1)
    (pair,) = comparison.pairs
    assert pair.answers is not None and pair.answers.questions == 1
    assert pair.answers.cites_page == 1.0 and pair.answers.mentions == 1.0 and pair.answers.cost is None
    first, second = comparison.outcomes
    assert "keys rotate" in first.answers["basic · keyword"].text and second.answers == {}
    assert first.searches["basic · keyword"].rank == 1


def test_a_language_model_answers_each_way_and_plans_each_question_once(run: Compare, server: OpenAIServer) -> None:
    comparison = run(chat=True, plans=plans("basic", "summary"), retrievals=["none", "hybrid"], answers=2)
    assert [pair.name for pair in comparison.pairs] == ["none", "basic · hybrid", "summary · hybrid"]
    alone, basic, _ = comparison.pairs
    assert alone.ndcg_at_10 is None and alone.answers is not None and alone.answers.cites_page is None
    assert alone.answers.mentions == 0.5 and alone.answers.input_tokens == 100
    assert basic.answers is not None and basic.answers.found == 1.0 and basic.answers.input_tokens == 100
    assert basic.answers.cost is not None and basic.answers.cost > 0
    chats = [request.body for request in server.requests if "messages" in request.body]
    assert sum("response_format" in body for body in chats) == 2
    given = [json.dumps(body) for body in chats if "response_format" not in body and "<source" in json.dumps(body)]
    assert len(given) == 4
    assert any("it tells of keys, backups and tokens" in text for text in given), "the summary is what is given"


def test_a_second_run_pays_for_no_summary(run: Compare) -> None:
    first = run(chat=True, plans=plans("summary", "summary_parent"), retrievals=["vector"], answers=0)
    assert [index.summary_calls for index in first.indexes] == [2, 0]
    assert first.indexes[0].summary_input_tokens == 200 and first.indexes[0].summaries == 2
    again = run(chat=True, plans=plans("summary"), retrievals=["vector"], answers=0)
    assert (again.indexes[0].summary_calls, again.indexes[0].summary_input_tokens) == (0, 0)
    assert again.indexes[0].cost < first.indexes[0].cost  # type: ignore[operator]


def test_passages_of_a_chosen_size(run: Compare) -> None:
    comparison = run(plans=plans("basic:200", "basic:1000"), retrievals=["keyword"], answers=0)
    small, large = comparison.indexes
    assert small.vectors > large.vectors and small.mean_characters <= 200
    assert comparison.pairs[0].answers is None


def test_a_file_a_declared_source_and_a_benchmark_are_read_alike(
    run: Compare, handbook: Path, tmp_path: Path, write_beir: Callable[..., Path]
) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "team.yaml").write_text("kind: files\npath: ../handbook\n", encoding="utf-8")
    choice: dict[str, Any] = {"plans": plans("basic"), "retrievals": ["keyword"], "answers": 0}
    (tmp_path / "questions.yaml").write_text('- question: Scaling?\n  pages: ["team:scale.md"]\n', encoding="utf-8")
    assert (run("team", **choice).documents, run("team", str(handbook), **choice).documents) == (3, 6)
    (tmp_path / "questions.yaml").write_text('- question: Scaling?\n  pages: ["scale.md"]\n', encoding="utf-8")
    assert run(str(handbook / "scale.md"), **choice).documents == 1
    assert run(str(write_beir(pages=[{"_id": "scale.md", "title": "S", "text": "Scaling."}])), **choice).documents == 1


@pytest.mark.parametrize(
    ("names", "options", "says"),
    [
        (["no-such-place"], {}, "neither a declared source nor a file"),
        ([], {"retrievals": ["none"]}, "nothing to compare"),
        ([], {"retrievals": ["hybrid+rerank"], "environ": {"LORE_RERANKER": "none"}}, "nothing to compare"),
    ],
)
def test_what_cannot_be_compared_says_why(run: Compare, names: list[str], options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        run(*names, plans=plans("basic"), **options)


@pytest.mark.parametrize("text", ["parent", "summary:many", "summary:10", "summary_parent:1000000", "basic:-400"])
def test_an_index_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        IndexPlan.parse(text)
