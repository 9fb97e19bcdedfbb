"""The declaration of the Slack bot: which messages of a channel it answers, and from which sources."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from lore.declarations.fields import Name
from lore.declarations.yaml_file import read_model

__all__ = ["ChannelRules", "SlackRules", "load_slack_rules"]

AnswersTo: TypeAlias = Literal["mention", "thread", "auto"]
"""The messages that the bot answers in a channel: mentions alone; those, and what is addressed to it in threads where
it answered; those, and each question that begins a thread, if it finds an answer.
"""


def _channel(value: str) -> str:
    if not re.fullmatch(r"[CG][A-Z0-9]{1,39}", value):
        raise ValueError("is no id of a channel, such as C0123456789; Slack shows it at the end of a channel's details")
    return value


ChannelId: TypeAlias = Annotated[str, AfterValidator(_channel)]


class ChannelRules(BaseModel):
    """The rules of one channel; what is left out is as declared for all."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    answers: AnswersTo | None = Field(default=None, description="Messages that the bot answers there")
    sources: tuple[Name, ...] = Field((), max_length=1_000, description="Ids of the sources searched; default: all")


class SlackRules(BaseModel):
    """The rules of all channels, and those of channels that differ."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    answers: AnswersTo = Field(default="thread", description="Messages that the bot answers in channels")
    channels: dict[ChannelId, ChannelRules] = Field(default_factory=dict, description="Channels that differ, by id")

    def answers_in(self, channel: str) -> AnswersTo:
        """Return which messages of a channel are answered."""
        rules = self.channels.get(channel)
        return (rules.answers if rules else None) or self.answers

    def sources_in(self, channel: str) -> tuple[str, ...]:
        """Return the ids of the sources that are searched for a channel's questions; () for all."""
        rules = self.channels.get(channel)
        return rules.sources if rules else ()


def load_slack_rules(path: Path) -> SlackRules:
    """Return the declaration; without such a file, the defaults.

    Raises DeclarationError, which names file, line and key, and the nearest known name for a wrong one.
    """
    return read_model(path, SlackRules, least="answers", parts=(ChannelRules,)) or SlackRules()
