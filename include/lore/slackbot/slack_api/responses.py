"""Replies to a slash command through the address that Slack sent with it, also where the bot isn't a member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from lore.slackbot.slack_api.errors import refusal, unreachable

__all__ = ["respond"]

HOSTS = ("hooks.slack.com", "hooks.slack-gov.com")
ASKED = "the reply to a command"


def respond(url: str, content: Mapping[str, Any], *, base_url: str, timeout: float) -> None:
    """Post to a response URL, without a token. Slack takes five messages for each, within thirty minutes.

    The host of `base_url`, the Web API, is trusted too, so that another server can take Slack's place. Raises
    SlackCallError.
    """
    import httpx

    target, own = urlsplit(url), urlsplit(base_url)
    is_slack = target.scheme == "https" and target.hostname in HOSTS
    if not is_slack and (target.scheme, target.netloc) != (own.scheme, own.netloc):
        raise refusal(ASKED, {"error": "invalid_url"})
    try:
        response = httpx.post(url, json=dict(content), timeout=timeout, follow_redirects=False)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise unreachable(ASKED, f"the connection failed ({type(error).__name__})", uncertain=True) from None
    if not response.is_success:
        raise refusal(ASKED, {"error": response.text[:80].strip()})
