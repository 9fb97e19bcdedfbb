"""The replies that the assistant asks a language model for."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, Field

__all__ = ["ReviewReply", "StatementReply", "SummaryReply"]

MAX_ITEMS = 10
MAX_ITEM = 500


def _texts(value: Any) -> list[str]:
    values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [one.strip()[:MAX_ITEM] for one in values[:MAX_ITEMS] if isinstance(one, str) and one.strip()]


Texts: TypeAlias = Annotated[list[str], BeforeValidator(_texts)]
Text: TypeAlias = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]


class StatementReply(BaseModel):
    """A statement with its explanation, or what is missing for one."""

    answerable: bool = Field(True, description="false if the schema can't answer the question")
    missing: Text = Field("", description="The missing information, if it isn't answerable")
    sql: Text = Field("", description="One SELECT")
    explanation: Text = Field("", description="One or two sentences for a reader who knows no SQL")
    assumptions: Texts = Field(default_factory=list, description="What was assumed")


class ReviewReply(BaseModel):
    """What is wrong with a statement, and the corrected one."""

    problems: Texts = Field(default_factory=list, description="Short sentences, [] if it is right")
    sql: Text = Field("", description="The corrected statement, or empty")


class SummaryReply(BaseModel):
    """A result in words."""

    summary: Text = Field("", description="One to three sentences")
