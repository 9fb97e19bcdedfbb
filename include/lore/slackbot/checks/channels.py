"""Checks of the bot's channels: the maintainers' channel, and the private channels it is in."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from lore.declarations import load_slack_rules
from lore.doctor.finding import Finding
from lore.slackbot.slack_api.caller import SlackCaller
from lore.slackbot.types import SlackCallError
from lore.sources.payload import as_mapping, as_mappings, as_text

__all__ = ["check_feedback", "check_private", "check_rules", "one_line"]

MAX_NAMED = 10
LIST_LIMIT = "200"


def check_feedback(bot: SlackCaller, channel: str) -> Finding:
    """Check that the bot can write to the maintainers' channel, and that nobody outside reads it."""
    name = "slack feedback channel"
    if not channel:
        return Finding(name, "skipped", "not set: nobody is told of answers that didn't help")
    invite = "Set LORE_SLACK_FEEDBACK_CHANNEL to a channel's id (C…), and invite the bot there: /invite @NAME"
    try:
        found = as_mapping(bot.call("conversations.info", params={"channel": channel}).get("channel"))
    except SlackCallError as error:
        if error.code != "channel_not_found":
            raise
        return Finding(name, "problem", f"the bot can't see a channel {channel}", invite)
    shown = f"#{one_line(found.get('name'))}"
    if found.get("is_archived"):
        return Finding(name, "problem", f"{shown} is archived", "Choose another channel.")
    if not found.get("is_member"):
        return Finding(name, "problem", f"the bot isn't a member of {shown}", invite)
    if found.get("is_ext_shared"):
        return Finding(
            name,
            "warning",
            f"{shown} is shared with another organisation, which reads what people say",
            "Choose another.",
        )
    return Finding(name, "ok", shown)


def check_rules(bot: SlackCaller, file: Path, declared: Collection[str]) -> Finding:
    """Check the file about channels: that the bot is a member of each, and that its sources are `declared` ones."""
    name = "slack channels"
    if not file.exists():
        return Finding(name, "skipped", f"there is no {file.absolute()}: all channels have the same rules")
    rules = load_slack_rules(file)
    named = [source for channel in rules.channels for source in rules.sources_in(channel)]
    if unknown := [source for source in dict.fromkeys(named) if source not in declared]:
        detail = f"{file} names sources that aren't declared: {', '.join(unknown[:MAX_NAMED])}"
        return Finding(name, "problem", detail, "Use ids that `lore sources` lists.")
    absent = [channel for channel in rules.channels if not _is_member(bot, channel)]
    if absent:
        detail = f"the bot isn't a member of {', '.join(absent[:MAX_NAMED])}, which {file} declares"
        return Finding(name, "warning", detail, "Invite the bot there: /invite @NAME. Or remove the channels.")
    return Finding(name, "ok", f"{len(rules.channels)} channels with rules of their own; else answers: {rules.answers}")


def _is_member(bot: SlackCaller, channel: str) -> bool:
    try:
        found = as_mapping(bot.call("conversations.info", params={"channel": channel}).get("channel"))
    except SlackCallError as error:
        if error.code != "channel_not_found":
            raise
        return False
    return found.get("is_member") is True


def check_private(bot: SlackCaller) -> Finding:
    """List the private channels the bot is in, whose content is used for answers to their members alone."""
    name = "slack private channels"
    try:
        params = {"types": "private_channel", "exclude_archived": "true", "limit": LIST_LIMIT}
        response = bot.call("users.conversations", params=params)
    except SlackCallError as error:
        if error.code == "missing_scope":
            return Finding(name, "skipped", "needs the scope groups:read")
        raise
    names = sorted(one_line(channel.get("name")) for channel in as_mappings(response.get("channels")))
    if not names:
        return Finding(name, "ok", "the bot is in none")
    more = bool(as_text(as_mapping(response.get("response_metadata")).get("next_cursor")))
    rest = f" and {'more than ' if more else ''}{len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return Finding(name, "ok", f"the bot is in {', '.join(f'#{one}' for one in names[:MAX_NAMED])}{rest}")


def one_line(value: object) -> str:
    """Return a name from Slack in one line of at most 80 characters."""
    return " ".join(as_text(value).split())[:80]
