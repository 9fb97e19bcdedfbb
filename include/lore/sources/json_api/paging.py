"""The pages of a list, by the paging rule of its API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

import httpx

from lore.declarations import Expression, JsonApiDeclaration
from lore.errors import SourceError
from lore.sources.http.client import HttpError
from lore.sources.http.json_client import JsonClient, JsonResponse

__all__ = ["ListPage", "Pager"]

CONDITIONAL_HEADERS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
"""Header of a response → header of the next call for the same page."""
MISSING_PAGE_STATUSES = (400, 404, 422)
"""Statuses that some APIs return after the last page."""
MAX_ADDRESS = 8_000

KnownPages = Mapping[str, tuple[Mapping[str, str], str]]
"""Address of a page → its conditional headers, and the next page's address."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page: its items, or `unchanged`; `next` is the next page's address, "" on the last."""

    url: str
    items: tuple[Any, ...] = ()
    next: str = ""
    unchanged: bool = False
    validators: Mapping[str, str] = field(default_factory=dict)


class Pager:
    """Reads a list from its first page. Raises SourceError for a list in a circle or beyond the declared limits."""

    def __init__(self, api: JsonClient, declaration: JsonApiDeclaration) -> None:
        self._api = api
        self._declaration = declaration
        self._items = Expression.parse(declaration.items)
        self._next = Expression.parse(declaration.next) if declaration.next else None
        self._parameter = declaration.page_parameter or declaration.paging

    def list_pages(self, known: KnownPages) -> Iterator[ListPage]:
        """Yield the pages in order; one in `known` is sent only if it changed. Raises SourceError."""
        url, visited, count = self._first(), set[str](), 0
        before: tuple[Any, ...] = ()
        while url:
            visited.add(url)
            if len(visited) > self._declaration.max_pages:
                raise self._too_long(f"`max_pages` of {self._declaration.max_pages:,}")
            headers, led_to = known.get(url, ({}, ""))
            answer = self._ask(url, headers, first=len(visited) == 1)
            if answer is None:
                return
            if answer.unchanged:
                part = ListPage(url, (), led_to, unchanged=True, validators=headers)
            else:
                part = self._list_page(url, answer)
                if self._repeats(part, before, len(visited)):
                    return
            before = part.items
            count += len(part.items)
            if count > self._declaration.max_items:
                raise self._too_long(f"`max_items` of {self._declaration.max_items:,}")
            yield part
            if part.next in visited or len(part.next) > MAX_ADDRESS:
                raise SourceError(
                    f"The list {_name(url)} runs in a circle or has no end.", remedy="Check `paging` and `next`."
                )
            url = part.next

    def _ask(self, url: str, headers: Mapping[str, str], *, first: bool) -> JsonResponse | None:
        """Return one page, or None after the last page, which some APIs refuse."""
        try:
            answer = self._api.get(url, headers=headers)
        except HttpError as error:
            numbered = self._declaration.paging in ("page", "offset")
            if numbered and not first and error.status in MISSING_PAGE_STATUSES:
                return None
            raise
        if answer.unchanged and not headers:
            raise SourceError(f"{_name(url)} says unchanged (304) to an unconditional request.", retryable=True)
        return answer

    def _list_page(self, url: str, answer: JsonResponse) -> ListPage:
        found = self._value(self._items, answer.data, url)
        if not isinstance(found, list):
            raise SourceError(
                f"`items` finds no list in the response of {_name(url)}, but {type(found).__name__}.",
                remedy="Correct `items`, a JMESPath from the top of the response.",
            )
        validators = {
            CONDITIONAL_HEADERS[name]: answer.headers[name] for name in CONDITIONAL_HEADERS if answer.headers.get(name)
        }
        return ListPage(url, tuple(found), self._following(url, answer, len(found)), validators=validators)

    def _first(self) -> str:
        url = httpx.URL(self._declaration.url)
        if self._declaration.size_parameter:
            url = url.copy_set_param(self._declaration.size_parameter, self._declaration.page_size)
        if self._declaration.paging == "page":
            url = url.copy_set_param(self._parameter, self._declaration.first_page)
        if self._declaration.paging == "offset":
            url = url.copy_set_param(self._parameter, 0)
        return str(url)

    def _following(self, url: str, answer: JsonResponse, count: int) -> str:
        """Return the next page's address, "" after the last."""
        here = httpx.URL(url)
        match self._declaration.paging:
            case "page" | "offset" if count:
                step = 1 if self._declaration.paging == "page" else count
                return str(here.copy_set_param(self._parameter, int(here.params[self._parameter]) + step))
            case "link":
                return answer.link("next")
            case "next" | "cursor" if self._next:
                value = self._value(self._next, answer.data, url)
                if not value:
                    return ""
                if not isinstance(value, str | int):
                    raise SourceError(
                        f"`next` finds no text in the response of {_name(url)}, but {type(value).__name__}.",
                        remedy="Correct `next`, a JMESPath from the top of the response.",
                    )
                if self._declaration.paging == "next":
                    return _join(answer.url, str(value))
                return str(here.copy_set_param(self._parameter, value))
        return ""

    def _repeats(self, part: ListPage, before: tuple[Any, ...], number: int) -> bool:
        """Return True if a numbered page repeats the one before, which is how some APIs end.

        Raises SourceError for an API that ignores the number.
        """
        if self._declaration.paging not in ("page", "offset") or not part.items or part.items != before:
            return False
        if number == 2:
            raise SourceError(
                f"The second page of {_name(part.url)} is the first again.",
                remedy=f"Correct `page_parameter` ({self._parameter}), or set `paging: none`.",
            )
        return True

    def _value(self, expression: Expression, data: Any, url: str) -> Any:
        try:
            return expression.value(data)
        except ValueError as error:
            raise SourceError(
                f"The response of {_name(url)} doesn't fit: {error}.", remedy="Correct `items` or `next`."
            ) from None

    def _too_long(self, limit: str) -> SourceError:
        return SourceError(
            f"The list {_name(self._declaration.url)} is longer than {limit}.",
            remedy="Narrow it by the query in `url`, or raise the limit.",
        )


def _name(url: str) -> str:
    """Return the address for errors, without query."""
    return url.partition("?")[0]


def _join(url: str, reference: str) -> str:
    try:
        return urljoin(url, reference)
    except ValueError:
        raise SourceError(f"{_name(url)} leads to an invalid address.", remedy="Correct `next`.") from None
