"""Questions to a database with the statements that answer them, in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from lore.declarations.fields import Name
from lore.declarations.yaml_file import read_model
from lore.errors import ConfigurationError

__all__ = ["GoldQuestion", "GoldQuestions", "load_gold_questions"]


class GoldQuestion(BaseModel):
    """A question and its gold statements, of which each is right. With `ordered`, the order of rows counts."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    question: Name
    sql: Annotated[tuple[Name, ...], Field(min_length=1)]
    ordered: bool = False

    @field_validator("sql", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class GoldQuestions(BaseModel):
    """The questions to one declared database."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    database: Name
    questions: Annotated[tuple[GoldQuestion, ...], Field(min_length=1)]


def load_gold_questions(path: Path) -> GoldQuestions:
    """Load the file. Raises DeclarationError with the line of a mistake, and ConfigurationError without a file."""
    found = read_model(path, GoldQuestions, least="database", parts=[GoldQuestion])
    if found is None:
        raise ConfigurationError(f"There is no file {path}.", remedy="Write one as in docs/databases.md.")
    return found
