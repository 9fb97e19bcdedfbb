"""Declarations of folders of files."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lore.declarations.base import BaseDeclaration
from lore.declarations.fields import Location, Name, WebAddress

__all__ = ["FilesDeclaration"]


class FilesDeclaration(BaseDeclaration):
    """A folder of files."""

    kind: Literal["files"] = "files"
    path: Location
    include: tuple[Name, ...] = Field((), description="Globs below path; default: every known format")
    exclude: tuple[Name, ...] = Field((), description="Globs below path to leave out")
    base_url: WebAddress | None = Field(None, description="Public address of the folder: base_url/a/b for a/b.md")
    strip_suffix: bool = Field(True, description="Drop .md, .rst, .html and .ipynb from the addresses of pages")
    url_suffix: str = Field("", pattern=r"^[A-Za-z0-9._-]*$", description='End of each address, such as ".html"')
    anchors: Literal["none", "github", "mkdocs", "docusaurus", "sphinx", "jupyter"] = Field(
        "none", description="What shows the pages: citations of Markdown, RST and notebooks lead to its headings"
    )
    max_bytes: int = Field(5_000_000, gt=0, le=10**9, description="A larger file fails and isn't read")
