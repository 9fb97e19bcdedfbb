"""Who may see what: the audiences of a question, by where it was asked and by whom.

What is answered in a channel is read by all who are in it, so a channel's own content is the most that an answer there
may hold. What is answered to one person alone may hold what that person can read. In doubt, it is public documents.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lore.slackbot.access.ttl_cache import TtlCache
from lore.slackbot.slack_api.errors import level
from lore.slackbot.types import BotIdentity, SlackApi, SlackCallError, SlackQuestion
from lore.sources.payload import Payload, as_mapping, as_text
from lore.types import PUBLIC

__all__ = ["Audiences"]

log = logging.getLogger(__name__)

TTL_SECONDS = 300.0
"""How long what Slack says of people and channels is taken for true without asking again."""
LIMIT_SECONDS = 600.0
"""How old it may get where Slack cannot be asked. Rights that are older count for nothing."""
SIZE = 5_000

EVERYBODY = (PUBLIC,)


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A conversation: `named` where it is a channel, whose content may be kept under its id."""

    named: bool
    private: bool


class Audiences:
    """Audiences by what Slack says of people and channels, kept for `ttl` seconds. May be used by several threads.

    `clock` is in seconds, and only goes forward.
    """

    def __init__(
        self,
        slack: SlackApi,
        identity: BotIdentity,
        *,
        clock: Callable[[], float] = time.monotonic,
        ttl: float = TTL_SECONDS,
        limit: float = LIMIT_SECONDS,
        size: int = SIZE,
    ) -> None:
        def keep(question: Callable[[Any], Any]) -> TtlCache[Any, Any]:
            return TtlCache(question, ttl=ttl, limit=limit, size=size, clock=clock)

        self._insiders: TtlCache[str, bool] = keep(lambda user: _is_insider(slack.user(user), identity))
        self._places: TtlCache[str, _Conversation] = keep(lambda channel: _place(slack, channel))
        self._private: TtlCache[str, frozenset[str]] = keep(slack.private_channels_of)
        self._members: TtlCache[tuple[str, str], bool] = keep(lambda pair: slack.is_member(*pair))

    def of(self, question: SlackQuestion, on_note: Callable[[str], None] | None = None) -> tuple[str, ...]:
        """The audiences of a question, PUBLIC first. Never raises: what cannot be found out is no right.

        From a channel: its own content. In a conversation with the bot alone: that of every private channel that the
        asker is in. Guests, people of other workspaces and group direct messages: public only. `on_note` is told where
        less is shown because Slack could not be asked.
        """
        try:
            return (*EVERYBODY, *self._more(question))
        except SlackCallError as error:
            log.log(level(error, logging.WARNING), "Only public documents are searched for %s: %s", question.key, error)
            if on_note is not None:
                on_note(f"Only public documents were searched: who may see more could not be found out ({error.code}).")
            return EVERYBODY

    def notice(self, event: Mapping[str, Any]) -> None:
        """Forget what an event makes untrue: who joined or left a channel, and what changed of a person or a channel.

        Any event may be given; those that change nothing here are passed over.
        """
        kind = as_text(event.get("type"))
        user, channel = _id(event.get("user")), _id(event.get("channel"))
        if kind in ("member_joined_channel", "member_left_channel"):
            self._private.drop(user)
            self._members.drop((channel, user))
            self._places.drop(channel)  # it may have been the bot
        elif kind in ("user_change", "team_join"):
            self._insiders.drop(user)
            self._private.drop(user)
        elif kind.startswith(("channel_", "group_")):
            self._places.drop(channel)

    def _more(self, question: SlackQuestion) -> tuple[str, ...]:
        """The audiences beside the public one."""
        if question.external or question.room == "group" or not self._insiders.get(question.user):
            return ()
        if question.room == "direct":
            alone = question.channel.startswith("D")
            return tuple(f"slack:{channel}" for channel in sorted(self._private.get(question.user))) if alone else ()
        place = self._places.get(question.channel)
        if not place.named:
            return ()
        if place.private and question.via == "command" and not self._members.get((question.channel, question.user)):
            return ()  # a message is posted where its author is; of a command, only its sender says where it was
        return (f"slack:{question.channel}",)


def _is_insider(user: Payload, identity: BotIdentity) -> bool:
    """Whether somebody is a full member of the bot's workspace, or of one in the same organisation that has it too."""
    less = (
        "deleted",
        "is_bot",
        "is_app_user",
        "is_workflow_bot",
        "is_restricted",
        "is_ultra_restricted",
        "is_stranger",
    )
    if any(user.get(fact) for fact in less):
        return False
    teams = as_mapping(user.get("enterprise_user")).get("teams")
    homes = [as_text(user.get("team_id")), *(teams if isinstance(teams, list) else [])]
    return identity.team in homes


def _place(slack: SlackApi, channel: str) -> _Conversation:
    try:
        facts = slack.channel(channel)
    except SlackCallError as error:
        if error.code != "channel_not_found":
            raise
        return _Conversation(named=False, private=True)  # the bot is not in it, so nothing of it is known
    one_to_one = facts.get("is_im") or facts.get("is_mpim")
    return _Conversation(named=not one_to_one, private=facts.get("is_private") is not False)


def _id(value: object) -> str:
    """An id, given as itself or as an object that has it."""
    return as_text(value) or as_text(as_mapping(value).get("id"))
