"""The assistant pane: at most four of the questions that the team declared, below the assistant's name."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from lore.errors import DeclarationError
from lore.slackbot.reply.suggestions import Suggestions, load_suggestions


def declare(folder: Path, **changes: object) -> Path:
    file = folder / "assistant.yaml"
    values = {"name": "Ada", "context": "Ada answers questions about the platform."}
    file.write_text(yaml.safe_dump({**values, **changes}), encoding="utf-8")
    return file


def test_the_first_four_questions_are_suggested(tmp_path: Path) -> None:
    questions = ["How do I\n rotate a key?", "How do I rotate a key?", *(f"Question {number}?" for number in range(5))]
    assert load_suggestions(declare(tmp_path, suggested_questions=questions)) == Suggestions(
        "I am Ada. For example, ask me:",
        ("How do I rotate a key?", "Question 0?", "Question 1?", "Question 2?"),
    )


def test_a_long_name_is_left_out(tmp_path: Path) -> None:
    assert load_suggestions(declare(tmp_path, name="A" * 200)).title == "For example:"


def test_nothing_is_suggested_where_nothing_is_declared(tmp_path: Path) -> None:
    assert load_suggestions(tmp_path / "assistant.yaml") == Suggestions()
    assert load_suggestions(declare(tmp_path)).questions == ()


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"assistant\.yaml"):
        load_suggestions(declare(tmp_path, suggested_questions="How?"))
