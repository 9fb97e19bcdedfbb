"""Answers as Slack messages: safe Markdown, split where a person would split it, within Slack's limits."""

from lore.slackbot.render.answers import StreamEnding, StreamRenderer, notice, render, unfinished

__all__ = ["StreamEnding", "StreamRenderer", "notice", "render", "unfinished"]
