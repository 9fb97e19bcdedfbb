"""Declarations of GitHub repositories and their issues."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from lore.declarations.base import BaseDeclaration
from lore.declarations.fields import Name, WebAddress

__all__ = ["GitHubIssuesDeclaration", "GitHubRepoDeclaration"]


def _ref(value: str) -> str:
    if not re.fullmatch(r"[^\s~^:?*\[\\\x00-\x1f\x7f]+", value) or ".." in value or value.startswith(("/", "-")):
        raise ValueError("is an invalid name of a branch, tag or commit")
    return value.removesuffix("/")


Repository: TypeAlias = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]*[A-Za-z0-9_-]$", description="OWNER/NAME")
]
ApiAddress: TypeAlias = Annotated[
    WebAddress | None, Field(description="GitHub Enterprise's API; default: LORE_GITHUB_BASE_URL")
]


class GitHubRepoDeclaration(BaseDeclaration):
    """The documents of one repository at a branch, tag or commit, and optionally its code."""

    kind: Literal["github_repo"] = "github_repo"
    repository: Repository
    base_url: ApiAddress = None
    ref: Annotated[str, AfterValidator(_ref)] | None = Field(
        None, description="A branch, tag or commit; default: the default branch"
    )
    include: tuple[Name, ...] = Field((), description="Globs; default: every document, and with `code` all code")
    exclude: tuple[Name, ...] = Field((), description="Globs to leave out")
    code: bool = Field(False, description="Read source code too, a document for each function and class")
    max_bytes: int = Field(5_000_000, gt=0, le=10**9, description="A larger file fails and isn't read")
    max_total_bytes: int = Field(
        2_000_000_000, gt=0, le=10**12, description="A repository that unpacks to more isn't read"
    )


class GitHubIssuesDeclaration(BaseDeclaration):
    """Issues and pull requests of one repository with their comments, and optionally reviews and discussions."""

    kind: Literal["github_issues"] = "github_issues"
    repository: Repository
    base_url: ApiAddress = None
    state: Literal["all", "open", "closed"] = "all"
    labels: tuple[Name, ...] = Field((), description="Only issues with all of these labels")
    exclude_labels: tuple[Name, ...] = Field((), description="No issue with any of these labels")
    since: date | None = Field(None, description="Only issues updated on this day or later")
    max_age_days: int | None = Field(None, gt=0, le=36_500, description="Only issues updated within so many days")
    include_pull_requests: bool = True
    include_reviews: bool = Field(False, description="Read reviews of pull requests; one more call for each")
    include_discussions: bool = Field(False, description="Read discussions, which takes a token")
    include_bots: bool = Field(False, description="Read what bots write")
