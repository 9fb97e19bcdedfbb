"""The app's manifest: the purpose of each part, and the parts that an app lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lore.errors import ConfigurationError
from lore.sources.payload import as_mapping, as_mappings, as_text

__all__ = ["MANIFEST", "AppManifest", "MissingFeature", "lacking_events", "lacking_features", "scope_is_for"]

MANIFEST = Path(__file__).with_name("manifest.yaml")

_SCOPES = {
    "app_mentions:read": "the bot doesn't see mentions in channels",
    "assistant:write": "no status is shown while it works, and no prompts in the assistant pane",
    "channels:history": "the bot doesn't see threads in public channels: no follow-ups, no history",
    "channels:read": "it can't tell public channels from private ones, and uses only public documents",
    "chat:write": "it can't answer",
    "commands": "the slash command doesn't exist",
    "groups:history": "the bot doesn't see threads in private channels: no follow-ups, no history",
    "groups:read": "private channels aren't used for answers, because their members are unknown",
    "im:history": "the bot doesn't see direct messages",
    "im:read": "it can't look up direct messages",
    "mpim:history": "the bot doesn't see group direct messages",
    "mpim:read": "it can't look up group direct messages",
    "reactions:read": "thumbs as reactions aren't counted",
    "users:read": "it can't recognize guests, so everybody gets answers from public documents only",
}
_EVENTS = {
    "app_mention": "mentions in channels aren't answered",
    "assistant_thread_started": "the assistant pane suggests no prompts",
    "member_joined_channel": "people who join a private channel get answers from it some minutes later",
    "member_left_channel": "people who leave a private channel get answers from it for some more minutes",
    "message.channels": "follow-ups without a mention in threads of public channels aren't answered",
    "message.groups": "follow-ups without a mention in threads of private channels aren't answered",
    "message.im": "direct messages aren't answered",
    "message.mpim": "group direct messages aren't answered",
    "reaction_added": "thumbs as reactions aren't counted",
    "reaction_removed": "a thumb that is removed still counts",
    "user_change": "people who become guests are treated as members for some more minutes",
}


@dataclass(frozen=True, slots=True)
class MissingFeature:
    """A feature that an app lacks: its name, what fails without it, and the page of the app where it is set."""

    name: str
    without: str
    page: str


@dataclass(frozen=True, slots=True)
class AppManifest:
    """A manifest in Slack's form; the attributes are the parts that the bot needs."""

    values: Mapping[str, Any]

    @classmethod
    def load(cls, file: Path = MANIFEST) -> AppManifest:
        """Load a manifest. Raises ConfigurationError."""
        import yaml

        try:
            values = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            raise ConfigurationError(
                f"Couldn't read the app's manifest {file.name}.", remedy="Reinstall Lore."
            ) from None
        return cls(as_mapping(values))

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes of the bot's token."""
        return _texts(as_mapping(as_mapping(self.values.get("oauth_config")).get("scopes")).get("bot"))

    @property
    def events(self) -> tuple[str, ...]:
        """The events that the bot receives."""
        return _texts(as_mapping(self._settings.get("event_subscriptions")).get("bot_events"))

    @property
    def commands(self) -> tuple[str, ...]:
        """The slash commands."""
        commands = as_mappings(self._features.get("slash_commands"))
        return tuple(as_text(command.get("command")) for command in commands)

    @property
    def socket_mode(self) -> bool:
        """True if events come over a socket that the bot opens."""
        return self._settings.get("socket_mode_enabled") is True

    @property
    def interactivity(self) -> bool:
        """True if the bot receives buttons and modals."""
        return as_mapping(self._settings.get("interactivity")).get("is_enabled") is True

    @property
    def assistant(self) -> bool:
        """True if the app has the assistant pane, for which Slack has two names."""
        return any(self._features.get(name) for name in ("assistant_view", "agent_view"))

    @property
    def messages(self) -> bool:
        """True if people can send direct messages to the app."""
        home = as_mapping(self._features.get("app_home"))
        return home.get("messages_tab_enabled") is True and home.get("messages_tab_read_only_enabled") is not True

    @property
    def _features(self) -> Mapping[str, Any]:
        return as_mapping(self.values.get("features"))

    @property
    def _settings(self) -> Mapping[str, Any]:
        return as_mapping(self.values.get("settings"))


def scope_is_for(scope: str) -> str:
    """Return what doesn't work without a scope."""
    return _SCOPES.get(scope, "a part of the bot doesn't work")


def lacking_events(wanted: AppManifest, found: AppManifest) -> Iterator[MissingFeature]:
    """Yield the events that an app should be subscribed to and isn't."""
    for event in wanted.events:
        if event not in found.events:
            without = _EVENTS.get(event, "a part of the bot doesn't work")
            yield MissingFeature(f"event {event}", without, "Event Subscriptions")


def lacking_features(wanted: AppManifest, found: AppManifest, *, socket_mode: bool) -> Iterator[MissingFeature]:
    """Yield the other features that an app lacks. `socket_mode` is True if the bot runs in Socket Mode."""
    if wanted.interactivity and not found.interactivity:
        yield MissingFeature("interactivity", "feedback buttons do nothing", "Interactivity & Shortcuts")
    if socket_mode and not found.socket_mode:
        yield MissingFeature("Socket Mode", "nothing reaches the bot", "Socket Mode")
    if not socket_mode and found.socket_mode:
        yield MissingFeature("HTTP mode", "Slack sends nothing to its address while Socket Mode is on", "Socket Mode")
    if wanted.messages and not found.messages:
        yield MissingFeature("messages tab", "people can't send direct messages to the bot", "App Home")
    if wanted.assistant and not found.assistant:
        yield MissingFeature("assistant pane", "the bot isn't in Slack's assistant pane", "Agents & AI Apps")
    for command in wanted.commands:
        if command not in found.commands:
            yield MissingFeature(f"command {command}", "the slash command doesn't exist", "Slash Commands")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
