"""Channels of a workspace that a declaration selects, and the names of its users and channels."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lore.errors import SourceError
from lore.sources.payload import Payload, as_mapping, as_text
from lore.sources.slack.api import SlackApi
from lore.sources.slack.documents import Channel, WorkspaceUsers, read_channel
from lore.sources.slack.errors import UNREADABLE, SlackError
from lore.sources.slack.messages import author_id, display_name
from lore.sources.slack.mrkdwn import SlackNames

__all__ = ["Workspace"]

CHANNEL_ID = re.compile(r"[CDG][A-Z0-9]{1,30}")
"""Channel names are in lower case, ids are not."""
MENTION = re.compile(r"<@([UW][A-Z0-9]{2,30})>")
MAX_LOOKUPS = 200
"""Users looked up one by one in a run; messages may mention many who don't exist."""
UNKNOWN_USER_CODES = frozenset({"user_not_found", "users_not_found", "user_not_visible"})


@dataclass(slots=True)
class Workspace:
    """The channels and names of a workspace during one run. `archived` has the ids of archived channels; `unseen`
    explains, by wanted name or id, why a channel isn't accessible.

    `people` are the workspace's own at the start of the run; `look_up_authors` adds external users to `names`.
    """

    api: SlackApi
    url: str
    channels: Sequence[Channel]
    archived: frozenset[str]
    users: Sequence[Payload]
    people: WorkspaceUsers
    unseen: Mapping[str, str]
    _external_users: dict[str, str] = field(default_factory=dict)
    _looked_up: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, api: SlackApi, wanted: Sequence[str], users: Sequence[Payload] | None = None) -> Workspace:
        """Ask Slack. `wanted` has names or ids; without any, every public channel that the app is a member of is
        selected.

        `users`, if given, saves the call for them. Raises SlackError for a refusal, SourceError when no channel is
        accessible.
        """
        url = api.identify()
        public = api.members("conversations.list", "channels", types="public_channel", exclude_archived="false")
        unseen: dict[str, SourceError] = {}
        chosen = _chosen(api, wanted, public, unseen) if wanted else [one for one in public if one.get("is_member")]
        channels = list({one.id: one for payload in chosen if (one := read_channel(payload))}.values())
        if not channels and unseen:
            raise next(iter(unseen.values()))
        if not channels:
            raise SourceError(
                "The app isn't a member of any public channel.",
                remedy="Invite it to the channels to read, or name them in `channels`.",
            )
        known = [one for payload in public if (one := read_channel(payload))]
        users = api.members("users.list", "members") if users is None else users
        people = WorkspaceUsers.of(users, [*known, *channels])
        archived = frozenset(as_text(payload.get("id")) for payload in chosen if payload.get("is_archived"))
        reasons = {name: str(error) for name, error in unseen.items()}
        return cls(api, url, channels, archived, users, people, reasons)

    def about(self, channel: Channel) -> str:
        """Return the channel's name for errors."""
        return f"#{channel.name} (archived)" if channel.id in self.archived else f"#{channel.name}"

    @property
    def names(self) -> SlackNames:
        """The names of the workspace's own and of external users."""
        known = self.people.names
        return SlackNames({**known.users, **self._external_users}, known.channels) if self._external_users else known

    def look_up_authors(self, messages: Iterable[Payload]) -> None:
        """Look up the authors and mentions that aren't the workspace's own users, but members of connected
        workspaces.
        """
        for message in messages:
            ids = MENTION.findall(as_text(message.get("text")))
            if not message.get("user_profile"):
                ids.append(author_id(message))
            for identity in ids:
                if identity[:1] in ("U", "W") and identity not in self.people.names.users:
                    self._look_up(identity)

    def _look_up(self, identity: str) -> None:
        if identity in self._looked_up or len(self._looked_up) == MAX_LOOKUPS:
            return
        self._looked_up.add(identity)
        try:
            user = as_mapping(self.api.call("users.info", {"user": identity}, about="a user").get("user"))
        except SlackError as error:
            if error.code not in UNKNOWN_USER_CODES:
                raise
            return
        if name := display_name(user):
            self._external_users[identity] = name


def _chosen(
    api: SlackApi, wanted: Sequence[str], public: Sequence[Payload], unseen: dict[str, SourceError]
) -> list[Payload]:
    """Return the wanted channels; private ones are requested only if a name or id isn't a public one's.

    A channel outside the public list counts as private, unless Slack denies it. Inaccessible ones are added to
    `unseen`.
    """
    named = {as_text(payload.get(key)): payload for payload in public for key in ("name", "id")}
    private: dict[str, Payload] | None = None
    chosen: list[Payload] = []
    for want in (name.removeprefix("#") for name in wanted):
        payload = named.get(want)
        if payload is None and CHANNEL_ID.fullmatch(want):
            try:
                found = as_mapping(api.call("conversations.info", {"channel": want}, about=want).get("channel"))
            except SlackError as error:
                if error.code not in UNREADABLE:
                    raise
                unseen[want] = error
                continue
            payload = {"is_private": True, **found}
        elif payload is None:
            if private is None:
                rows = api.members("conversations.list", "channels", types="private_channel", exclude_archived="false")
                private = {as_text(row.get("name")): {"is_private": True, **row} for row in rows}
            payload = private.get(want)
        if payload is None or payload.get("is_im") or payload.get("is_mpim") or not read_channel(payload):
            unseen[want] = _unknown(want, [*named, *(private or {})])
        else:
            chosen.append(payload)
    return chosen


def _unknown(want: str, known: Sequence[str]) -> SourceError:
    near = difflib.get_close_matches(want, known, n=1)
    return SourceError(
        f"The workspace has no channel {want!r} that the app can see.",
        remedy=f"Did you mean {near[0]!r}?" if near else "Correct `channels`; a private one must invite the app.",
    )
