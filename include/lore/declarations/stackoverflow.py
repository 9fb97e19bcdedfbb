"""Declarations of Stack Overflow and the other sites of Stack Exchange."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from lore.declarations.base import BaseDeclaration
from lore.declarations.fields import Location, WebAddress

__all__ = ["StackOverflowDeclaration"]

Tagged: TypeAlias = Annotated[str, Field(pattern=r"^[^\s;|<>]+( [^\s;|<>]+)*$", max_length=200)]
"""A tag, or several with spaces between them: a question has all of them."""


class StackOverflowDeclaration(BaseDeclaration):
    """Questions with their answers, through the API of Stack Exchange or from a file of its data dump."""

    kind: Literal["stackoverflow"] = "stackoverflow"
    tagged: tuple[Tagged, ...] = Field(
        min_length=1, max_length=20, description='Questions with any of these tags; "a b" means both'
    )
    site: str = Field("stackoverflow", pattern=r"^[a-z0-9][a-z0-9.-]*$", description="Name of the site in the API")
    dump: Location | None = Field(None, description="Posts.xml of a data dump, to read instead of the API")
    base_url: WebAddress | None = Field(None, description="Another address of the API")
    min_score: int = Field(0, description="Least votes of a question")
    min_answer_score: int = Field(0, description="Least votes of an answer that isn't accepted")
    include_unanswered: bool = Field(False, description="Read questions without a good answer too")
    since: date | None = Field(None, description="Only questions with activity on this day or later")
    max_questions: int = Field(
        20_000, gt=0, le=1_000_000, description="A sync with more questions stops before it starts"
    )
    refresh_days: int = Field(
        30, ge=0, description="Days after which everything is read again, because votes change no date; 0: never"
    )
