"""The declaration of the assistant: its name, a short text that answers easy questions, and questions to try."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from lore.declarations.yaml_file import read_model

__all__ = ["Assistant", "load_assistant"]

MAX_CONTEXT_CHARACTERS = 4_000
"""About 1,000 tokens: the context is part of the planning call of every question."""

ShortText: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class Assistant(BaseModel):
    """The global context of every question, and the texts shown before the first one."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: ShortText = Field(description="Name of the assistant")
    context: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_CONTEXT_CHARACTERS)
    ] = Field(description="Names, links, purpose: questions about these are answered without a search")
    suggested_questions: tuple[ShortText, ...] = Field((), max_length=10, description="Questions for a newcomer to try")


def load_assistant(path: Path) -> Assistant | None:
    """Return the declaration, None without such a file.

    Raises DeclarationError, which names file, line and key, and the nearest known name for a wrong one.
    """
    return read_model(path, Assistant, least="name")
