"""Declarations of documentation sites."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from lore.declarations.base import BaseDeclaration
from lore.declarations.fields import Name, WebAddress

__all__ = ["SiteDeclaration"]


def _host(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", value):
        raise ValueError("is an invalid host name; write it without https://, port and path")
    return value.lower()


Host: TypeAlias = Annotated[str, AfterValidator(_host)]


class SiteDeclaration(BaseDeclaration):
    """The pages of a website at and below one address."""

    kind: Literal["site"] = "site"
    url: WebAddress = Field(description="Start of the site; only pages at and below this address are read")
    discovery: Literal["auto", "sitemap", "links", "both", "llms_txt"] = Field(
        "auto", description="Way of finding pages: auto uses sitemaps if they list pages, else links"
    )
    sitemaps: tuple[WebAddress, ...] = Field((), description="Default: those of robots.txt, else sitemap.xml")
    include: tuple[Name, ...] = Field(
        (), description="Globs below url, where `*` matches slashes too; default: all pages"
    )
    exclude: tuple[Name, ...] = Field((), description="Globs below url of pages that aren't even requested")
    version: str | None = Field(
        None,
        min_length=1,
        description="Version to read, as in addresses; the same pages in other versions are left out",
    )
    query_parameters: tuple[Name, ...] | None = Field(
        None, description="Parameters after ? that distinguish pages; default: all except known tracking parameters"
    )
    markdown_twins: bool = Field(False, description="Request a page as Markdown first, at its address plus .md")
    delay_seconds: float = Field(0.5, ge=0, le=3600, description="Pause between two calls; robots.txt may ask for more")
    max_pages: int = Field(
        10_000, gt=0, le=50_000, description="Most addresses requested; a site with more is reported"
    )
    max_depth: int = Field(20, ge=0, le=1000, description="Most links followed from url to a page")
    max_bytes: int = Field(10_000_000, gt=0, le=30_000_000, description="A larger page fails")
    max_total_bytes: int = Field(
        2_000_000_000, gt=0, description="A sync that loads more stops; the next one continues"
    )
    max_seconds: float = Field(6 * 3600.0, gt=0, description="A sync that takes longer stops; the next one continues")
    allow_hosts: tuple[Host, ...] = Field((), description="Hosts that may have private addresses, such as an intranet")
