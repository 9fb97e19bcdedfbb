"""Errors of Slack's Web API, with remedies."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from lore.errors import LoreError
from lore.slackbot.types import SlackCallError
from lore.sources.payload import as_text
from lore.sources.slack.errors import SET_TOKEN, error_code

__all__ = [
    "PASSING",
    "RATE_LIMITED",
    "TOKEN_CODES",
    "UncertainCallError",
    "error_code",
    "is_final",
    "log_level",
    "rate_limited",
    "refusal",
    "unreachable",
]

RATE_LIMITED = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
PASSING = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
"""Slack's own failures, worth a retry. Only the third says that nothing was done."""
TOKEN_CODES = frozenset({"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"})
"""After these, no call succeeds until somebody sets another token."""

_SET_APP_TOKEN = (
    "Turn Socket Mode on, and set LORE_SLACK_APP_TOKEN to an app-level token (xapp-…) with the scope "  # noqa: S105
    "connections:write, from the app's page Basic Information."
)
_REPORT = "This is a bug in Lore: please report it with the answer's id."
_GONE = "It was deleted; there is nothing to do."
_REMEDIES = {
    "not_in_channel": "Invite the bot: type /invite and its @name in the channel.",
    "channel_not_found": "The channel was deleted, or the bot was removed from it: invite it again.",
    "is_archived": "The channel was archived; there is nothing to do.",
    "user_not_in_channel": "The person left the channel; there is nothing to do.",
    "user_not_found": "The person isn't in this workspace; there is nothing to do.",
    "message_not_found": _GONE,
    "thread_not_found": _GONE,
    "cant_update_message": _GONE,
    "msg_too_long": _REPORT,
    "msg_blocks_too_long": _REPORT,
    "invalid_blocks": _REPORT,
    "invalid_arguments": _REPORT,
    "expired_trigger_id": "Slack allows three seconds between a press and the modal; press again.",
    "not_allowed_token_type": f"This kind of token can't do that. {SET_TOKEN}",
    "unknown_method": "Check LORE_SLACK_BASE_URL: Slack's API is https://slack.com/api/.",
}


class UncertainCallError(SlackCallError):
    """The call failed on its way: Slack may have carried it out or not."""


def refusal(asked: str, answer: Mapping[str, Any]) -> SlackCallError:
    """Return the error for a refusal; `asked` is the method with its channel."""
    code = error_code(answer.get("error")) or "unknown_error"
    if code == "missing_scope":
        needed = _scopes(answer.get("needed"))
        return SlackCallError(
            f"Slack refuses {asked}: the bot's token lacks the scope {needed or '(unknown)'}.",
            code=code,
            remedy=f"Add {needed or 'it'} to the app under OAuth & Permissions, or paste the manifest again, and "
            "reinstall the app.",
        )
    return SlackCallError(f"Slack refuses {asked}: {code}.", code=code, remedy=_remedy(asked, code))


def rate_limited(asked: str, seconds: float) -> SlackCallError:
    """Return the error for a rate limit that lasts so many seconds."""
    return SlackCallError(
        f"Slack refuses {asked}: it was called too often, and can be called again in {seconds:.0f} s.",
        code="ratelimited",
        remedy="Lore retries later. If this happens often, lower LORE_SLACK_WORKERS.",
        retryable=True,
    )


def unreachable(asked: str, reason: str, *, uncertain: bool = False) -> SlackCallError:
    """Return the error for a call that didn't reach Slack, or may not have."""
    kind = UncertainCallError if uncertain else SlackCallError
    return kind(
        f"Couldn't reach Slack for {asked}: {reason}.",
        code="unreachable",
        remedy="Check the network, LORE_SLACK_BASE_URL and Slack's status page.",
        retryable=True,
    )


def is_final(error: SlackCallError) -> bool:
    """Return True if Slack refuses just this call for good, with a token that is valid."""
    return not error.retryable and error.code not in TOKEN_CODES


def log_level(error: LoreError, usual: int) -> int:
    """Return the log level of an error: DEBUG for an invalid token, which ends the bot with an error of its own."""
    return logging.DEBUG if isinstance(error, SlackCallError) and error.code in TOKEN_CODES else usual


def _remedy(asked: str, code: str) -> str:
    if code in TOKEN_CODES:
        where = _SET_APP_TOKEN if asked.startswith("apps.connections.open") else SET_TOKEN
        return f"The token is wrong, was revoked or has expired. {where}"
    if code == "not_allowed_token_type" and asked.startswith("apps.connections.open"):
        return f"This kind of token can't do that. {_SET_APP_TOKEN}"
    if code.startswith("restricted_action") or code in ("access_denied", "no_permission", "team_access_not_granted"):
        return "An administrator of the workspace must allow the bot to do that."
    return _REMEDIES.get(code, "Look up the code on the page of the method in Slack's documentation.")


def _scopes(value: object) -> str:
    text = as_text(value)
    return text if re.fullmatch(r"[a-z_.:, ]{1,300}", text) else ""
