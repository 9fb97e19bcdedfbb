"""`lore compare` as a person runs it: tables, files, and errors that say what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Lore

QUESTIONS = """
- question: How do I rotate an API key?
  pages: ["handbook:keys.md"]
- question: How long are backups kept?
  pages: ["https://docs.example.com/backup"]
"""


@pytest.fixture
def questions(knowledge: Path) -> str:
    path = knowledge / "questions.yaml"
    path.write_text(QUESTIONS, encoding="utf-8")
    return str(path)


def test_a_comparison_is_printed_and_saved(lore: Lore, knowledge: Path, questions: str) -> None:
    result = lore("compare", "handbook", "--questions", questions, "--output", "report", "--retrieval", "hybrid")
    assert result.exit_code == 0, result.output
    assert "handbook: 3 documents, 2 questions" in result.stdout
    for name in ("basic", "summary", "summary_parent", "nDCG@10", "context tokens"):
        assert name in result.stdout
    assert "sentences of the passages" in result.stderr
    assert (knowledge / "report" / "comparison.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    saved = json.loads((knowledge / "report" / "comparison.json").read_text(encoding="utf-8"))
    assert [pair["index"] for pair in saved["pairs"]] == ["basic", "summary", "summary_parent"]
    assert not (knowledge / "index").exists()


def test_json_alone_goes_to_stdout(lore: Lore, knowledge: Path, questions: str) -> None:
    result = lore(
        "compare", "handbook", "-q", questions, "--index", "basic:400", "--retrieval", "keyword", "--answers", "0",
        "--limit-questions", "1", "--json",
    )  # fmt: skip
    values = json.loads(result.stdout)
    assert (values["questions"], len(values["pairs"]), values["indexes"][0]["name"]) == (1, 1, "basic:400")
    assert list((knowledge / ".lore" / "compare").glob("*/comparison.html"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nothing",), "neither a declared source nor a file"),
        (("handbook", "--index", "parent"), "Known: basic, summary, summary_parent."),
        (("handbook", "--retrieval", "magic"), "Known: none, keyword, vector, hybrid, hybrid+rerank."),
        (("handbook", "--output", "questions.yaml"), "is not a folder"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_built(
    lore: Lore, questions: str, arguments: tuple[str, ...], says: str
) -> None:
    result = lore("compare", *arguments, "--questions", questions)
    assert result.exit_code == 2 and says in result.stderr
    assert result.stdout == ""
