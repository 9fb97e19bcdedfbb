"""`lore evaluate` and `lore questions suggest` as a person runs them: tables, files, exit codes, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Lore
from tests.servers.model_apis.openai import OpenAIServer

QUESTIONS = """
- question: How do I rotate an API key?
  pages: ["handbook:keys.md"]
  must_mention: ["keys rotate"]
  reference: Run keys rotate.
- question: How long are nightly backups kept?
  pages: ["https://docs.example.com/backup"]
- question: Which invoices does SAP export?
  unanswerable: true
"""


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "questions.yaml"
    path.write_text(QUESTIONS, encoding="utf-8")
    return str(path)


class TestEvaluate:
    def test_figures_are_printed_and_saved_and_compared_the_next_time(self, indexed: Lore, questions: str) -> None:
        first = indexed("evaluate", questions)
        assert first.exit_code == 0, first.output
        for words in ("3 questions", "nDCG@10", "abstention recall", "first token", "cost nothing", "no earlier run"):
            assert words in first.stdout
        assert "Correctness needs a language model" in first.stderr
        (page,) = Path(".lore/evaluations").glob("*-questions/evaluation.html")
        assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
        assert not Path(".lore/evaluations/unfinished").exists()
        second = indexed("evaluate", questions)
        assert "of 3 questions in both runs 0 went better and 0 worse" in second.stdout
        assert "last run" in second.stdout
        assert len(list(Path(".lore/evaluations").glob("*/evaluation.json"))) == 2

    def test_failing_questions_are_named(self, indexed: Lore, questions: str) -> None:
        with Path(questions).open("a", encoding="utf-8") as file:
            file.write('- question: Which invoices does the backup restore?\n  pages: ["handbook:keys.md"]\n')
        shown = indexed("evaluate", questions).stdout
        assert "Failed: 1 of 4" in shown
        assert "  q4: Which invoices does the backup restore? (cites no right page)" in shown

    def test_json_alone_goes_to_stdout(self, indexed: Lore, questions: str) -> None:
        result = indexed("evaluate", questions, "--limit", "1", "--save", "runs", "--json")
        values = json.loads(result.stdout)
        assert [one["id"] for one in values["results"]] == ["q1"]
        assert {figure["name"] for figure in values["figures"]} >= {"ndcg_at_10", "citation_recall", "mentions"}
        assert list(Path("runs").glob("*/evaluation.json"))

    def test_a_figure_below_its_floor_or_not_measured_ends_in_exit_code_1(self, indexed: Lore, questions: str) -> None:
        fine = indexed("evaluate", questions, "--fail-below", "recall=0.9", "--fail-below", "abstention_recall=1")
        assert fine.exit_code == 0, fine.output
        low = indexed("evaluate", questions, "--fail-below", "citation_precision=1", "--fail-below", "correctness=0")
        assert low.exit_code == 1
        assert indexed("evaluate", questions, "--fail-below", "nDCG@10=0.5").exit_code == 0, "the title in the table"
        assert "correctness was not measured" in low.stderr
        assert "Saved:" in low.stderr

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ((), "Give either a file of questions or --beir FOLDER"),
            (("{}", "--beir", "."), "Give either a file of questions or --beir FOLDER"),
            (("{}", "--stage", "hybrid"), "belong to --beir"),
            (("--beir", ".", "--fail-below", "recall=1"), "belong to a file of questions"),
            (("{}", "--fail-below", "ndcg=1"), "Known: ndcg_at_10"),
            (("{}", "--fail-below", "recall"), "Write recall=0.8"),
            (("{}", "--fail-below", "recall=2"), "Write recall=0.8"),
            (("{}", "--fail-below", "recall=nan"), "Write recall=0.8"),
            (("{}", "--save", "{}"), "is not a folder"),
            (("missing.yaml",), "there is no such file"),
        ],
    )
    def test_what_is_wrong_is_said_before_anything_is_asked(
        self, indexed: Lore, questions: str, arguments: tuple[str, ...], says: str
    ) -> None:
        result = indexed("evaluate", *(argument.format(questions) for argument in arguments))
        assert result.exit_code == 2, result.output
        assert says in " ".join(result.stderr.replace("│", " ").split())
        assert result.stdout == ""


def reply(body: dict[str, Any]) -> str:
    """A plan, a verdict, a draft, or an answer, as the request asks."""
    said = json.dumps(body["messages"])
    if "You grade answers" in said:
        return json.dumps({"reason": "It names the command.", "verdict": "correct"})
    if "write test questions" in said:
        quote = "Nightly backups are kept for thirty days and can be restored by an operator."
        return json.dumps({"question": "For how long is a nightly copy there?", "quote": quote})
    if "response_format" in body:
        return json.dumps({"question": "", "wordings": ["rotate key", "key rotation", "keys rotate"], "search": True})
    return "Rotate an API key with `keys rotate` [1]."


@pytest.fixture
def model() -> Iterator[dict[str, str]]:
    with OpenAIServer(reply) as server:
        yield {
            "LORE_CHAT_MODEL": "openai:gpt-test",
            "LORE_OPENAI_API_KEY": "x",
            "LORE_OPENAI_BASE_URL": server.base_url,
        }


def test_with_a_model_answers_are_judged_and_cost_something(
    indexed: Lore, questions: str, model: dict[str, str]
) -> None:
    result = indexed("evaluate", questions, "--limit", "1", "--fail-below", "correctness=1", **model)
    assert result.exit_code == 0, result.output
    assert "judge openai:gpt-test" in result.stdout and "correctness" in result.stdout
    assert "The judge took" in result.stdout
    without = indexed("evaluate", questions, "--limit", "1", "--judge-model", "none", "--json", **model)
    values = json.loads(without.stdout)
    assert (values["setup"]["judge_model"], values["results"][0]["verdict"]) == ("", None)


class TestSuggest:
    def test_drafts_are_written_to_a_new_file_that_evaluate_does_not_take_yet(
        self, indexed: Lore, questions: str, model: dict[str, str]
    ) -> None:
        result = indexed("questions", "suggest", "handbook", "--out", "drafts.yaml", **model)
        assert result.exit_code == 0, result.output
        text = Path("drafts.yaml").read_text(encoding="utf-8")
        assert text.count("draft: true") == 2  # one in the head, one draft: the quote is in one page only
        assert "calls" in result.stderr and "Saved: drafts.yaml" in result.stderr
        refused = indexed("evaluate", "drafts.yaml")
        assert refused.exit_code == 2 and "all of its questions are drafts" in refused.stderr

    def test_a_file_is_never_written_over(self, indexed: Lore, questions: str) -> None:
        result = indexed("questions", "suggest", "handbook", "--out", questions)
        assert result.exit_code == 2 and "won't be overwritten" in result.stderr
        assert Path(questions).read_text(encoding="utf-8") == QUESTIONS
        nowhere = indexed("questions", "suggest", "handbook", "--out", "nowhere/drafts.yaml")
        assert nowhere.exit_code == 2 and "There is no folder nowhere" in nowhere.stderr

    def test_an_unknown_source_is_an_error_and_no_drafts_are_a_failure(self, indexed: Lore, questions: str) -> None:
        unknown = indexed("questions", "suggest", "handbok")
        assert unknown.exit_code == 2 and "Did you mean handbook?" in unknown.stderr
        none = indexed("questions", "suggest", "handbook")
        assert none.exit_code == 1 and "Set LORE_CHAT_MODEL" in none.stderr
