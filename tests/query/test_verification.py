"""Verification of written answers: statements judged by a model, and answers of which the checks left nothing."""

from __future__ import annotations

from typing import Any

import pytest
from lore.errors import ModelError
from lore.query.answer.compose import NOTHING_FOUND
from lore.query.budget import Budget
from lore.query.events import Answered, Delta, Verified
from lore.query.pipeline import Pipeline, PipelineModels, PipelineSettings
from lore.query.verify.statements import filler_citations, has_substance, statements
from lore.types import Answer, Plan

from tests.fakes import FakeChatModel, FakeEmbedder
from tests.query.fakes import MemoryIndex, make_chunk
from tests.query.setup import QUESTION

CODES = "Exit codes 1 and 2 are retried. Exit codes 64 and 77 are not retried, because another try can't help."
CHUNKS = (
    make_chunk("codes", CODES),
    make_chunk("keys", "Rotate the API key under Settings. The old key works for a day."),
)
ROTATE = "Rotate the API key under Settings [1]."
FOREVER = "The old key works for a day [1]."


def verdicts(*words: str) -> dict[str, Any]:
    return {"verdicts": [{"statement": n, "words": "", "verdict": word} for n, word in enumerate(words, start=1)]}


def ask(
    written: str,
    *replies: object,
    question: str = QUESTION.text,
    verifier: bool = True,
    budget: Budget | None = None,
) -> tuple[Answer, list[Verified], FakeChatModel]:
    """Return the answer, the events Verified, and the model that verified."""
    embedder = FakeEmbedder(dimensions=512)
    chat, judge = FakeChatModel([], [written]), FakeChatModel(list(replies))
    judge.name = "fake:judge"
    models = PipelineModels(embedder, None, chat, verifier=judge if verifier else None)
    pipeline = Pipeline(MemoryIndex(CHUNKS, embedder), models, PipelineSettings(0.5, 10, 2), budget=budget)
    events = list(pipeline.stream(question, plan=Plan(question, (question,))))
    shown = "".join(event.text for event in events if isinstance(event, Delta))
    last, verified = events[-1], [event for event in events if isinstance(event, Verified)]
    assert isinstance(last, Answered)
    text = verified[-1].text if verified and verified[-1].corrected else shown
    assert last.answer.text == text
    return last.answer, verified, judge


def test_one_call_judges_all_statements_with_their_passages() -> None:
    answer, events, judge = ask(f"{ROTATE} {FOREVER}", verdicts("supported", "supported"))
    assert events == [Verified(answer.text, corrected=False)]
    (call,) = judge.calls
    assert call[1].content.count("<statement ") == 2
    assert "works for a day" in call[1].content
    assert answer.trace.check.unverified == ()
    assert [usage.stage for usage in answer.trace.usage] == ["answer", "verify"]
    assert set(answer.trace.prompts) == {"answer", "verify"}


def test_an_unsupported_statement_is_taken_out_and_the_answer_says_so() -> None:
    answer, (event,), _ = ask(f"{ROTATE} {FOREVER}", verdicts("supported", "not"))
    assert event.corrected
    assert "works for a day" not in answer.text
    assert "1 statement left out" in answer.text
    assert answer.trace.check.unverified == ("The old key works for a day.",)


def test_a_partly_supported_statement_is_marked() -> None:
    answer, _, _ = ask(f"{ROTATE} {FOREVER}", verdicts("supported", "partly"))
    assert "The old key works for a day [1] (?)." in answer.text
    assert "does not clearly say this" in answer.text


def test_items_of_a_list_are_judged_one_by_one() -> None:
    written = "These exit codes are not retried [1]:\n\n- 1\n- 64 [1]\n- 77"
    answer, _, judge = ask(
        written, verdicts("not", "supported", "supported"), question="Which exit codes are not retried?"
    )
    assert 'completes="These exit codes are not retried:"' in judge.calls[0][1].content
    assert "- 64 [1]" in answer.text
    assert "- 77" in answer.text
    assert "- 1\n" not in answer.text


def test_rows_of_a_table_are_judged_with_their_header() -> None:
    found = statements("| code | retried |\n| --- | --- |\n| 1 | yes [1] |\n| 64 | yes [1] |\n")
    assert [(one.text, one.lead, one.numbers) for one in found] == [
        ("| 1 | yes |", "| code | retried |", (1,)),
        ("| 64 | yes |", "| code | retried |", (1,)),
    ]


def test_what_no_source_bears_out_is_not_found() -> None:
    answer, (event,), _ = ask(f"{ROTATE} {FOREVER}", verdicts("not", "not"))
    assert event.corrected
    assert not answer.found
    assert answer.text.startswith(NOTHING_FOUND)
    assert answer.citations == ()
    assert answer.nearest


@pytest.mark.parametrize("verifier", [True, False])
def test_steps_that_lost_their_commands_are_no_answer(verifier: bool) -> None:
    """Asked how to run on MySQL, a small model wrote commands of no source."""
    written = (
        "To rotate the API key on MySQL, you can follow these steps: `mysql_rotate --all` [1] `mysqladmin reload` [2]\n"
        "\n1. Run the command:\n\n```sh\nmysqladmin --force reload\n```\n\nThis can be found in [2]."
    )
    answer, (event,), judge = ask(written, verifier=verifier)
    assert event.corrected
    assert not answer.found
    assert answer.text.startswith(NOTHING_FOUND)
    assert judge.calls == []


@pytest.mark.parametrize("reply", [ModelError("Down."), {"verdicts": []}, {"verdicts": "none"}])
def test_without_verdicts_the_check_by_words_stays_and_a_note_says_so(reply: object) -> None:
    answer, (event,), _ = ask(f"{ROTATE} {FOREVER}", reply)
    assert not event.corrected
    assert any("words and meaning alone" in note for note in answer.trace.notes)


class JudgePrices:
    """Only the model that verifies costs anything: a dollar a call."""

    def cost(self, model: str, *_: object, **__: object) -> float:
        return 1.0 if model == "fake:judge" else 0.0

    def search_cost(self, *_: object) -> float:
        return 0.0


@pytest.mark.parametrize(("dollars", "calls"), [(0.5, 0), (1.5, 1)])
def test_the_call_is_in_the_budget(dollars: float, calls: int) -> None:
    budget = Budget(JudgePrices(), per_question=dollars, answer_model="fake:judge")
    answer, _, judge = ask(ROTATE, verdicts("supported"), budget=budget)
    assert len(judge.calls) == calls
    assert ("words and meaning alone" in " ".join(answer.trace.notes)) == (calls == 0)


def test_what_the_check_has_marked_is_not_asked_for_again() -> None:
    _, _, judge = ask(f"{ROTATE} Bananas grow in forty countries [1].", verdicts("supported"))
    assert "Bananas" not in judge.calls[0][1].content


@pytest.mark.parametrize(
    ("sentence", "left"),
    [
        ("This can be found in [2].", "[2]"),
        ("You can find more information in [1][2].", "[1][2]"),
        ("For more details, see [1].", "[1]"),
        ("This information is provided in the sources [1].", "[1]"),
        ("The key can be found in Settings [1].", None),
        ("See the limits of each key in Settings [1].", None),
        ("This can be found.", None),
    ],
)
def test_fillers(sentence: str, left: str | None) -> None:
    assert filler_citations(sentence) == left


def test_a_filler_leaves_its_citation_only_if_it_is_the_first() -> None:
    answer, _, _ = ask("Rotate the API key under Settings. This can be found in [1].", verdicts("supported"))
    assert answer.text.split() == ["Rotate", "the", "API", "key", "under", "Settings.", "[1]"]
    answer, _, _ = ask(f"{ROTATE} This can be found in [1].", verdicts("supported"))
    assert answer.text.strip() == ROTATE


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("You can follow these steps: [1] [1][2] [3]", False),
        ("1. Run `(command removed)` [1].\n2. Execute: (command removed)", False),
        ("```sh\n# (command removed)\n```", False),
        ("```sh\nlore sync\n```", True),
        ("# Heading\n\n*A note.*", False),
        ("Go to Settings [1].", True),
    ],
)
def test_substance(text: str, found: bool) -> None:
    assert has_substance(text) == found
