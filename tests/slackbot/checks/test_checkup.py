"""`lore doctor --slack`: what the app lacks is named, with what does not work without it and what to do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from lore.doctor.finding import Finding
from lore.settings import Settings
from lore.slackbot.checks import manifest as checkup_manifest
from lore.slackbot.checks.checkup import examine_slack
from lore.slackbot.checks.manifest import MANIFEST, AppManifest
from pydantic import SecretStr

from tests.servers.github import Fault, Request
from tests.servers.local import LocalServer, QuietHandler, take_fault

BOT, APP, CONFIG = "xoxb-test-bot", "xapp-1-A0LORE-12-test", "xoxe.xoxp-1-test"
GENERAL = {"id": "C1", "name": "lore-feedback", "is_private": False, "is_member": True, "is_archived": False}


class _Handler(QuietHandler):
    api: AppServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        method = self.path.rpartition("/")[2]
        self.api.requests.append(Request(method, {"body": body}, {"token": token}))
        answer = self.api.answer(method, token)
        headers = {"Content-Type": "application/json"}
        if token == BOT and self.api.scopes is not None:
            headers["x-oauth-scopes"] = ",".join(sorted(self.api.scopes))
        self.reply(200, headers, json.dumps(answer).encode(), take_fault(self.api.faults, self.path))


class AppServer(LocalServer):
    """Slack as far as the checks of an app go: whose a token is, its scopes, and the app's manifest."""

    handler = _Handler
    root = "/api/"

    def __init__(self, **changes: Any) -> None:
        manifest = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
        self.manifest = manifest
        self.scopes: set[str] | None = set(manifest["oauth_config"]["scopes"]["bot"])
        self.channel: Mapping[str, Any] | None = GENERAL
        self.private: Sequence[str] = ()
        self.connects: Mapping[str, Any] = {"ok": True, "url": "wss://example.com/link"}
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.__dict__.update(changes)

    def answer(self, method: str, token: str) -> Mapping[str, Any]:
        """What the method answers to a token of the right kind."""
        if method == "apps.connections.open":
            return self.connects if token == APP else _refusal("invalid_auth")
        if method == "apps.manifest.export":
            return {"ok": True, "manifest": self.manifest} if token == CONFIG else _refusal("invalid_auth")
        if token != BOT:
            return _refusal("invalid_auth")
        if method == "auth.test":
            return {"ok": True, "user": "lore", "team": "Acme\n", "team_id": "T1", "user_id": "U1", "bot_id": "B1"}
        if method == "bots.info":
            return {"ok": True, "bot": {"id": "B1", "app_id": "A0BOT"}}
        if method == "conversations.info":
            return {"ok": True, "channel": self.channel} if self.channel else _refusal("channel_not_found")
        if method == "users.conversations":
            return {"ok": True, "channels": [{"name": name} for name in self.private]}
        return _refusal("unknown_method")


def _refusal(code: str, **more: str) -> Mapping[str, Any]:
    return {"ok": False, "error": code, **more}


def check(slack: AppServer, **settings: Any) -> dict[str, Finding]:
    """The findings by name, for an app that is set up well but for the changes."""
    tokens = {"slack_token": BOT, "slack_app_token": APP, "slack_config_token": CONFIG}
    given = tokens | settings
    secrets = {
        name: SecretStr(value) if value and name.endswith(("_token", "_secret")) else value
        for name, value in given.items()
    }
    made = Settings.of(slack_base_url=slack.base_url, **secrets)
    found = list(examine_slack(made))
    assert len({finding.name for finding in found}) == len(found)
    told = " ".join(f"{finding.detail} {finding.remedy}" for finding in found)
    assert not any(value in told for name, value in given.items() if value and name in secrets and name in tokens)
    return {finding.name: finding for finding in found}


def problems(found: Mapping[str, Finding]) -> set[str]:
    return {name for name, finding in found.items() if finding.status == "problem"}


def test_an_app_that_is_set_up_well() -> None:
    with AppServer(private=("ops", "hr")) as slack:
        found = check(slack, slack_feedback_channel="C1", slack_trace_url="https://traces.example.com/{id}")
    assert problems(found) == set()
    assert found["slack token"].detail == "@lore in Acme (T1)"
    assert found["slack scopes"].status == "ok"
    assert found["slack events"].status == "ok"
    assert found["slack socket mode"].status == "ok"
    assert found["slack http mode"].status == "skipped"
    assert found["slack feedback channel"] == Finding("slack feedback channel", "ok", "#lore-feedback")
    assert found["slack private channels"].detail == "the bot is in #hr, #ops"


@pytest.mark.parametrize("scope", AppManifest.load().scopes)
def test_each_missing_scope_is_named_with_what_stops_working(scope: str) -> None:
    with AppServer() as slack:
        assert slack.scopes is not None
        slack.scopes.remove(scope)
        found = check(slack)
    assert problems(found) == {f"slack scope {scope}"}
    finding = found[f"slack scope {scope}"]
    assert finding.detail == f"missing: {checkup_manifest.scope_is_for(scope)}"
    assert "reinstall" in finding.remedy
    assert "slack scopes" not in found


@pytest.mark.parametrize("event", AppManifest.load().events)
def test_each_missing_event_is_named_with_what_stops_working(event: str) -> None:
    with AppServer() as slack:
        slack.manifest["settings"]["event_subscriptions"]["bot_events"].remove(event)
        found = check(slack)
    assert problems(found) == {f"slack event {event}"}
    assert found[f"slack event {event}"].detail != "missing: a part of the bot doesn't work"
    assert "https://api.slack.com/apps/A0LORE" in found[f"slack event {event}"].remedy


def test_the_tables_are_of_this_manifest() -> None:
    manifest = AppManifest.load()
    assert set(checkup_manifest._SCOPES) == set(manifest.scopes)
    assert set(checkup_manifest._EVENTS) == set(manifest.events)
    assert checkup_manifest.scope_is_for("other:read") == "a part of the bot doesn't work"


def test_each_missing_feature_is_named() -> None:
    with AppServer() as slack:
        slack.manifest["settings"] |= {"interactivity": {"is_enabled": False}, "socket_mode_enabled": False}
        slack.manifest["features"] = {"app_home": {"messages_tab_enabled": False}}
        found = check(slack)
    assert problems(found) == {
        "slack interactivity",
        "slack Socket Mode",
        "slack messages tab",
        "slack assistant pane",
        "slack command /lore",
    }


def test_http_mode_wants_socket_mode_off() -> None:
    with AppServer() as slack:
        found = check(slack, slack_app_token=None, slack_signing_secret="0" * 32)
        assert problems(found) == {"slack HTTP mode"}
        assert found["slack http mode"].status == "ok"
        assert found["slack socket mode"].status == "skipped"
        slack.manifest["settings"]["socket_mode_enabled"] = False
        assert problems(check(slack, slack_app_token=None, slack_signing_secret="0" * 32)) == set()
    assert slack.requests[-2].path == "apps.manifest.export"
    assert "app_id=A0BOT" in next(one.query["body"] for one in slack.requests if one.path == "apps.manifest.export")


def test_without_a_configuration_token_it_is_said_what_was_not_checked() -> None:
    with AppServer() as slack:
        found = check(slack, slack_config_token=None)
    finding = found["slack events"]
    assert finding.status == "skipped"
    assert finding.detail.startswith("not checked")
    assert "https://api.slack.com/apps/A0LORE/event-subscriptions" in finding.remedy
    assert all(event in finding.remedy for event in AppManifest.load().events)


def test_where_the_app_is_not_known_the_page_to_look_at_is_still_named() -> None:
    with AppServer() as slack:
        finding = check(slack, slack_token=None, slack_app_token=None, slack_config_token=None)["slack events"]
    assert "Event Subscriptions, from https://api.slack.com/apps:" in finding.remedy


@pytest.mark.parametrize(
    ("setting", "value", "name", "says"),
    [
        ("slack_token", None, "slack token", "LORE_SLACK_TOKEN is not set"),
        ("slack_token", APP, "slack token", "is an app-level token (xapp-…), and not a bot token"),
        ("slack_token", "xoxp-1", "slack token", "is a user token (xoxp-…)"),
        ("slack_token", "secret", "slack token", "of an unknown kind"),
        ("slack_token", "xoxb-wrong", "slack token", "Slack refuses auth.test: invalid_auth."),
        ("slack_app_token", None, "slack socket mode", "LORE_SLACK_APP_TOKEN is not set"),
        ("slack_app_token", BOT, "slack socket mode", "is a bot token (xoxb-…), and not an app-level token (xapp-…)"),
        ("slack_app_token", "xapp-1-A0LORE-wrong", "slack socket mode", "Slack refuses apps.connections.open"),
        ("slack_config_token", "xoxe-1-refresh", "slack events", "is a refresh token (xoxe-…)"),
        ("slack_config_token", "xoxe.xoxp-old", "slack events", "Slack refuses apps.manifest.export"),
        ("slack_trace_url", "https://traces.example.com/", "slack trace link", "{id}"),
        ("slack_trace_url", "javascript:{id}", "slack trace link", "{id}"),
    ],
)
def test_what_is_set_wrong_is_named(setting: str, value: str | None, name: str, says: str) -> None:
    with AppServer() as slack:
        if setting == "slack_app_token":
            slack.manifest["settings"]["socket_mode_enabled"] = value is not None
        found = check(slack, **{setting: value})
    assert problems(found) == {name}
    assert says in found[name].detail
    assert found[name].remedy


def test_a_token_for_sockets_that_may_not_open_them() -> None:
    with AppServer(connects=_refusal("missing_scope", needed="connections:write", provided="")) as slack:
        found = check(slack)
    assert problems(found) == {"slack socket mode"}
    assert "connections:write" in found["slack socket mode"].detail


@pytest.mark.parametrize(
    ("channel", "status", "says"),
    [
        (None, "problem", "can't see a channel C1"),
        ({**GENERAL, "is_archived": True}, "problem", "archived"),
        ({**GENERAL, "is_member": False}, "problem", "isn't a member"),
        ({**GENERAL, "is_ext_shared": True}, "warning", "another organisation"),
    ],
    ids=["none", "archived", "isn't a member", "shared"],
)
def test_the_maintainers_channel_is_looked_at(channel: Mapping[str, Any] | None, status: str, says: str) -> None:
    with AppServer(channel=channel) as slack:
        finding = check(slack, slack_feedback_channel="C1")["slack feedback channel"]
    assert finding.status == status
    assert says in finding.detail


@pytest.mark.parametrize(
    ("text", "channel", "status", "says"),
    [
        ("", GENERAL, "skipped", "slack.yaml"),
        ("channels:\n  C1: {answers: auto}\n", GENERAL, "ok", "1 channels"),
        ("channels:\n  C1: {answers: auto}\n", {**GENERAL, "is_member": False}, "warning", "isn't a member of C1"),
        ("channels:\n  C1: {answers: auto}\n", None, "warning", "isn't a member of C1"),
        ("answers: loud\n", GENERAL, "problem", "line 1"),
        ("channels:\n  C1: {sources: [handbook]}\n", GENERAL, "ok", "1 channels"),
        ("channels:\n  C1: {sources: [handbok]}\n", GENERAL, "problem", "handbok"),
    ],
    ids=["none", "fine", "isn't a member", "unseen", "broken", "a source", "no such source"],
)
def test_the_file_about_channels_is_looked_at(
    tmp_path: Path, text: str, channel: Mapping[str, Any] | None, status: str, says: str
) -> None:
    file = tmp_path / "slack.yaml"
    if text:
        file.write_text(text)
    with AppServer(channel=channel) as slack:
        (tmp_path / "sources").mkdir()
        (tmp_path / "sources" / "handbook.yaml").write_text("kind: files\npath: .\n")
        finding = check(slack, slack_channels=file, sources_dir=tmp_path / "sources")["slack channels"]
    assert (finding.status, says in finding.detail) == (status, True), finding


def test_scopes_that_slack_does_not_tell_are_not_called_missing() -> None:
    with AppServer(scopes=None) as slack:
        found = check(slack)
    assert found["slack scopes"].status == "warning"
    assert found["slack scopes"].detail.startswith("not checked")


def test_many_private_channels_are_counted() -> None:
    with AppServer(private=[f"team-{number:02}" for number in range(13)]) as slack:
        found = check(slack)
    assert found["slack private channels"].detail.endswith("#team-09 and 3 more")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault("auth.test", 429, {"Retry-After": "42"}, b'{"ok":false,"error":"ratelimited"}'), "42 s"),
        (Fault("auth.test", 502, {}, b"<html>"), "status 502"),
        (Fault("auth.test", 200, {}, b"[]"), "Couldn't reach"),
        (Fault("auth.test", 302, {"Location": "https://example.com/"}, b""), "status 302"),
    ],
    ids=["limited", "down", "strange", "elsewhere"],
)
def test_slack_that_does_not_answer_well_is_a_finding(fault: Fault, says: str) -> None:
    with AppServer(faults=[fault]) as slack:
        found = check(slack)
    assert problems(found) == {"slack token"}
    assert says in found["slack token"].detail
    assert found["slack private channels"].status == "skipped"
    assert len([one for one in slack.requests if one.path == "auth.test"]) == 1


def test_a_server_that_is_not_there_is_a_finding() -> None:
    with AppServer() as slack:
        pass
    found = check(slack)
    assert {"slack token", "slack socket mode"} <= problems(found)


def test_a_manifest_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_text("a: [", encoding="utf-8")
    found = list(examine_slack(Settings.of(), file))
    assert found[-1].name == "slack manifest"
    assert found[-1].status == "problem"
