"""Why Slack refuses a message or a modal, as an error code; None where it does not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.slackbot.render.block_rules import MARKDOWN, message_problems, view_problems

Json = Mapping[str, Any]

MARKDOWN_SUM = MARKDOWN
POSTED_TEXT = 40_000
UPDATED_TEXT = 4_000


def check_message(args: Json, *, update: bool = False) -> str | None:
    """What is wrong with the text, blocks and metadata of a message."""
    blocks, text, markdown = args.get("blocks") or [], args.get("text") or "", args.get("markdown_text") or ""
    if markdown and (blocks or text):
        return "markdown_text_conflict"
    if not (blocks or text or markdown or args.get("attachments")):
        return "no_text"
    if len(text) > (UPDATED_TEXT if update else POSTED_TEXT) or len(markdown) > MARKDOWN_SUM:
        return "msg_too_long"
    return check_blocks(blocks) or check_metadata(args.get("metadata"))


def check_metadata(metadata: Any) -> str | None:
    """What is wrong with a message's metadata."""
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("event_payload"), Mapping):
        return "invalid_metadata_format"
    if not isinstance(metadata.get("event_type"), str) or not metadata["event_type"]:
        return "invalid_metadata_format"
    return "metadata_too_large" if len(json.dumps(metadata)) > 8_000 else None


def check_blocks(blocks: Any) -> str | None:
    """What is wrong with the blocks of a message. Slack has another code for too much Markdown in all of them."""
    if not isinstance(blocks, Sequence) or isinstance(blocks, str):
        return "invalid_blocks_format"
    problems = message_problems([one for one in blocks if one.get("type") != "rich_text"], "text")
    too_long = [one for one in problems if one.startswith("the markdown blocks have")]
    if len(problems) > len(too_long):
        return "invalid_blocks"
    if any(one.get("type") == "rich_text" and not one.get("elements") for one in blocks):
        return "invalid_blocks"
    return "msg_blocks_too_long" if too_long else None


def check_view(view: Any) -> str | None:
    """What is wrong with a modal."""
    if not isinstance(view, Mapping) or not isinstance(view.get("blocks"), list) or view_problems(view):
        return "invalid_arguments"
    return None
