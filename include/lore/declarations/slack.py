"""Declarations of Slack workspaces and their exports."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field

from lore.declarations.base import BaseDeclaration
from lore.declarations.fields import Location, Name, WebAddress

__all__ = ["SlackDeclaration", "SlackExportDeclaration"]


class SlackDeclaration(BaseDeclaration):
    """Channels of a Slack workspace, through its Web API."""

    kind: Literal["slack"] = "slack"
    channels: tuple[Name, ...] = Field(
        (), description="Names or ids; default: public channels with the app as a member"
    )
    base_url: WebAddress | None = Field(None, description="Slack's API; default: https://slack.com/api")
    since: date | None = Field(None, description="Only messages of this day (UTC) or later")
    look_back_days: int = Field(90, ge=1, le=36_500, description="Days in which a sync looks for changes and replies")
    recheck_days: int = Field(
        2, ge=0, le=36_500, description="A thread with a reply in these days is read again as a whole"
    )
    page_size: int = Field(200, gt=0, le=999, description="Messages requested in one call")
    include_bots: bool = False
    include_files: bool = Field(True, description="Read the text of snippets and text files")
    max_file_bytes: int = Field(100_000, gt=0, le=10**7, description="A larger file is only named")


class SlackExportDeclaration(BaseDeclaration):
    """A workspace export of Slack, as a zip file or unpacked."""

    kind: Literal["slack_export"] = "slack_export"
    path: Location
    channels: tuple[Name, ...] = Field((), description="Names or ids; default: every public channel")
    workspace_url: WebAddress | None = Field(None, description="https://WORKSPACE.slack.com, for permalinks")
    include_bots: bool = False
