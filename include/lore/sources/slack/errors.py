"""Slack's errors, with advice for people."""

from __future__ import annotations

import re

from lore.errors import SourceError
from lore.sources.payload import Payload, as_text

__all__ = ["NEXT_RUN", "SET_TOKEN", "UNREADABLE", "SlackError", "endless", "error_code", "refusal", "unexpected_answer"]

SET_TOKEN = "Set LORE_SLACK_TOKEN to the Bot User OAuth Token (xoxb-…) from the app's page OAuth & Permissions."  # noqa: S105
UNREADABLE = frozenset({"not_in_channel", "channel_not_found"})
"""Refusals that concern one channel only."""
NEXT_RUN = "Lore keeps what it has read; the next run continues from there."


class SlackError(SourceError):
    """Slack refused a call with an error `code` that a retry doesn't change."""

    def __init__(self, message: str, *, code: str, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


def refusal(asked: str, answer: Payload, *, about: str, app: str) -> SlackError:
    """Return the error for a refusal; `asked` is the call, `about` its channel, `app` the app's name."""
    code = error_code(answer.get("error")) or "unknown_error"
    if code != "missing_scope":
        return SlackError(f"Slack refuses {asked}: {code}.", code=code, remedy=_remedy(code, about, app))
    needed, provided = _scopes(answer.get("needed")), _scopes(answer.get("provided"))
    lacking = f"one of the scopes {needed}" if "," in needed else f"the scope {needed or '(unnamed by Slack)'}"
    add = f"the one of {needed} for this kind of channel" if "," in needed else needed or "it"
    return SlackError(
        f"Slack refuses {asked}: the token lacks {lacking}; it has {provided or 'none'}.",
        code=code,
        remedy=f"Add {add} to the app under OAuth & Permissions, reinstall it, and set the token again if it changed.",
    )


def endless(method: str, about: str = "") -> SourceError:
    """Return the error for a list without an end."""
    return SourceError(
        f"The pages of Slack's {method}{f' for {about}' if about else ''} don't end.",
        remedy="Nothing was deleted. If it happens again, check Slack's status page.",
        retryable=True,
    )


def unexpected_answer(method: str) -> SourceError:
    """Return the error for a reply that isn't Slack's."""
    return SourceError(
        f"{method} didn't answer like Slack.",
        remedy="Check `base_url`: Slack's API is https://slack.com/api.",
    )


def error_code(value: object) -> str:
    """Return an error code, which is a word; "" for anything else, which errors don't repeat."""
    text = as_text(value)
    return text if re.fullmatch(r"[a-z_]{1,60}", text) else ""


def _remedy(code: str, about: str, app: str) -> str:
    place = about or "the channel"
    match code:
        case "invalid_auth" | "not_authed" | "token_revoked" | "token_expired" | "account_inactive":
            return f"The token is wrong, was revoked or has expired. {SET_TOKEN}"
        case "not_in_channel" if "(archived)" in about:
            return f"{place} was archived without {app} in it: use a user's token, or unarchive it and invite {app}."
        case "not_in_channel":
            return f"Invite {app}: type /invite @{app} in {place}. Or leave it out of `channels`."
        case "channel_not_found":
            return f"Check `channels`. If {place} is private, {app} must be invited to it first."
        case "not_allowed_token_type":
            return f"This kind of token may not do that. {SET_TOKEN}"
        case "access_denied" | "no_permission" | "team_access_not_granted" | "org_login_required" | "ekm_access_denied":
            return "An administrator of the workspace must allow the app to do that."
    return f"Look up {code} on the page of the method in Slack's documentation."


def _scopes(value: object) -> str:
    text = as_text(value)
    return text if re.fullmatch(r"[a-z_.:, ]{1,1000}", text) else ""
