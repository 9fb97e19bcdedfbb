"""Answers as Slack's messages: safe Markdown, split where a person would, within Slack's limits."""

from lore.slackbot.render.answers import Ending, StreamRenderer, notice, partial, render

__all__ = ["Ending", "StreamRenderer", "notice", "partial", "render"]
