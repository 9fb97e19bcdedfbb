"""What the app needs: its manifest, what each part of that is for, and what an app lacks of it."""

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
    "app_mentions:read": "mentions of the bot in channels are not seen",
    "assistant:write": "there is no status while it works, and no suggested questions in the assistant pane",
    "channels:history": "follow-ups in threads of public channels are not seen, nor what was said before",
    "channels:read": "it cannot tell a public channel from a private one, and answers from public sources alone",
    "chat:write": "it cannot answer at all",
    "commands": "the slash command does not exist",
    "groups:history": "follow-ups in threads of private channels are not seen, nor what was said before",
    "groups:read": "nothing of private channels is used for answers, because their members are not known",
    "im:history": "direct messages are not seen",
    "im:read": "it cannot look up direct conversations",
    "mpim:history": "group direct messages are not seen",
    "mpim:read": "it cannot look up group direct messages",
    "reactions:read": "thumbs as reactions are not counted",
    "users:read": "guests cannot be told apart, so that everybody gets answers from public sources alone",
}
_EVENTS = {
    "app_mention": "mentions of the bot in channels are not answered",
    "assistant_thread_started": "no questions are suggested in the assistant pane",
    "member_joined_channel": "who joins a private channel has to wait before its content is used for their answers",
    "member_left_channel": "who leaves a private channel gets answers from it for some minutes more",
    "message.channels": "follow-ups without a mention in threads of public channels are not answered",
    "message.groups": "follow-ups without a mention in threads of private channels are not answered",
    "message.im": "direct messages are not answered",
    "message.mpim": "group direct messages are not answered",
    "reaction_added": "thumbs as reactions are not counted",
    "reaction_removed": "a thumb that is taken away is still counted",
    "user_change": "who becomes a guest is treated as a member for some minutes more",
}


@dataclass(frozen=True, slots=True)
class MissingFeature:
    """Something that an app lacks: its name, what does not work without it, and on which page of the app it is set."""

    name: str
    without: str
    page: str


@dataclass(frozen=True, slots=True)
class AppManifest:
    """A manifest as Slack has it; the attributes are what the bot rests on."""

    values: Mapping[str, Any]

    @classmethod
    def load(cls, file: Path = MANIFEST) -> AppManifest:
        """The manifest of a file. Raises ConfigurationError."""
        import yaml

        try:
            values = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            raise ConfigurationError(
                f"The app's manifest {file.name} cannot be read.", remedy="Install Lore again."
            ) from None
        return cls(as_mapping(values))

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes of the bot's token."""
        return _texts(as_mapping(as_mapping(self.values.get("oauth_config")).get("scopes")).get("bot"))

    @property
    def events(self) -> tuple[str, ...]:
        """The events that the bot is told of."""
        return _texts(as_mapping(self._settings.get("event_subscriptions")).get("bot_events"))

    @property
    def commands(self) -> tuple[str, ...]:
        """The slash commands."""
        commands = as_mappings(self._features.get("slash_commands"))
        return tuple(as_text(command.get("command")) for command in commands)

    @property
    def socket_mode(self) -> bool:
        """Whether events come over a socket that the bot opens."""
        return self._settings.get("socket_mode_enabled") is True

    @property
    def interactivity(self) -> bool:
        """Whether the bot is told of buttons and modals."""
        return as_mapping(self._settings.get("interactivity")).get("is_enabled") is True

    @property
    def assistant(self) -> bool:
        """Whether the app has the assistant pane (Slack has two names for it)."""
        return any(self._features.get(name) for name in ("assistant_view", "agent_view"))

    @property
    def messages(self) -> bool:
        """Whether people can write to the app directly."""
        home = as_mapping(self._features.get("app_home"))
        return home.get("messages_tab_enabled") is True and home.get("messages_tab_read_only_enabled") is not True

    @property
    def _features(self) -> Mapping[str, Any]:
        return as_mapping(self.values.get("features"))

    @property
    def _settings(self) -> Mapping[str, Any]:
        return as_mapping(self.values.get("settings"))


def scope_is_for(scope: str) -> str:
    """What does not work without a scope."""
    return _SCOPES.get(scope, "a part of the bot does not work")


def lacking_events(wanted: AppManifest, found: AppManifest) -> Iterator[MissingFeature]:
    """The events that an app is not subscribed to and should be."""
    for event in wanted.events:
        if event not in found.events:
            without = _EVENTS.get(event, "a part of the bot does not work")
            yield MissingFeature(f"event {event}", without, "Event Subscriptions")


def lacking_features(wanted: AppManifest, found: AppManifest, *, socket_mode: bool) -> Iterator[MissingFeature]:
    """What else an app should have. `socket_mode` is whether the bot is run so."""
    if wanted.interactivity and not found.interactivity:
        yield MissingFeature("interactivity", "feedback buttons do nothing", "Interactivity & Shortcuts")
    if socket_mode and not found.socket_mode:
        yield MissingFeature("Socket Mode", "nothing reaches the bot", "Socket Mode")
    if not socket_mode and found.socket_mode:
        yield MissingFeature(
            "HTTP mode", "Slack sends nothing to its address as long as Socket Mode is on", "Socket Mode"
        )
    if wanted.messages and not found.messages:
        yield MissingFeature("messages tab", "nobody can write to the bot directly", "App Home")
    if wanted.assistant and not found.assistant:
        yield MissingFeature("assistant pane", "the bot is not in Slack's assistant pane", "Agents & AI Apps")
    for command in wanted.commands:
        if command not in found.commands:
            yield MissingFeature(f"command {command}", "the slash command does not exist", "Slash Commands")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
