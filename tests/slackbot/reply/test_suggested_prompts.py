"""The assistant pane: at most four of the questions that the team declared, below the assistant's name."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from lore.errors import DeclarationError
from lore.slackbot.reply.suggested_prompts import SuggestedPrompts, load_suggested_prompts


def declare(folder: Path, **changes: object) -> Path:
    file = folder / "assistant.yaml"
    values = {"name": "Ada", "context": "Ada answers questions about the platform."}
    file.write_text(yaml.safe_dump({**values, **changes}), encoding="utf-8")
    return file


def test_the_first_four_questions_are_suggested(tmp_path: Path) -> None:
    questions = ["How do I\n rotate a key?", "How do I rotate a key?", *(f"Question {number}?" for number in range(5))]
    assert load_suggested_prompts(declare(tmp_path, suggested_questions=questions)) == SuggestedPrompts(
        "I'm Ada. Try asking me:",
        ("How do I rotate a key?", "Question 0?", "Question 1?", "Question 2?"),
    )


def test_a_long_name_is_left_out(tmp_path: Path) -> None:
    assert load_suggested_prompts(declare(tmp_path, name="A" * 200)).title == "Try asking:"


def test_nothing_is_suggested_where_nothing_is_declared(tmp_path: Path) -> None:
    assert load_suggested_prompts(tmp_path / "assistant.yaml") == SuggestedPrompts()
    assert load_suggested_prompts(declare(tmp_path)).questions == ()


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"assistant\.yaml"):
        load_suggested_prompts(declare(tmp_path, suggested_questions="How?"))
