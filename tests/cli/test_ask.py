"""`lore search` and `lore ask` over a small knowledge base: what they print, where, and with which exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Lore, declare

pytestmark = pytest.mark.xdist_group("cli")  # the local model is built once


def parsed(text: str) -> Any:
    return json.loads(text)


class TestSearchAndAsk:
    def test_search(self, indexed: Lore) -> None:
        result = indexed("search", "how", "do", "I", "rotate", "a", "key", "--json")
        assert result.exit_code == 0
        found = parsed(result.stdout)
        assert found["question"] == "how do I rotate a key"
        assert found["hits"][0]["document_id"] == "handbook:keys.md"
        assert found["hits"][0]["url"] == "https://docs.example.com/keys"
        assert "keys rotate" in found["hits"][0]["text"]

    def test_limit(self, indexed: Lore) -> None:
        assert len(parsed(indexed("search", "backups", "--limit", "1", "--json").stdout)["hits"]) == 1

    def test_search_for_people(self, indexed: Lore) -> None:
        result = indexed("search", "rotate a key", "-n", "1")
        assert result.stdout.startswith("1. ")
        assert re.search(r"\(handbook, similarity 0\.\d\d\)$", result.stdout.splitlines()[0])
        assert "Rotation" in result.stdout
        assert "https://docs.example.com/keys" in result.stdout

    def test_a_page_without_an_address_is_named_by_its_id(self, lore: Lore, knowledge: Path) -> None:
        declare(knowledge, "handbook", "kind: files\npath: ../pages\n")
        assert lore("sync", "--all").exit_code == 0
        assert "\n   handbook:keys.md\n" in lore("search", "rotate a key", "-n", "1").stdout
        assert "\n    handbook:backup.md\n" in lore("ask", "How long are nightly backups kept?").stdout

    def test_an_unknown_source_names_the_nearest(self, indexed: Lore) -> None:
        result = indexed("search", "backups", "--source", "handbok")
        assert result.exit_code == 2
        assert "handbook" in result.stderr

    @pytest.mark.parametrize("command", ["search", "ask"])
    def test_no_index_yet(self, lore: Lore, knowledge: Path, command: str) -> None:
        result = lore(command, "anything")
        assert result.exit_code == 2
        assert "lore sync --all" in result.stderr
        assert not (knowledge / "index").exists()

    @pytest.mark.parametrize("command", ["search", "ask"])
    def test_a_question_from_standard_input(self, indexed: Lore, command: str) -> None:
        result = indexed(command, "-", "--json", stdin="How long are\nnightly backups kept?\n")
        assert parsed(result.stdout)["question"] == "How long are\nnightly backups kept?"
        assert indexed(command, "-", stdin="\n").exit_code == 2

    def test_a_question_about_an_option(self, indexed: Lore) -> None:
        refused = indexed("ask", "--max-age", "of", "backups?")
        assert refused.exit_code == 2
        assert "ask -- --max-age of backups?" in refused.stderr
        assert parsed(indexed("ask", "--json", "--", "--max-age", "of", "backups?").stdout)["found"] is True

    def test_an_empty_question(self, indexed: Lore) -> None:
        assert indexed("ask", "  ").exit_code == 2

    def test_ask_cites_its_sources(self, indexed: Lore) -> None:
        result = indexed("ask", "How long are nightly backups kept?")
        assert result.exit_code == 0
        assert "thirty days" in result.stdout
        answer, _, sources = result.stdout.partition("\nSources\n")
        assert "[1]" in answer
        assert "[1] Backups" in sources
        assert "https://docs.example.com/backup" in sources

    def test_ask_as_json(self, indexed: Lore) -> None:
        result = indexed("ask", "How long are nightly backups kept?", "--source", "handbook", "--json")
        answer = parsed(result.stdout)
        assert answer["found"] is True
        assert answer["citations"][0]["document_id"] == "handbook:backup.md"
        assert answer["trace"]["passages"]

    @pytest.mark.parametrize("command", ["search", "ask"])
    def test_hostile_text_is_shown_as_text(self, indexed: Lore, command: str) -> None:
        result = indexed(command, "zebra escapes")
        assert "\x1b" not in result.output
        assert "\u202e" not in result.output
        assert "[bold]Evil" in result.stdout or "Evil" in result.stdout
        assert "[red]x" in result.stdout or r"\[red" in result.stdout

    def test_the_index_of_another_model(self, indexed: Lore) -> None:
        result = indexed(
            "search", "backups", LORE_EMBEDDER="openai:text-embedding-3-small", LORE_OPENAI_API_KEY="sk-secret-key"
        )
        assert result.exit_code == 2
        assert "local" in result.stderr
        assert "sk-secret-key" not in result.output
        listed = indexed("sources", "--json", LORE_EMBEDDER="openai:text-embedding-3-small", LORE_OPENAI_API_KEY="sk")
        assert listed.exit_code == 2
        assert [(row["state"], row["documents"]) for row in parsed(listed.stdout)["sources"]] == [("unknown", None)]

    def test_an_unknown_setting(self, indexed: Lore) -> None:
        result = indexed("search", "backups", LORE_EMBEDER="local")
        assert result.exit_code == 2
        assert "LORE_EMBEDDER" in result.stderr

    def test_an_empty_index_says_what_to_do(self, lore: Lore, knowledge: Path) -> None:
        (knowledge / "index").mkdir()
        assert "lore sync --all" in lore("search", "backups").stderr
        asked = lore("ask", "backups")
        assert "lore sync --all" in asked.stdout
        assert "index is empty" not in asked.stderr  # once is enough

    def test_a_language_model_that_is_down_is_named_with_the_remedy(
        self, indexed: Lore, caplog: pytest.LogCaptureFixture
    ) -> None:
        settings = {
            "LORE_CHAT_MODEL": "openai:tiny",
            "LORE_OPENAI_BASE_URL": "http://127.0.0.1:9",
            "LORE_MAX_RETRIES": "0",
        }
        result = indexed("ask", "How long are nightly backups kept?", **settings)
        assert result.exit_code == 0
        assert "thirty days" in result.stdout
        assert "the language model failed" in result.stderr
        assert "LORE_OPENAI_BASE_URL" in caplog.text  # on the standard error, once for whoever runs it

    def test_a_narrow_terminal(self, indexed: Lore) -> None:
        narrow = {"FORCE_COLOR": "1", "COLUMNS": "40", "TERM": "xterm"}
        listed = indexed("sources", **narrow).stdout
        lines = [line.split() for line in listed.splitlines()]
        assert lines[0] == ["source", "handbook"]
        assert ["title", "Handbook"] in lines and ["documents", "3"] in lines
        versions = indexed("index", "list", **narrow).stdout.splitlines()
        assert versions[0] == "version 1"
        assert "  embedder   local:all-MiniLM-L6-v2" in versions
        answer = indexed("ask", "How long are nightly backups kept?", **narrow).stdout
        assert not answer.startswith("\n")
        assert "\n\n\n" not in "\n".join(line.rstrip() for line in answer.splitlines())
