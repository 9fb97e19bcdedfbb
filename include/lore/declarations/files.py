"""Folders of files."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lore.declarations.base import BaseDeclaration
from lore.declarations.fields import Location, Name, WebAddress

__all__ = ["FilesDeclaration"]


class FilesDeclaration(BaseDeclaration):
    """A folder of files. `path` starts at the declaration's own folder, and is kept absolute."""

    kind: Literal["files"] = "files"
    path: Location
    include: tuple[Name, ...] = Field((), description="Globs below path; default: every known format")
    exclude: tuple[Name, ...] = Field((), description="Globs below path that are left out")
    base_url: WebAddress | None = Field(None, description="Public address of the folder: base_url/a/b for a/b.md")
    strip_suffix: bool = Field(True, description="Whether a page's address drops .md, .rst, .html and .ipynb")
    url_suffix: str = Field("", pattern=r"^[A-Za-z0-9._-]*$", description='Put at the end of an address: ".html"')
    anchors: Literal["none", "github", "mkdocs", "docusaurus", "sphinx", "jupyter"] = Field(
        "none", description="What shows the pages: citations of Markdown, RST and notebooks lead to its headings"
    )
    max_bytes: int = Field(5_000_000, gt=0, le=10**9, description="A larger file is reported as failed, not read")
