"""What the assistant pane offers before the first question: the assistant's name, and what a newcomer may ask."""

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
    """`title` stands above the questions; with no questions there is nothing to show."""

    title: str = ""
    questions: tuple[str, ...] = ()


def load_suggested_prompts(file: Path) -> SuggestedPrompts:
    """The first four suggested questions of the file about the assistant; none where there is no such file.

    Raises DeclarationError.
    """
    assistant = load_assistant(file)
    if assistant is None:
        return SuggestedPrompts()
    name = " ".join(assistant.name.split())
    title = f"I am {name}. For example, ask me:"
    questions = dict.fromkeys(" ".join(question.split()) for question in assistant.suggested_questions)
    return SuggestedPrompts(title if len(title) <= MAX_TITLE else "For example:", tuple(questions)[:MAX_PROMPTS])
