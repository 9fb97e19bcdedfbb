"""Slack."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from include.lore.declarations.base import BaseDeclaration
from include.lore.declarations.fields import Location, Name, WebAddress

__all__ = ["SlackExportDeclaration"]


class SlackExportDeclaration(BaseDeclaration):
    """A workspace export of Slack, as zip file or unpacked. `path` starts at the declaration's own folder."""

    kind: Literal["slack_export"] = "slack_export"
    path: Location
    channels: tuple[Name, ...] = Field((), description="Names or ids; default: every public channel")
    workspace_url: WebAddress | None = Field(None, description="https://WORKSPACE.slack.com, for permalinks")
    include_bots: bool = False
