"""Who and what there is in a workspace: the channels that a declaration means, and the names behind ids."""

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
"""Names of channels are in lower case."""
MENTION = re.compile(r"<@([UW][A-Z0-9]{2,30})>")
MAX_LOOKUPS = 200
"""A message may mention people who do not exist: so many ids are asked for one by one in a run, and no more."""
UNKNOWN_USER_CODES = frozenset({"user_not_found", "users_not_found", "user_not_visible"})


@dataclass(slots=True)
class Workspace:
    """What a run knows of a workspace. `archived` has the ids of the channels that nobody can write to any more, and
    `unseen` says why those that are wanted and cannot be seen cannot, by the name or id that is wanted.

    `people` are the workspace's own, as they were when the run began; `names` grow by those whom `learn` looks up.
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
        """Ask Slack. `wanted` has names or ids; none means every public channel that the app is a member of. `users`
        spares the call for them where they are known.

        Raises SlackError where Slack refuses, SourceError where none of the channels can be seen.
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
                "The app is a member of no public channel.",
                remedy="Invite it to the channels that are to be read, or name them in `channels`.",
            )
        known = [one for payload in public if (one := read_channel(payload))]
        users = api.members("users.list", "members") if users is None else users
        people = WorkspaceUsers.of(users, [*known, *channels])
        archived = frozenset(as_text(payload.get("id")) for payload in chosen if payload.get("is_archived"))
        reasons = {name: str(error) for name, error in unseen.items()}
        return cls(api, url, channels, archived, users, people, reasons)

    def about(self, channel: Channel) -> str:
        """The channel as errors name it."""
        return f"#{channel.name} (archived)" if channel.id in self.archived else f"#{channel.name}"

    @property
    def names(self) -> SlackNames:
        """Names of the workspace's people and of strangers."""
        known = self.people.names
        return SlackNames({**known.users, **self._external_users}, known.channels) if self._external_users else known

    def look_up_authors(self, messages: Iterable[Payload]) -> None:
        """Look up the names of those who are not among the workspace's users: members of connected workspaces."""
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
    """The channels that are wanted; private ones are asked for only when a name or id is not that of a public one.

    What is not in the list of public channels counts as private, unless Slack says that it is not. What cannot be seen
    is noted in `unseen`.
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
