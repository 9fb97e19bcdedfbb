"""Which strategy a declaration chooses, and who writes its summaries by the settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from lore.declarations import load_declaration
from lore.errors import ConfigurationError, DeclarationError
from lore.ingest.split.splitter import MarkdownSplitter
from lore.settings import Settings, load_settings
from lore.sources.cursors import NON_SELECTING_KEYS
from lore.wiring.strategies import make_splitters, make_strategy, make_summarizer

from tests.fakes import make_document
from tests.servers.model_apis.openai import OpenAIServer


def settings(tmp_path: Path, **values: str) -> Settings:
    return load_settings({"LORE_CACHE_DIR": str(tmp_path), **values})


def declare(tmp_path: Path, line: str) -> Path:
    path = tmp_path / "docs.yaml"
    path.write_text(f"kind: files\npath: .\n{line}\n", encoding="utf-8")
    return path


def test_a_source_is_basic_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert load_declaration(declare(tmp_path, "")).strategy == "basic"
    assert load_declaration(declare(tmp_path, "strategy: summary_parent")).strategy == "summary_parent"
    with pytest.raises(DeclarationError, match="line 3"):
        load_declaration(declare(tmp_path, "strategy: parent"))


def test_a_strategy_does_not_choose_what_is_read() -> None:
    assert "strategy" in NON_SELECTING_KEYS


def test_plain_passages_need_no_model(tmp_path: Path) -> None:
    assert make_strategy(settings(tmp_path), "basic") is None


def test_summaries_without_a_model_are_an_error_that_names_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="LORE_SUMMARY_MODEL=extractive"):
        make_strategy(settings(tmp_path), "summary")


def test_the_summary_model_goes_before_the_chat_model(tmp_path: Path) -> None:
    chosen = {"LORE_CHAT_MODEL": "openai:large", "LORE_OPENAI_API_KEY": "k"}
    assert make_summarizer(settings(tmp_path, **chosen)).name == "openai:large"
    chosen["LORE_SUMMARY_MODEL"] = "openai:small"
    assert make_summarizer(settings(tmp_path, **chosen)).name == "openai:small"
    chosen["LORE_SUMMARY_MODEL"] = "extractive"
    assert make_summarizer(settings(tmp_path, **chosen)).name == "extractive"
    assert not list(tmp_path.iterdir()), "nothing is made before it is used"


def test_a_mark_gives_back_what_made_its_passages(tmp_path: Path) -> None:
    strategy = make_strategy(settings(tmp_path, LORE_SUMMARY_MODEL="extractive"), "summary_parent")
    assert strategy is not None
    plain = MarkdownSplitter(300)
    choose = make_splitters(settings(tmp_path), plain)
    assert choose("") is plain
    assert choose(strategy.name).name == strategy.name
    with pytest.raises(ConfigurationError, match="needs a key"):
        choose("summary-1:4000:openai:gone")


def test_the_key_and_address_of_another_provider_are_not_given_to_who_writes_summaries(tmp_path: Path) -> None:
    chunks = MarkdownSplitter(4_000).split(make_document(text="Rotate the key with a command. " * 40))
    with OpenAIServer(lambda body: "Keys are rotated.") as server, OpenAIServer(lambda body: "x") as other:
        given = settings(
            tmp_path,
            LORE_CHAT_MODEL="anthropic:claude",
            LORE_CHAT_API_KEY="of-the-chat-model",
            LORE_CHAT_BASE_URL=other.base_url,
            LORE_SUMMARY_MODEL="openai:gpt-test",
            LORE_OPENAI_API_KEY="of-openai",
            LORE_OPENAI_BASE_URL=server.base_url,
        )
        make_summarizer(given).summarize(chunks)
        assert [request.headers["authorization"] for request in server.requests] == ["Bearer of-openai"]
        assert other.requests == []
