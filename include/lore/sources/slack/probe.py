"""The check behind `lore doctor`: the token's owner, and missing scopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lore.sources.slack.api import SlackApi, SlackConnection
from lore.sources.slack.errors import SlackError

__all__ = ["SlackProbe", "probe_slack"]

SCOPE_CALLS = {"channels:read": ("conversations.list", {"types": "public_channel"}), "users:read": ("users.list", {})}
"""Calls that test a scope, for tokens whose scopes Slack doesn't tell."""


@dataclass(frozen=True, slots=True)
class SlackProbe:
    """The token's owner and workspace, its scopes (none if Slack doesn't tell them) and missing ones."""

    who: str
    scopes: tuple[str, ...]
    lacking: tuple[str, ...]


def probe_slack(connection: SlackConnection, needed: Sequence[str]) -> SlackProbe:
    """Check the token with one call, and one more for some scopes. Raises ConfigurationError, SlackError,
    SourceError.
    """
    with SlackApi(connection, page_size=1) as api:
        identity = api.identity()
        if identity.scopes:
            lacking = tuple(scope for scope in needed if scope not in identity.scopes)
        else:
            lacking = tuple(scope for scope in needed if scope in SCOPE_CALLS and not _has(api, scope))
    return SlackProbe(identity.who, identity.scopes, lacking)


def _has(api: SlackApi, scope: str) -> bool:
    method, params = SCOPE_CALLS[scope]
    try:
        api.call(method, {"limit": 1, **params})
    except SlackError as error:
        if error.code != "missing_scope":
            raise
        return False
    return True
