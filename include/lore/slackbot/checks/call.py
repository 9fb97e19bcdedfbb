"""Calls of Slack's Web API for checks, with any token, which also return the token's scopes.

They use httpx, so that a check works without slack_sdk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lore.slackbot.slack_api.errors import RATE_LIMITED, error_code, rate_limited, refusal, unreachable

__all__ = ["CheckCall", "CheckResponse"]


@dataclass(frozen=True, slots=True)
class CheckResponse:
    """The response of a method, and the scopes of the token; None if Slack doesn't tell them."""

    data: Mapping[str, Any]
    scopes: frozenset[str] | None


class CheckCall:
    """Calls the server of `base_url` once, for at most `timeout` seconds: a check can be repeated by hand."""

    def __init__(self, base_url: str, timeout: float) -> None:
        self._base_url = base_url.rstrip("/") + "/"
        self._timeout = timeout

    def __call__(self, method: str, token: str, **params: str) -> CheckResponse:
        """Call a method and return its response. Raises SlackCallError."""
        import httpx

        try:
            response = httpx.post(
                self._base_url + method,
                headers={"Authorization": f"Bearer {token}"},
                data=params,
                timeout=self._timeout,
                follow_redirects=False,  # the token is for this server
            )
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise unreachable(method, type(error).__name__) from None
        try:
            data = response.json()
        except ValueError:
            data = None
        data = data if isinstance(data, dict) else {}
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS or error_code(data.get("error")) in RATE_LIMITED:
            given = response.headers.get("retry-after", "")
            raise rate_limited(method, float(given) if given.isdecimal() else 60.0)
        if not isinstance(data.get("ok"), bool):
            raise unreachable(method, f"it responded with status {response.status_code}, and not as Slack does")
        if not data["ok"]:
            raise refusal(method, data)
        header = response.headers.get("x-oauth-scopes")
        scopes = frozenset(re.findall(r"[a-z_.:]{1,80}", header)) if header is not None else None
        return CheckResponse(data, scopes)
