"""Declarations of forums that run Discourse."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lore.declarations.base import BaseDeclaration
from lore.declarations.fields import Name, WebAddress

__all__ = ["DiscourseDeclaration"]


class DiscourseDeclaration(BaseDeclaration):
    """Topics of a forum with their posts, the accepted solution first."""

    kind: Literal["discourse"] = "discourse"
    url: WebAddress = Field(description="Address of the forum")
    categories: tuple[Name | int, ...] = Field((), description="Slugs, names or ids; default: every public category")
    solved_only: bool = Field(False, description="Leave out topics without an accepted solution")
    max_posts: int = Field(500, gt=0, le=10_000, description="Most posts of one topic, besides its solution")
    max_topics: int = Field(20_000, gt=0, le=200_000, description="A sync with more topics stops before it reads any")
    refresh_days: int = Field(
        30, ge=0, description="Days after which everything is read again, because the forum announces no edits"
    )
