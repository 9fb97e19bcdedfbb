"""The rules of a server's robots.txt (RFC 9309), parsed by Protego."""

from __future__ import annotations

from typing import Any

__all__ = ["USER_AGENT", "Robots"]

USER_AGENT = "lore"
"""Our name in requests, and the product token for rules in robots.txt."""
MAX_BYTES = 500 * 1024
"""Bytes that are read; the RFC allows to ignore the rest."""
MAX_SITEMAPS = 100


class Robots:
    """One robots.txt; an empty one allows everything."""

    def __init__(self, body: bytes = b"") -> None:
        from protego import Protego

        head = body if len(body) <= MAX_BYTES else body[:MAX_BYTES].rpartition(b"\n")[0]
        text = head.decode("utf-8-sig", "replace")
        self._rules: Any = Protego.parse(text)
        rate = self._rules.request_rate(USER_AGENT)
        self.delay = max(self._rules.crawl_delay(USER_AGENT) or 0.0, rate.seconds / rate.requests if rate else 0.0)
        self.sitemaps: tuple[str, ...] = tuple(dict.fromkeys(self._rules.sitemaps))[:MAX_SITEMAPS]

    def allows(self, address: str) -> bool:
        """Return True if the crawler may request the address, which belongs to this server."""
        return bool(self._rules.can_fetch(address, USER_AGENT))
