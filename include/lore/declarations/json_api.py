"""Declarations of lists of items that a server returns as JSON."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from lore.declarations.base import BaseDeclaration
from lore.declarations.templates import JmesPath, TemplateText

__all__ = ["JsonApiDeclaration"]

SECRET_NAMES = re.compile(r"token|secret|passw|api[-_]?key|^key$|^sig(nature)?$|auth", re.IGNORECASE)


def _list_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s<>\"]", value):
        raise ValueError("is an invalid web address; it should start with https:// or http://")
    if parts.fragment:
        raise ValueError("has a part after #, which isn't sent to a server")
    secret = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if SECRET_NAMES.search(name)]
    if parts.username is not None or secret:
        raise ValueError("holds a password or key; send it as a header, set in LORE_API_HEADERS")
    return value


ListAddress: TypeAlias = Annotated[str, AfterValidator(_list_address)]
Parameter: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.\[\]-]+$", max_length=100)]


class JsonApiDeclaration(BaseDeclaration):
    """Items of a JSON list; templates make a document of each."""

    kind: Literal["json_api"] = "json_api"
    url: ListAddress = Field(description="Address of the list, with its query")
    items: JmesPath = Field("@", description="The items in an answer")
    paging: Literal["none", "page", "offset", "cursor", "next", "link"] = Field(
        "none", description="Way of requesting the next part of the list"
    )
    next: JmesPath | None = Field(
        None, validate_default=True, description='The next address ("next") or cursor ("cursor") in an answer'
    )
    page_parameter: Parameter | None = Field(None, description="Query parameter of page, offset or cursor")
    first_page: int = Field(1, ge=0, description="Number of the first page")
    size_parameter: Parameter | None = Field(None, description="Query parameter of the size of a page")
    page_size: int | None = Field(
        None, validate_default=True, gt=0, le=10_000, description="Items of a page, sent as `size_parameter`"
    )
    item_id: TemplateText = Field(description="Unique and permanent id of an item")
    item_title: TemplateText = Field("{title || name}", description="Its title")
    item_url: TemplateText | None = Field(None, description="Its address for people")
    item_text: TemplateText = Field(description="Its text")
    item_format: Literal["markdown", "html", "text", "rst"] = Field("markdown", description="Format of the text")
    item_updated_at: JmesPath | None = Field(
        None, description="Time of its last change: ISO 8601, or seconds since 1970"
    )
    max_pages: int = Field(1_000, gt=0, le=100_000, description="A longer list is an error")
    max_items: int = Field(10_000, gt=0, le=200_000, description="A longer list is an error")
    max_page_bytes: int = Field(16_000_000, gt=0, le=10**9, description="A larger answer is an error")

    @field_validator("next")
    @classmethod
    def _next_fits(cls, value: str | None, info: ValidationInfo) -> str | None:
        paging = info.data.get("paging")
        if (value is not None) != (paging in ("next", "cursor")) and paging is not None:
            wanted = "is required" if value is None else "has no effect"
            raise ValueError(f"{wanted} with `paging: {paging}`")
        return value

    @field_validator("page_parameter")
    @classmethod
    def _parameter_fits(cls, value: str | None, info: ValidationInfo) -> str | None:
        paging = info.data.get("paging")
        if value is not None and paging in ("none", "next", "link"):
            raise ValueError(f"has no effect with `paging: {paging}`")
        return value

    @field_validator("page_size")
    @classmethod
    def _size_fits(cls, value: int | None, info: ValidationInfo) -> int | None:
        if (value is None) != (info.data.get("size_parameter") is None):
            raise ValueError("and `size_parameter` belong together: set both or neither")
        return value
