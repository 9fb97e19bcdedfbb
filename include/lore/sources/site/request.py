"""Requests for one page: its Markdown twin first, redirects to itself followed, unchanged bodies skipped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from lore.declarations import SiteDeclaration
from lore.sources.http.retries import http_date
from lore.sources.site.fetch import Fetcher, WebResponse
from lore.sources.site.records import MAX_VALIDATOR, PageRecord, PageState
from lore.sources.site.signals import format_of_answer
from lore.sources.site.twins import twin_addresses
from lore.sources.site.urls import Scope

__all__ = ["PageRequester", "validator_of"]

MAX_HOPS = 5
ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"')
MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown", "text/plain"})


class PageRequester:
    """Requests pages as the declaration says."""

    def __init__(self, declaration: SiteDeclaration, scope: Scope, fetcher: Fetcher) -> None:
        self._declaration = declaration
        self._scope = scope
        self._fetcher = fetcher

    def request(self, key: str, entry: PageRecord, *, conditional: bool) -> tuple[PageRecord, WebResponse]:
        """Return the page's record, with the address that answered, and the response. Raises as `Fetcher.get` does.

        With `conditional`, the server may omit an unchanged body (status 304).
        """
        conditions = entry.conditions if conditional else {}
        if self._declaration.markdown_twins:
            is_new = entry.state is PageState.QUEUED
            for twin in (entry.twin,) if entry.twin else twin_addresses(entry.address) if is_new else ():
                answer = self._get(twin, conditions)
                if answer.status == 304 or _is_markdown(answer):
                    return replace(entry, twin=twin), answer
            if entry.twin:  # the twin's validator doesn't apply to the page
                conditions = {}
        answer = self._get(entry.address, conditions)
        if answer.status == 404 and entry.depth == 0 and self._scope.is_start(entry.address):
            for start in self._scope.starts[1:]:
                answer = self._get(start, {})
        for _ in range(MAX_HOPS):
            target = self._scope.address(answer.location, answer.address) if answer.location else None
            if target is None or self._scope.key(target) != key:
                break
            answer = self._get(target, {})
        return replace(entry, twin="", address=answer.address), answer

    def _get(self, address: str, conditions: Mapping[str, str]) -> WebResponse:
        answer = self._fetcher.get(
            address, conditions, limit=self._declaration.max_bytes, wanted=lambda head: bool(format_of_answer(head))
        )
        if answer.status == 304 and not conditions:
            return replace(answer, problem="The server says unchanged (304) to an unconditional request.")
        return answer


def validator_of(answer: WebResponse) -> str:
    """Return the validator for conditional requests: the ETag, else Last-Modified, else ""."""
    etag, date = answer.headers.get("etag", ""), answer.headers.get("last-modified", "")
    if len(etag) <= MAX_VALIDATOR and ETAG.fullmatch(etag):
        return etag
    return date if len(date) <= MAX_VALIDATOR and http_date(date) else ""


def _is_markdown(answer: WebResponse) -> bool:
    """Return True for Markdown, as opposed to the page that some servers return for every address."""
    return answer.status == 200 and answer.content_type in MARKDOWN_TYPES and answer.body.lstrip()[:1] != b"<"
