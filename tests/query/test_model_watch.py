"""A language model that fails is seen: in the log once, by whoever wants to know, and in the answer's notes."""

from __future__ import annotations

from pathlib import Path

import pytest
from lore.errors import ContextTooLongError, ModelError
from lore.query.model_watch import ModelWatch

from tests.fakes import FakeChatModel, FakeEmbedder
from tests.query.fakes import pipeline_over
from tests.query.test_written_answers import PLAN, QUESTION, Setup

KEY = ModelError("openai:gpt rejected the key (HTTP 401).", remedy="Check LORE_CHAT_MODEL and LORE_CHAT_API_KEY.")
SERVER = ModelError("openai:gpt failed (HTTP 500).", remedy="Try again later.", retryable=True)
HANGS = ModelError("It took longer than 30 s.", remedy="Raise LORE_PLAN_SECONDS.")
USELESS = ModelError("The check left nothing of its answer.")


@pytest.mark.parametrize("error", [KEY, SERVER, HANGS], ids=["key", "server", "hangs"])
def test_a_failure_and_its_end_are_logged_once(error: ModelError, caplog: pytest.LogCaptureFixture) -> None:
    changes: list[ModelError | None] = []
    watch = ModelWatch(changes.append)
    watch.note([], called=True)
    for _ in range(3):
        watch.note([USELESS, error], called=True)
    watch.note([], called=False)
    assert changes == [error]
    assert caplog.text.count(error.remedy) == 1
    watch.note([USELESS], called=True)
    watch.note([], called=True)
    assert changes == [error, None]
    assert caplog.text.count("works again") == 1


@pytest.mark.parametrize("error", [USELESS, ContextTooLongError("Too long.", remedy="Shorten it.")])
def test_a_useless_reply_is_no_failure(error: ModelError, caplog: pytest.LogCaptureFixture) -> None:
    watch = ModelWatch()
    watch.note([error], called=True)
    assert caplog.text == ""


@pytest.mark.parametrize("error", [KEY, SERVER, HANGS], ids=["key", "server", "hangs"])
@pytest.mark.parametrize("stage", ["plan", "answer"])
def test_askers_are_told_of_the_failure_and_never_of_settings(
    stage: str, error: ModelError, caplog: pytest.LogCaptureFixture
) -> None:
    changes: list[ModelError | None] = []
    chat = FakeChatModel([error, PLAN], ["Yes [1].", "Yes [1]."]) if stage == "plan" else FakeChatModel(
        [PLAN, PLAN], [error, "Yes [1]."]
    )  # fmt: skip
    pipeline = pipeline_over(Setup().index, FakeEmbedder(512), None, chat, on_model_change=changes.append)
    answer = pipeline.ask(QUESTION)
    shown = f"{answer.text} {' '.join(answer.trace.notes)}"
    assert error.message in shown and "LORE_" not in shown
    assert ("The language model failed" in answer.text) == (stage == "answer")
    assert error.remedy in caplog.text
    assert changes == [error]
    pipeline.ask(QUESTION)
    assert changes == [error, None]


def test_no_text_for_askers_names_a_setting() -> None:
    query = Path(__file__).resolve().parents[2] / "include" / "lore" / "query"
    for file in query.rglob("*.py"):
        assert "LORE_CHAT_MODEL" not in file.read_text(encoding="utf-8"), file
