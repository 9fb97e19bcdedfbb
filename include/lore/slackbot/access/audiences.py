"""Access: the audiences of a question, by where it was asked and by whom.

Everybody in a channel reads an answer there, so it may use no more than public documents and the channel's own content.
An answer to one person alone may use what that person can read. In doubt, it uses public documents only.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lore.slackbot.access.ttl_cache import TtlCache
from lore.slackbot.render import phrases
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.errors import log_level
from lore.slackbot.types import BotIdentity, SlackCallError, SlackQuestion
from lore.sources.payload import Payload, as_mapping, as_text
from lore.types import PUBLIC

__all__ = ["Audiences"]

log = logging.getLogger(__name__)

TTL_SECONDS = 300.0
"""Age at which facts about people and channels are looked up again."""
LIMIT_SECONDS = 600.0
"""Age at which they don't count any more, where Slack can't be asked."""
SIZE = 5_000

EVERYBODY = (PUBLIC,)
_OUTSIDER_FLAGS = (
    "deleted",
    "is_bot",
    "is_app_user",
    "is_workflow_bot",
    "is_restricted",
    "is_ultra_restricted",
    "is_stranger",
)


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A conversation: `is_channel` where its content may be indexed under its id, `is_absent` if it is unseen."""

    is_channel: bool
    is_private: bool
    is_absent: bool = False


class Audiences:
    """Audiences by Slack's facts about people and channels, cached for `ttl` seconds; used by several threads.

    `clock` is in seconds and never goes back.
    """

    def __init__(
        self,
        slack: BotApi,
        identity: BotIdentity,
        *,
        clock: Callable[[], float] = time.monotonic,
        ttl: float = TTL_SECONDS,
        limit: float = LIMIT_SECONDS,
        size: int = SIZE,
    ) -> None:
        def cached(look_up: Callable[[Any], Any]) -> TtlCache[Any, Any]:
            return TtlCache(look_up, ttl=ttl, limit=limit, size=size, clock=clock)

        self._insiders: TtlCache[str, bool] = cached(lambda user: _is_insider(slack.user(user), identity))
        self._conversations: TtlCache[str, _Conversation] = cached(lambda channel: _conversation(slack, channel))
        self._private: TtlCache[str, frozenset[str]] = cached(slack.private_channels_of)
        self._members: TtlCache[tuple[str, str], bool] = cached(lambda pair: slack.is_member(*pair))

    def of(self, question: SlackQuestion, on_note: Callable[[str], None] = lambda _: None) -> tuple[str, ...]:
        """Return the audiences of a question, PUBLIC first. Never raises: an unknown right is no right.

        In a channel: its own content. In a direct message: that of each private channel the asker is in. For guests,
        people from other workspaces, and in group direct messages: public only. `on_note` is told what the
        asker should know of that.
        """
        try:
            return (*EVERYBODY, *self._more(question, on_note))
        except SlackCallError as error:
            level = log_level(error, logging.WARNING)
            log.log(level, "Searching only public documents for %s: %s", question.key, error)
            on_note(phrases.RIGHTS_UNKNOWN)
            return EVERYBODY

    def notice(self, event: Mapping[str, Any]) -> None:
        """Drop the facts that an event changes: members of a channel, a person, a channel. Takes any event."""
        kind = as_text(event.get("type"))
        user, channel = _id(event.get("user")), _id(event.get("channel"))
        if kind in ("member_joined_channel", "member_left_channel"):
            self._private.drop(user)
            self._members.drop((channel, user))
            self._conversations.drop(channel)  # it may have been the bot
        elif kind in ("user_change", "team_join"):
            self._insiders.drop(user)
            self._private.drop(user)
        elif kind.startswith(("channel_", "group_")):
            self._conversations.drop(channel)

    def _more(self, question: SlackQuestion, on_note: Callable[[str], None]) -> tuple[str, ...]:
        """Return the audiences beside the public one."""
        if question.external or question.room == "group" or not self._insiders.get(question.user):
            return ()
        if question.room == "direct":
            if not question.channel.startswith("D"):
                return ()
            return tuple(f"slack:{channel}" for channel in sorted(self._private.get(question.user)))
        conversation = self._conversations.get(question.channel)
        if conversation.is_absent:
            on_note(phrases.ABSENT)
        if not conversation.is_channel:
            return ()
        # A message is posted by a member; of a command, only its sender says where it was typed.
        is_claimed = conversation.is_private and question.via == "command"
        if is_claimed and not self._members.get((question.channel, question.user)):
            return ()
        return (f"slack:{question.channel}",)


def _is_insider(user: Payload, identity: BotIdentity) -> bool:
    """Return True for a full member of the bot's workspace, or of one in the same organisation that has it too."""
    if any(user.get(flag) for flag in _OUTSIDER_FLAGS):
        return False
    teams = as_mapping(user.get("enterprise_user")).get("teams")
    homes = [as_text(user.get("team_id")), *(teams if isinstance(teams, list) else [])]
    return identity.team in homes


def _conversation(slack: BotApi, channel: str) -> _Conversation:
    try:
        facts = slack.channel(channel)
    except SlackCallError as error:
        if error.code != "channel_not_found":
            raise
        return _Conversation(is_channel=False, is_private=True, is_absent=True)
    is_direct = facts.get("is_im") or facts.get("is_mpim")
    return _Conversation(is_channel=not is_direct, is_private=facts.get("is_private") is not False)


def _id(value: object) -> str:
    """Return an id, given as itself or as an object that has it."""
    return as_text(value) or as_text(as_mapping(value).get("id"))
