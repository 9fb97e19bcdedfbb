"""What of the Slack bot's app works here and what does not: the checks behind `lore doctor --slack`.

Each check is a call or two that read. A socket's address is asked for, which ends by itself when nobody connects to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from lore.doctor.finding import Finding, guarded
from lore.errors import LoreError
from lore.settings import Settings
from lore.slackbot.checks.call import CheckCall, Reply
from lore.slackbot.checks.channels import check_feedback, check_private, one_line
from lore.slackbot.checks.manifest import (
    MANIFEST,
    AppManifest,
    MissingFeature,
    lacking_events,
    lacking_features,
    scope_is_for,
)
from lore.slackbot.types import SlackCallError
from lore.sources.payload import as_mapping, as_text
from lore.wiring.secrets import secret

__all__ = ["examine_slack"]

CALL_SECONDS = 20.0
BOT_TOKEN, APP_TOKEN = "xoxb-", "xapp-"
CONFIG_TOKEN = "xoxe.xoxp-"  # noqa: S105


@dataclass(frozen=True, slots=True)
class _Checkup:
    settings: Settings
    manifest: AppManifest
    call: CheckCall

    @property
    def token(self) -> str:
        return secret(self.settings.slack.token) or ""

    @property
    def app_token(self) -> str:
        return secret(self.settings.slack.app_token) or ""


def examine_slack(settings: Settings, manifest: Path = MANIFEST) -> Iterator[Finding]:
    """Yield the findings one by one, as the checks end; an error in one check never ends the others."""
    yield guarded("slack packages", _check_packages)
    try:
        wanted = AppManifest.load(manifest)
    except LoreError as error:
        yield Finding("slack manifest", "problem", error.message, error.remedy)
        return
    call = CheckCall(settings.slack.base_url, min(settings.calls.timeout_seconds, CALL_SECONDS))
    checkup = _Checkup(settings, wanted, call)
    identity: list[Reply] = []
    yield guarded("slack token", lambda: _check_token(checkup, identity))
    if identity:
        yield from _check_scopes(checkup, identity[0])
    yield guarded("slack socket mode", lambda: _check_socket(checkup))
    yield guarded("slack http mode", lambda: _check_http(checkup))
    yield from _each("slack events", lambda: _check_events(checkup, identity))
    yield guarded("slack trace link", lambda: _check_trace_url(settings))
    if identity:
        channel = settings.slack.feedback_channel
        yield guarded("slack feedback channel", lambda: check_feedback(call, checkup.token, channel))
        yield guarded("slack private channels", lambda: check_private(call, checkup.token))
    else:
        for name in ("slack feedback channel", "slack private channels"):
            yield Finding(name, "skipped", "needs the bot token")


def _check_packages() -> Finding:
    missing = [name for name in ("slack_bolt", "slack_sdk") if find_spec(name) is None]
    if missing:
        return Finding(
            "slack packages",
            "problem",
            f"not installed: {', '.join(missing)}",
            "Run: pip install 'lore-assistant[slack]'",
        )
    return Finding("slack packages", "ok", "slack_bolt and slack_sdk are installed")


def _check_token(checkup: _Checkup, identity: list[Reply]) -> Finding:
    """Is the bot token there, of the right kind, and taken? What Slack says of it is left in `identity`."""
    where = "Set LORE_SLACK_TOKEN to the Bot User OAuth Token (xoxb-…) from the app's page OAuth & Permissions."
    if not checkup.token:
        return Finding("slack token", "problem", "LORE_SLACK_TOKEN is not set", where)
    if not checkup.token.startswith(BOT_TOKEN):
        kind = _kind(checkup.token)
        return Finding("slack token", "problem", f"LORE_SLACK_TOKEN is {kind}, and not a bot token", where)
    reply = checkup.call("auth.test", checkup.token)
    identity.append(reply)
    name, team = (one_line(reply.data.get(key)) for key in ("user", "team"))
    return Finding("slack token", "ok", f"@{name} in {team} ({as_text(reply.data.get('team_id'))})")


def _check_scopes(checkup: _Checkup, reply: Reply) -> Iterator[Finding]:
    if reply.scopes is None:
        yield Finding(
            "slack scopes",
            "warning",
            "not checked: Slack does not tell the scopes of this token",
            f"Compare the app's page OAuth & Permissions with: {', '.join(checkup.manifest.scopes)}",
        )
        return
    lacking = [scope for scope in checkup.manifest.scopes if scope not in reply.scopes]
    for scope in lacking:
        yield Finding(
            f"slack scope {scope}",
            "problem",
            f"missing: {scope_is_for(scope)}",
            "Add it to the app under OAuth & Permissions, Bot Token Scopes, and reinstall the app.",
        )
    if not lacking:
        yield Finding("slack scopes", "ok", f"all {len(checkup.manifest.scopes)} that the bot needs")


def _check_socket(checkup: _Checkup) -> Finding:
    """Does Slack give an address to connect to?"""
    where = (
        "Make an app-level token (xapp-…) with the scope connections:write on the app's page Basic Information, and "
        "set LORE_SLACK_APP_TOKEN to it."
    )
    if not checkup.app_token:
        if secret(checkup.settings.slack.signing_secret):
            return Finding("slack socket mode", "skipped", "LORE_SLACK_APP_TOKEN is not set: only HTTP mode works")
        return Finding("slack socket mode", "problem", "LORE_SLACK_APP_TOKEN is not set", where)
    if not checkup.app_token.startswith(APP_TOKEN):
        kind = _kind(checkup.app_token)
        return Finding(
            "slack socket mode", "problem", f"LORE_SLACK_APP_TOKEN is {kind}, and not an app-level one", where
        )
    try:
        checkup.call("apps.connections.open", checkup.app_token)
    except SlackCallError as error:
        if error.code == "missing_scope":
            return Finding("slack socket mode", "problem", "the app-level token lacks connections:write", where)
        raise
    return Finding("slack socket mode", "ok", "Slack gives an address to connect to")


def _check_http(checkup: _Checkup) -> Finding:
    """Is there a signing secret, which HTTP mode needs?"""
    given = secret(checkup.settings.slack.signing_secret)
    if not given:
        return Finding("slack http mode", "skipped", "LORE_SLACK_SIGNING_SECRET is not set: only Socket Mode works")
    if not re.fullmatch(r"[0-9a-f]{32}", given):
        return Finding(
            "slack http mode",
            "warning",
            "LORE_SLACK_SIGNING_SECRET does not look like one: it has 32 characters, 0 to 9 and a to f",
            "Take it from the app's page Basic Information.",
        )
    return Finding(
        "slack http mode", "ok", "there is a signing secret; whether it is the app's, the first request shows"
    )


def _check_events(checkup: _Checkup, identity: list[Reply]) -> Iterator[Finding]:
    """Which events and features does the app lack? A bot token cannot see that; a configuration token can."""
    app = _app_id(checkup, identity)
    page = f"https://api.slack.com/apps/{app}" if app else "https://api.slack.com/apps"
    token = secret(checkup.settings.slack.config_token)
    if not token:
        there = f"{page}/event-subscriptions" if app else f"the app's page Event Subscriptions, from {page}"
        yield Finding(
            "slack events",
            "skipped",
            "not checked: Slack shows the events of an app to no bot token",
            f"Look at {there}: it should list {', '.join(checkup.manifest.events)}. Or set "
            "LORE_SLACK_CONFIG_TOKEN for twelve hours to a configuration token from https://api.slack.com/apps.",
        )
        return
    if not token.startswith(CONFIG_TOKEN):
        kind = _kind(token)
        remedy = "Generate one under Your App Configuration Tokens on https://api.slack.com/apps (xoxe.xoxp-…)."
        yield Finding(
            "slack events", "problem", f"LORE_SLACK_CONFIG_TOKEN is {kind}, not a configuration token", remedy
        )
        return
    if not app:
        yield Finding("slack events", "skipped", "not checked: which app it is could not be found out")
        return
    found = AppManifest(as_mapping(checkup.call("apps.manifest.export", token, app_id=app).data.get("manifest")))
    lacks = [
        *lacking_events(checkup.manifest, found),
        *lacking_features(checkup.manifest, found, socket_mode=bool(checkup.app_token)),
    ]
    for lack in lacks:
        yield _lacking(lack, page)
    if not lacks:
        yield Finding(
            "slack events", "ok", f"all {len(checkup.manifest.events)} events and the features of the manifest"
        )


def _lacking(lack: MissingFeature, page: str) -> Finding:
    remedy = f"Set it on the page {lack.page} of {page}, or paste the manifest anew under App Manifest; then reinstall."
    return Finding(f"slack {lack.name}", "problem", f"missing: {lack.without}", remedy)


def _check_trace_url(settings: Settings) -> Finding:
    url = settings.slack.trace_url
    if not url:
        return Finding("slack trace link", "skipped", "none is set: maintainers are told a command")
    if not url.startswith(("https://", "http://")) or "{id}" not in url:
        return Finding(
            "slack trace link", "problem", "LORE_SLACK_TRACE_URL is no address with {id} in it", "Correct or unset it."
        )
    return Finding("slack trace link", "ok", url)


def _app_id(checkup: _Checkup, identity: list[Reply]) -> str:
    """The app's id: it stands in its app-level token, and Slack tells it of the bot. "" where neither says."""
    if match := re.match(r"xapp-\d+-(A[A-Z0-9]+)-", checkup.app_token):
        return match[1]
    bot = as_text(identity[0].data.get("bot_id")) if identity else ""
    if not bot:
        return ""
    try:
        found = as_mapping(checkup.call("bots.info", checkup.token, bot=bot).data.get("bot")).get("app_id")
    except SlackCallError:
        return ""
    return found if isinstance(found, str) and re.fullmatch(r"A[A-Z0-9]+", found) else ""


def _each(name: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings of a check that may have several; its error is one, too."""
    try:
        yield from check()
    except LoreError as error:
        yield Finding(name, "problem", error.message, error.remedy)


def _kind(token: str) -> str:
    """What kind of token it is, in words: nothing of it is repeated but how its kind begins."""
    kinds = {
        BOT_TOKEN: "a bot token (xoxb-…)",
        APP_TOKEN: "an app-level token (xapp-…)",
        "xoxp-": "a user's token (xoxp-…)",
        CONFIG_TOKEN: "a configuration token (xoxe.xoxp-…)",
        "xoxe-": "a refresh token (xoxe-…)",
    }
    return next(
        (words for beginning, words in kinds.items() if token.startswith(beginning)), "of no kind that Lore knows"
    )
