"""Slack's limits of blocks, messages and modals, as its documentation gives them: an error code, or None."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]

MAX_BLOCKS = 50
MAX_VIEW_BLOCKS = 100
MARKDOWN_SUM = 12_000
MESSAGE_TEXT = 40_000
UPDATED_TEXT = 4_000
BLOCK_TYPES = frozenset(
    """actions alert card carousel context context_actions divider file header image input markdown plan rich_text
    section table task_card video""".split()  # noqa: SIM905
)
MAX_ELEMENTS = {"actions": 25, "context": 10, "context_actions": 5}


def check_message(args: Json, *, update: bool = False) -> str | None:
    """What is wrong with the text, blocks and metadata of a message."""
    blocks, text, markdown = args.get("blocks") or [], args.get("text") or "", args.get("markdown_text") or ""
    if markdown and (blocks or text):
        return "markdown_text_conflict"
    if not (blocks or text or markdown or args.get("attachments")):
        return "no_text"
    if len(text) > (UPDATED_TEXT if update else MESSAGE_TEXT) or len(markdown) > MARKDOWN_SUM:
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
    """What is wrong with the blocks of a message."""
    if not isinstance(blocks, Sequence) or isinstance(blocks, str):
        return "invalid_blocks_format"
    if len(blocks) > MAX_BLOCKS or any(True for block in blocks for _ in _faults(block)):
        return "invalid_blocks"
    named = [block["block_id"] for block in blocks if block.get("block_id")]
    if len(named) != len(set(named)):
        return "invalid_blocks"
    if sum(block["type"] == "table" for block in blocks) > 1:
        return "invalid_attachments"
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    return "msg_blocks_too_long" if markdown > MARKDOWN_SUM else None


def _faults(block: Any) -> Iterator[str]:
    """Each thing that is wrong with one block."""
    if not isinstance(block, Mapping) or block.get("type") not in BLOCK_TYPES:
        yield "type"
        return
    if len(block.get("block_id", "")) > 255:
        yield "block_id"
    if check := _CHECKS.get(block["type"]):
        yield from check(block)


def _markdown_faults(block: Json) -> Iterator[str]:
    if not (isinstance(block.get("text"), str) and 0 < len(block["text"]) <= MARKDOWN_SUM):
        yield "text"


def _section_faults(block: Json) -> Iterator[str]:
    fields = block.get("fields") or ()
    if "text" in block or not fields:
        yield from _text_faults(block.get("text"), 3_000)
    if len(fields) > 10:
        yield "fields"
    for each in fields:
        yield from _text_faults(each, 2_000)


def _header_faults(block: Json) -> Iterator[str]:
    yield from _text_faults(block.get("text"), 150, plain=True)


def _elements_faults(block: Json) -> Iterator[str]:
    elements = block.get("elements")
    if not isinstance(elements, list) or not 0 < len(elements) <= MAX_ELEMENTS[block["type"]]:
        yield "elements"
        return
    for element in elements:
        yield from _context_faults(element) if block["type"] == "context" else _element_faults(element)


def _table_faults(block: Json) -> Iterator[str]:
    rows = block.get("rows") or []
    if not 0 < len(rows) <= 100 or any(not 0 < len(row) <= 20 for row in rows):
        yield "rows"


def _input_faults(block: Json) -> Iterator[str]:
    yield from _text_faults(block.get("label"), 2_000, plain=True)
    yield from _element_faults(block.get("element") or {})


def _text_faults(text: Any, limit: int, *, plain: bool = False) -> Iterator[str]:
    kinds = ("plain_text",) if plain else ("plain_text", "mrkdwn")
    if not isinstance(text, Mapping) or text.get("type") not in kinds:
        yield "text type"
    elif not 0 < len(text.get("text") or "") <= limit:
        yield "text length"


def _context_faults(element: Any) -> Iterator[str]:
    if isinstance(element, Mapping) and element.get("type") == "image":
        if not element.get("alt_text"):
            yield "alt_text"
    else:
        yield from _text_faults(element, 2_000)


def _element_faults(element: Json) -> Iterator[str]:
    if len(element.get("action_id", "")) > 255 or not element.get("type"):
        yield "element"
    if element.get("type") == "button":
        yield from _text_faults(element.get("text"), 75, plain=True)
        if len(element.get("value", "")) > 2_000 or len(element.get("url", "")) > 3_000 or "disabled" in element:
            yield "button"
    if element.get("type") == "feedback_buttons":
        for side in ("positive_button", "negative_button"):
            button = element.get(side) or {}
            yield from _text_faults(button.get("text"), 75, plain=True)
            if not 0 < len(button.get("value") or "") <= 2_000:
                yield side


def check_view(view: Any) -> str | None:
    """What is wrong with a modal."""
    if not isinstance(view, Mapping) or view.get("type") != "modal":
        return "invalid_arguments"
    titles = (view.get("title"), view.get("submit"), view.get("close"))
    if any(True for title in titles if title is not None for _ in _text_faults(title, 24, plain=True)):
        return "invalid_arguments"
    blocks = view.get("blocks")
    if view.get("title") is None or not isinstance(blocks, list) or not 0 < len(blocks) <= MAX_VIEW_BLOCKS:
        return "invalid_arguments"
    if any(block.get("type") == "input" for block in blocks) and not view.get("submit"):
        return "invalid_arguments"
    if len(view.get("private_metadata", "")) > 3_000 or len(view.get("callback_id", "")) > 255:
        return "view_too_large"
    return "invalid_arguments" if any(True for block in blocks for _ in _faults(block)) else None


_CHECKS = {
    "markdown": _markdown_faults,
    "section": _section_faults,
    "header": _header_faults,
    "actions": _elements_faults,
    "context": _elements_faults,
    "context_actions": _elements_faults,
    "table": _table_faults,
    "input": _input_faults,
}
