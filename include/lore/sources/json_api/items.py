"""Documents from the items of a list, by the declaration's templates."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from urllib.parse import quote, urljoin

from lore.declarations import Expression, JsonApiDeclaration, Template
from lore.errors import ConversionError
from lore.sources.payload import from_epoch, from_iso, one_line, web_address
from lore.sources.post_text import to_markdown
from lore.types import Document, Failure

__all__ = ["ItemReader"]

MAX_ID = 500
SAFE_ID_CHARACTERS = "/:@+~,;=.-_"
"""Characters that stay in an id; other characters are percent-encoded, except letters and digits."""
MILLISECONDS = 10**11
"""A larger number counts milliseconds: as seconds, it would be after the year 5000."""


class ItemReader:
    """Renders items; one that can't be rendered is a failure that names the template."""

    def __init__(self, declaration: JsonApiDeclaration) -> None:
        self._declaration = declaration
        self._id = Template.parse(declaration.item_id)
        self._title = Template.parse(declaration.item_title)
        self._url = Template.parse(declaration.item_url) if declaration.item_url else None
        self._text = Template.parse(declaration.item_text)
        self._updated_at = Expression.parse(declaration.item_updated_at) if declaration.item_updated_at else None

    def document(self, item: Any, page: str, number: int) -> Document | Failure:
        """Return the document of the item with this number on a page, or the failure."""
        source = self._declaration.id
        try:
            name = one_line(self._id.render(item))
        except ValueError as error:
            name, reason = "", f"`item_id`: {error}."
        else:
            reason = f"`item_id` gives {'nothing' if not name else f'more than {MAX_ID} characters'} for this item."
        if not name or len(name) > MAX_ID:
            return Failure(f"{source}:{page.partition('?')[0]}#{number}", reason)
        document_id = f"{source}:{quote(name, safe=SAFE_ID_CHARACTERS)}"
        try:
            return self._document(item, document_id, name, page)
        except (ValueError, ConversionError) as error:
            return Failure(document_id, error.message if isinstance(error, ConversionError) else f"{error}.")

    def _document(self, item: Any, document_id: str, name: str, page: str) -> Document:
        declaration = self._declaration
        url = self._address(item, page)
        text = _rendered("item_text", self._text, item)
        html = declaration.item_format == "html"
        return Document(
            id=document_id,
            source_id=declaration.id,
            url=url,
            title=one_line(_rendered("item_title", self._title, item)) or name,
            text=(to_markdown(text, url or page) if html else text.strip("\n")) + "\n",
            format="markdown" if html else declaration.item_format,
            updated_at=self._time(item),
            metadata={"item": name},
            audiences=declaration.audiences,
        )

    def _address(self, item: Any, page: str) -> str:
        """Return the address for people. A value inside a template is encoded, one that is the whole address isn't."""
        if self._url is None:
            return ""
        whole = self._url.is_one_value
        text = _rendered("item_url", self._url, item, encoded=not whole).strip()
        try:
            return web_address(urljoin(page, text)) if text else ""
        except ValueError:
            return ""

    def _time(self, item: Any) -> datetime | None:
        if self._updated_at is None:
            return None
        try:
            value = self._updated_at.value(item)
        except ValueError as error:
            raise ValueError(f"`item_updated_at`: {error}") from None
        if isinstance(value, str) and re.fullmatch(r"\d{1,15}", value):
            value = int(value)
        if isinstance(value, int | float):
            return from_epoch(value / 1000 if value > MILLISECONDS else value)
        return from_iso(value)


def _rendered(key: str, template: Template, item: Any, *, encoded: bool = False) -> str:
    try:
        return template.render(item, (lambda value: quote(value, errors="replace")) if encoded else lambda value: value)
    except ValueError as error:
        raise ValueError(f"`{key}`: {error}") from None
