"""What a server's robots.txt allows us (RFC 9309), read by Protego."""

from __future__ import annotations

from typing import Any

__all__ = ["USER_AGENT", "Robots"]

USER_AGENT = "lore"
"""The name that we send, and the product token by which robots.txt may speak to us."""
MAX_BYTES = 500 * 1024
"""What lies behind is not read, as the RFC allows."""
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
        """Whether we may ask for the address, which is one of this server."""
        return bool(self._rules.can_fetch(address, USER_AGENT))
