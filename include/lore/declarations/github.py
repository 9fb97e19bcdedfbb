"""GitHub."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field

from include.lore.declarations.base import BaseDeclaration
from include.lore.declarations.fields import Name, WebAddress

__all__ = ["GitHubIssuesDeclaration"]


class GitHubIssuesDeclaration(BaseDeclaration):
    """Issues and pull requests of one repository, with their comments."""

    kind: Literal["github_issues"] = "github_issues"
    repository: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]*[A-Za-z0-9_-]$", description="OWNER/NAME"
    )
    base_url: WebAddress | None = Field(None, description="GitHub Enterprise's API; default: LORE_GITHUB_BASE_URL")
    state: Literal["all", "open", "closed"] = "all"
    labels: tuple[Name, ...] = Field((), description="Only issues that carry all of these")
    since: date | None = Field(None, description="Only issues that were updated on this day or later")
    include_pull_requests: bool = True
