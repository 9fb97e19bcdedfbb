"""Documents of conversations, with the same ids and texts from an export and from the Web API."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from lore.sources.payload import Payload, as_text
from lore.sources.slack.messages import Conversation, display_name, one_line, render, title_of
from lore.sources.slack.mrkdwn import SlackNames
from lore.types import Document

__all__ = ["Channel", "ConversationDocuments", "WorkspaceUsers", "read_channel"]


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel; `name` has no leading #."""

    id: str
    name: str
    private: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceUsers:
    """Names for ids, and the ids of bots."""

    names: SlackNames
    bots: Container[str]

    @classmethod
    def of(cls, users: Iterable[Payload], channels: Iterable[Channel]) -> WorkspaceUsers:
        """Read Slack's user objects."""
        known = {user["id"]: user for user in users if isinstance(user.get("id"), str)}
        return cls(
            SlackNames(
                {key: name for key, user in known.items() if (name := display_name(user))},
                {channel.id: channel.name for channel in channels},
            ),
            frozenset(key for key, user in known.items() if user.get("is_bot") or key == "USLACKBOT"),
        )


@dataclass(frozen=True, slots=True)
class ConversationDocuments:
    """Builds documents named SOURCE:CHANNEL:TS, where TS is the thread's timestamp, or the conversation's first.

    `workspace_url` begins permalinks; without one ("") documents have no address. Only `slack:CHANNEL` may see a
    private channel, whatever `audiences` say.
    """

    source_id: str
    workspace_url: str
    audiences: tuple[str, ...]

    def document_id(self, channel: Channel, ts: str) -> str:
        """Return the id of the conversation with the timestamp `ts`."""
        return f"{self.source_id}:{channel.id}:{ts}"

    def document(self, channel: Channel, conversation: Conversation) -> Document:
        """Return the conversation's document, under its permalink."""
        link = f"{self.workspace_url}/archives/{channel.id}/p{conversation.ts.replace('.', '')}"
        return Document(
            id=self.document_id(channel, conversation.ts),
            source_id=self.source_id,
            url=link if self.workspace_url else "",
            title=title_of(conversation, channel.name),
            text=render(conversation),
            updated_at=conversation.updated_at,
            metadata={
                "channel": channel.name,
                "messages": len(conversation.posts),
                "people": sorted({post.author for post in conversation.posts if not post.bot}),
            },
            audiences=(f"slack:{channel.id}",) if channel.private else self.audiences,
        )


def read_channel(payload: Payload, *, private: bool = False) -> Channel | None:
    """Read Slack's channel object; None without id or name. Ids of private channels once began with G."""
    identity, name = as_text(payload.get("id")), as_text(payload.get("name"))
    hidden = private or bool(payload.get("is_private")) or bool(payload.get("is_group")) or identity.startswith("G")
    return Channel(identity, one_line(name), hidden) if identity and name else None
