"""The prompts that the assistant pane suggests before the first question."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lore.declarations import load_assistant

__all__ = ["SuggestedPrompts", "load_suggested_prompts"]

MAX_PROMPTS = 4
"""Slack shows no more."""
MAX_TITLE = 75


@dataclass(frozen=True, slots=True)
class SuggestedPrompts:
    """Suggested questions, and the title above them. Without questions, nothing is shown."""

    title: str = ""
    questions: tuple[str, ...] = ()


def load_suggested_prompts(file: Path) -> SuggestedPrompts:
    """Return the first four suggested questions of the file about the assistant; none if there is no such file.

    Raises DeclarationError.
    """
    assistant = load_assistant(file)
    if assistant is None:
        return SuggestedPrompts()
    name = " ".join(assistant.name.split())
    title = f"I'm {name}. Try asking me:"
    questions = dict.fromkeys(" ".join(question.split()) for question in assistant.suggested_questions)
    return SuggestedPrompts(title if len(title) <= MAX_TITLE else "Try asking:", tuple(questions)[:MAX_PROMPTS])
