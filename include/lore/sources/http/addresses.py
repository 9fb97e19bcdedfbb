"""Parsing, joining and comparing addresses that servers send, which may be invalid."""

from __future__ import annotations

from typing import TypeAlias
from urllib.parse import urljoin, urlsplit

import httpx

from lore.errors import SourceError

__all__ = ["Origin", "display_url", "join_url", "origin_of", "parse_url"]

Origin: TypeAlias = tuple[str, str, int]
"""Scheme, host and port: the server that may receive a secret."""

DEFAULT_PORTS = {"https": 443, "http": 80}


def origin_of(url: str) -> Origin | None:
    """Return the origin of a web address, None for anything else."""
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.scheme in DEFAULT_PORTS and parts.hostname else None


def parse_url(url: str) -> httpx.URL:
    """Parse an address. Raises SourceError when it is invalid."""
    try:
        return httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        raise SourceError("The server points to an invalid address.", remedy="Check the base URL.") from None


def display_url(url: httpx.URL) -> str:
    """Return the address for error messages: without query, fragment and credentials."""
    return str(url.copy_with(query=None, fragment=None, username=None, password=None))


def join_url(url: str, reference: str) -> str:
    """Resolve a reference against `url`; return the reference itself where that is impossible."""
    try:
        return urljoin(url, reference)
    except ValueError:
        return reference
