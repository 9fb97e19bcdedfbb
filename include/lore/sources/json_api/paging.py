"""The parts of a list, one answer after the other, by the rule that the API has for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

import httpx

from lore.declarations import Expression, JsonApiDeclaration
from lore.errors import SourceError
from lore.sources.http import HttpError, JsonApi, JsonResponse

__all__ = ["ListPage", "Pager"]

CONDITIONAL_HEADERS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
"""Header of an answer → header of the next call for the same page."""
MISSING_PAGE_STATUSES = (400, 404, 422)
"""What some APIs answer for the page after the last."""
MAX_ADDRESS = 8_000

KnownPages = Mapping[str, tuple[Mapping[str, str], str]]
"""Address of a page → the headers to ask with, and where it led."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """One answer: its items, or `unchanged`; `next` is the address that it led to, "" for the last."""

    url: str
    items: tuple[Any, ...] = ()
    next: str = ""
    unchanged: bool = False
    validators: Mapping[str, str] = field(default_factory=dict)


class Pager:
    """Walks a list from its first page. Ends with an error where it runs in a circle or past the declared limits."""

    def __init__(self, api: JsonApi, declaration: JsonApiDeclaration) -> None:
        self._api = api
        self._declaration = declaration
        self._items = Expression.parse(declaration.items)
        self._next = Expression.parse(declaration.next) if declaration.next else None
        self._parameter = declaration.page_parameter or declaration.paging

    def list_pages(self, known: KnownPages) -> Iterator[ListPage]:
        """The parts in order; a page in `known` is asked for only if it changed. Raises SourceError."""
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
        """One answer, or None for the page after the last, which some APIs refuse."""
        try:
            answer = self._api.get(url, headers=headers)
        except HttpError as error:
            numbered = self._declaration.paging in ("page", "offset")
            if numbered and not first and error.status in MISSING_PAGE_STATUSES:
                return None
            raise
        if answer.unchanged and not headers:
            raise SourceError(f"{_name(url)} says that nothing changed, and was not asked that.", retryable=True)
        return answer

    def _list_page(self, url: str, answer: JsonResponse) -> ListPage:
        found = self._value(self._items, answer.data, url)
        if not isinstance(found, list):
            raise SourceError(
                f"`items` finds no list in what {_name(url)} answers, but {type(found).__name__}.",
                remedy="Correct `items`, a JMESPath from the top of the answer.",
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
        """Where the next part is, "" after the last."""
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
                        f"`next` finds no text in what {_name(url)} answers, but {type(value).__name__}.",
                        remedy="Correct `next`, a JMESPath from the top of the answer.",
                    )
                if self._declaration.paging == "next":
                    return _join(answer.url, str(value))
                return str(here.copy_set_param(self._parameter, value))
        return ""

    def _repeats(self, part: ListPage, before: tuple[Any, ...], number: int) -> bool:
        """Whether a numbered page is the one before it again: so some APIs end. One that ignores the number, too."""
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
                f"What {_name(url)} answers does not fit: {error}.", remedy="Correct `items` or `next`."
            ) from None

    def _too_long(self, limit: str) -> SourceError:
        return SourceError(
            f"The list {_name(self._declaration.url)} is longer than {limit}.",
            remedy="Narrow it by the query in `url`, or raise the limit.",
        )


def _name(url: str) -> str:
    """The address as errors show it: without query."""
    return url.partition("?")[0]


def _join(url: str, reference: str) -> str:
    try:
        return urljoin(url, reference)
    except ValueError:
        raise SourceError(f"{_name(url)} leads to an address that is none.", remedy="Correct `next`.") from None
