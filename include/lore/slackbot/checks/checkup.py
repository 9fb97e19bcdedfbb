"""The checks of the Slack app behind `lore doctor --slack`.

Each check is a call or two that only read. It asks for a socket's address, which expires when nobody connects to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lore.declarations import load_declarations
from lore.doctor.finding import Finding, guarded
from lore.errors import LoreError
from lore.settings import Settings
from lore.slackbot.checks.channels import check_feedback, check_private, check_rules, one_line
from lore.slackbot.checks.manifest import MANIFEST, AppManifest, lacking_events, lacking_features, scope_is_for
from lore.slackbot.slack_api.caller import SlackCaller
from lore.slackbot.types import SlackCallError
from lore.sources.payload import as_mapping, as_text
from lore.sources.slack.errors import SET_TOKEN
from lore.wiring.secrets import secret

__all__ = ["examine_slack"]

CALL_SECONDS = 20.0
APPS = "https://api.slack.com/apps"
KINDS = {
    "xoxb-": "a bot token (xoxb-…)",
    "xapp-": "an app-level token (xapp-…)",
    "xoxp-": "a user token (xoxp-…)",
    "xoxe.xoxp-": "a configuration token (xoxe.xoxp-…)",
    "xoxe-": "a refresh token (xoxe-…)",
}


def examine_slack(settings: Settings, manifest: Path = MANIFEST) -> Iterator[Finding]:
    """Yield the finding of each check as it ends; an error in one check never ends the others."""
    yield guarded("slack packages", _check_packages)
    try:
        wanted = AppManifest.load(manifest)
    except LoreError as error:
        yield Finding("slack manifest", "problem", error.message, error.remedy)
        return
    checkup = _Checkup(settings, wanted)
    yield guarded("slack token", checkup.check_token)
    if checkup.identity:
        yield from checkup.check_scopes()
    yield guarded("slack socket mode", checkup.check_socket)
    yield guarded("slack http mode", checkup.check_http)
    yield from _each("slack events", checkup.check_events)
    yield guarded("slack trace link", checkup.check_trace_url)
    if checkup.identity:
        channel = settings.slack.feedback_channel
        yield guarded("slack feedback channel", lambda: check_feedback(checkup.bot, channel))
        yield guarded("slack private channels", lambda: check_private(checkup.bot))
        yield guarded("slack channels", lambda: check_rules(checkup.bot, settings.slack.channels, _sources(settings)))
    else:
        for name in ("slack feedback channel", "slack private channels", "slack channels"):
            yield Finding(name, "skipped", "needs the bot token")


def _sources(settings: Settings) -> frozenset[str]:
    """Return the ids of the declared sources."""
    if not settings.project.sources_dir.is_dir():
        return frozenset()
    return frozenset(one.id for one in load_declarations(settings.project.sources_dir).valid)


def _check_packages() -> Finding:
    missing = [name for name in ("slack_bolt", "slack_sdk") if find_spec(name) is None]
    if missing:
        detail = f"not installed: {', '.join(missing)}"
        return Finding("slack packages", "problem", detail, "Run: pip install 'lore-assistant[slack]'")
    return Finding("slack packages", "ok", "slack_bolt and slack_sdk are installed")


class _Checkup:
    """The checks of one app. `identity` is Slack's description of the bot, once the bot token is found valid."""

    def __init__(self, settings: Settings, manifest: AppManifest) -> None:
        self.settings = settings
        self.manifest = manifest
        self.token = secret(settings.slack.token) or ""
        self.app_token = secret(settings.slack.app_token) or ""
        self.bot = self.caller(self.token)
        self.identity: Mapping[str, Any] = {}

    def caller(self, token: str) -> SlackCaller:
        """Return a caller that never retries: a check can be repeated by hand."""
        timeout = min(self.settings.calls.timeout_seconds, CALL_SECONDS)
        return SlackCaller(token, self.settings.slack.base_url, timeout, max_retries=0)

    def check_token(self) -> Finding:
        """Check the bot token."""
        name = "slack token"
        if problem := _wrong_token(name, "LORE_SLACK_TOKEN", self.token, "xoxb-", SET_TOKEN):
            return problem
        self.identity = self.bot.call("auth.test")
        user, team = (one_line(self.identity.get(key)) for key in ("user", "team"))
        return Finding(name, "ok", f"@{user} in {team} ({as_text(self.identity.get('team_id'))})")

    def check_scopes(self) -> Iterator[Finding]:
        """Check that the bot token has the scopes of the manifest."""
        scopes = self.manifest.scopes
        if self.bot.scopes is None:
            detail = "not checked: Slack doesn't tell the scopes of this token"
            remedy = f"Compare the app's page OAuth & Permissions with: {', '.join(scopes)}"
            yield Finding("slack scopes", "warning", detail, remedy)
            return
        lacking = [scope for scope in scopes if scope not in self.bot.scopes]
        for scope in lacking:
            remedy = "Add it to the app under OAuth & Permissions, Bot Token Scopes, and reinstall the app."
            yield Finding(f"slack scope {scope}", "problem", f"missing: {scope_is_for(scope)}", remedy)
        if not lacking:
            yield Finding("slack scopes", "ok", f"all {len(scopes)} that the bot needs")

    def check_socket(self) -> Finding:
        """Check that Slack gives an address to connect to."""
        name = "slack socket mode"
        remedy = (
            "Generate an app-level token (xapp-…) with the scope connections:write on the app's page Basic "
            "Information, and set LORE_SLACK_APP_TOKEN to it."
        )
        if not self.app_token and secret(self.settings.slack.signing_secret):
            return Finding(name, "skipped", "LORE_SLACK_APP_TOKEN is not set: only HTTP mode works")
        if problem := _wrong_token(name, "LORE_SLACK_APP_TOKEN", self.app_token, "xapp-", remedy):
            return problem
        try:
            self.caller(self.app_token).call("apps.connections.open")
        except SlackCallError as error:
            if error.code != "missing_scope":
                raise
            return Finding(name, "problem", "the app-level token lacks connections:write", remedy)
        return Finding(name, "ok", "Slack gives an address to connect to")

    def check_http(self) -> Finding:
        """Check the signing secret, which HTTP mode needs."""
        name, given = "slack http mode", secret(self.settings.slack.signing_secret)
        if not given:
            return Finding(name, "skipped", "LORE_SLACK_SIGNING_SECRET is not set: only Socket Mode works")
        if not re.fullmatch(r"[0-9a-f]{32}", given):
            detail = "LORE_SLACK_SIGNING_SECRET doesn't look like one: they have 32 characters, 0 to 9 and a to f"
            return Finding(name, "warning", detail, "Copy it from the app's page Basic Information.")
        return Finding(name, "ok", "there is a signing secret; the first request shows whether it is the app's")

    def check_events(self) -> Iterator[Finding]:
        """Check the app's events and features, which only a configuration token can see."""
        name, token = "slack events", secret(self.settings.slack.config_token)
        app = self._app_id()
        page, events = f"{APPS}/{app}" if app else APPS, self.manifest.events
        if not token:
            events_page = f"{page}/event-subscriptions" if app else f"the app's page Event Subscriptions, from {page}"
            remedy = (
                f"Look at {events_page}: it should list {', '.join(events)}. Or set LORE_SLACK_CONFIG_TOKEN for twelve "
                f"hours to a configuration token from {APPS}."
            )
            yield Finding(name, "skipped", "not checked: Slack doesn't show an app's events to a bot token", remedy)
            return
        remedy = f"Generate one under Your App Configuration Tokens on {APPS} (xoxe.xoxp-…)."
        if problem := _wrong_token(name, "LORE_SLACK_CONFIG_TOKEN", token, "xoxe.xoxp-", remedy):
            yield problem
            return
        if not app:
            yield Finding(name, "skipped", "not checked: couldn't find out which app it is")
            return
        exported = self.caller(token).call("apps.manifest.export", params={"app_id": app})
        found = AppManifest(as_mapping(exported.get("manifest")))
        socket_mode = bool(self.app_token)
        lacks = [
            *lacking_events(self.manifest, found),
            *lacking_features(self.manifest, found, socket_mode=socket_mode),
        ]
        for lack in lacks:
            remedy = (
                f"Set it on the page {lack.page} of {page}, or paste the manifest again under App Manifest; "
                "then reinstall."
            )
            yield Finding(f"slack {lack.name}", "problem", f"missing: {lack.without}", remedy)
        if not lacks:
            yield Finding(name, "ok", f"all {len(events)} events and the features of the manifest")

    def check_trace_url(self) -> Finding:
        """Check the link to traces for maintainers."""
        name, url = "slack trace link", self.settings.slack.trace_url
        if not url:
            return Finding(name, "skipped", "not set: maintainers get a command instead")
        if not url.startswith(("https://", "http://")) or "{id}" not in url:
            detail = "LORE_SLACK_TRACE_URL must be an address with {id} in it"
            return Finding(name, "problem", detail, "Correct or unset it.")
        return Finding(name, "ok", url)

    def _app_id(self) -> str:
        """Return the app's id, from its app-level token or from Slack; "" if neither tells."""
        if match := re.match(r"xapp-\d+-(A[A-Z0-9]+)-", self.app_token):
            return match[1]
        bot = as_text(self.identity.get("bot_id"))
        if not bot:
            return ""
        try:
            found = as_text(as_mapping(self.bot.call("bots.info", params={"bot": bot}).get("bot")).get("app_id"))
        except SlackCallError:
            return ""
        return found if re.fullmatch(r"A[A-Z0-9]+", found) else ""


def _wrong_token(name: str, setting: str, token: str, prefix: str, remedy: str) -> Finding | None:
    """Return the problem of a token that is missing or of another kind; nothing else of it is repeated."""
    if not token:
        return Finding(name, "problem", f"{setting} is not set", remedy)
    if token.startswith(prefix):
        return None
    kind = next((words for start, words in KINDS.items() if token.startswith(start)), "of an unknown kind")
    return Finding(name, "problem", f"{setting} is {kind}, and not {KINDS[prefix]}", remedy)


def _each(name: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield the findings of a check that may have several; an error is one of them."""
    try:
        yield from check()
    except LoreError as error:
        yield Finding(name, "problem", error.message, error.remedy)
