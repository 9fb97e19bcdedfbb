"""Addresses that servers give: taken apart, joined and compared, where they may be no addresses at all."""

from __future__ import annotations

from typing import TypeAlias
from urllib.parse import urljoin, urlsplit

import httpx

from lore.errors import SourceError

__all__ = ["Origin", "display_url", "join", "origin_of", "parse"]

Origin: TypeAlias = tuple[str, str, int]
"""Scheme, host and port: what a secret may be sent to."""


def origin_of(url: str) -> Origin | None:
    """The origin of a web address, None for anything else."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.scheme in ("http", "https") and parts.hostname else None


def parse(url: str) -> httpx.URL:
    """The address as the client takes it. Raises SourceError for one that is none."""
    try:
        return httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        raise SourceError("The server points to an address that is none.", remedy="Check the base URL.") from None


def display_url(url: httpx.URL) -> str:
    """The address as errors show it: without query, fragment and credentials."""
    return str(url.copy_with(query=None, fragment=None, username=None, password=None))


def join(url: str, reference: str) -> str:
    """What a reference in an answer of `url` leads to; the reference itself where it cannot be joined."""
    try:
        return urljoin(url, reference)
    except ValueError:
        return reference
