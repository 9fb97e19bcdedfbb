"""Slack's documented limits and shapes of messages and modals, as a strict check: what a real workspace would refuse.

Keys that Slack does not document are refused too, so that a misspelt one is found here and not by a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

__all__ = ["MARKDOWN", "MESSAGE_TEXT", "message_problems", "view_problems"]

Json: TypeAlias = Mapping[str, Any]
Problems: TypeAlias = Iterator[str]

MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
MARKDOWN = 12_000
"""Characters of all markdown blocks of one message together."""
MESSAGE_TEXT = 4_000
"""What Slack recommends for the text of a message, and the most that `chat.update` takes of it."""
TEXT = 3_000
ID = 255


def message_problems(blocks: Sequence[Json], text: str = "") -> list[str]:
    """Why Slack would refuse a message of these blocks with this text beside them; empty where it would not."""
    problems = [] if blocks or text.strip() else ["no_text: neither blocks nor text"]
    if len(text) > MESSAGE_TEXT:
        problems.append(f"text has {len(text)} characters, more than {MESSAGE_TEXT}")
    if blocks and not text.strip():
        problems.append("text is empty: notifications and screen readers have nothing to say")
    problems.extend(_blocks(blocks, _MESSAGE, MESSAGE_BLOCKS))
    markdown = sum(len(block.get("text", "")) for block in blocks if block.get("type") == "markdown")
    if markdown > MARKDOWN:
        problems.append(f"the markdown blocks have {markdown} characters, more than {MARKDOWN}")
    return problems


def view_problems(view: Json) -> list[str]:
    """Why Slack would refuse to open this modal; empty where it would not."""
    optional = {
        "submit",
        "close",
        "private_metadata",
        "callback_id",
        "clear_on_close",
        "notify_on_close",
        "external_id",
    }
    problems = [*_keys("view", view, {"type", "title", "blocks"}, optional)]
    if view.get("type") != "modal":
        problems.append(f"view.type is {view.get('type')!r}, not 'modal'")
    for name in ("title", "submit", "close"):
        if name in view:
            problems.extend(_plain(f"view.{name}", view[name], 24))
    problems.extend(_string("view.private_metadata", view.get("private_metadata", ""), TEXT, least=0))
    problems.extend(_string("view.callback_id", view.get("callback_id", ""), ID, least=0))
    blocks = view.get("blocks", ())
    if any(block.get("type") == "input" for block in blocks) and "submit" not in view:
        problems.append("view.submit is missing, and there is an input")
    return [*problems, *_blocks(blocks, _VIEW, VIEW_BLOCKS)]


def _blocks(blocks: Sequence[Json], kinds: Mapping[str, Callable[[str, Json], Problems]], most: int) -> Problems:
    if len(blocks) > most:
        yield f"{len(blocks)} blocks, more than {most}"
    ids = [block["block_id"] for block in blocks if block.get("block_id")]
    if len(set(ids)) < len(ids):
        yield "a block_id is there twice"
    for number, block in enumerate(blocks):
        at = f"blocks[{number}]"
        check = kinds.get(str(block.get("type")))
        if check is None:
            yield f"{at}: a block of type {block.get('type')!r} is not possible here"
            continue
        yield from _string(f"{at}.block_id", block.get("block_id", "x"), ID)
        yield from check(at, block)


# -------------------------------------------------------------------------------------------------------------- blocks


def _markdown(at: str, block: Json) -> Problems:
    yield from _keys(at, block, {"text"}, set())
    yield from _string(f"{at}.text", block.get("text"), MARKDOWN)


def _section(at: str, block: Json) -> Problems:
    yield from _keys(at, block, set(), {"text", "fields", "accessory", "expand"})
    fields = block.get("fields", ())
    if "text" not in block and not fields:
        yield f"{at} has neither text nor fields"
    if "text" in block:
        yield from _text(f"{at}.text", block["text"], TEXT)
    if len(fields) > 10:
        yield f"{at} has {len(fields)} fields, more than 10"
    for number, field in enumerate(fields):
        yield from _text(f"{at}.fields[{number}]", field, 2_000)
    if "accessory" in block:
        yield from _elements(at, [block["accessory"]], {**_BUTTONS, "image": _image}, 1)


def _context(at: str, block: Json) -> Problems:
    yield from _keys(at, block, {"elements"}, set())
    kinds = {"image": _image, "mrkdwn": _context_text, "plain_text": _context_text}
    yield from _elements(at, block.get("elements", ()), kinds, 10)


def _context_text(at: str, text: Json) -> Problems:
    yield from _text(at, text, TEXT)


def _header(at: str, block: Json) -> Problems:
    yield from _keys(at, block, {"text"}, set())
    yield from _plain(f"{at}.text", block.get("text"), 150)


def _divider(at: str, block: Json) -> Problems:
    yield from _keys(at, block, set(), set())


def _actions(at: str, block: Json) -> Problems:
    yield from _keys(at, block, {"elements"}, set())
    yield from _elements(at, block.get("elements", ()), {**_BUTTONS, **_CHOICES}, 25)


def _context_actions(at: str, block: Json) -> Problems:
    yield from _keys(at, block, {"elements"}, set())
    kinds = {"feedback_buttons": _feedback, "icon_button": _icon_button}
    yield from _elements(at, block.get("elements", ()), kinds, 5)


def _input(at: str, block: Json) -> Problems:
    optional = {"hint", "optional", "dispatch_action"}
    yield from _keys(at, block, {"label", "element"}, optional)
    yield from _plain(f"{at}.label", block.get("label"), 2_000)
    if "hint" in block:
        yield from _plain(f"{at}.hint", block["hint"], 2_000)
    yield from _elements(at, [block.get("element") or {}], {**_CHOICES, "plain_text_input": _text_input}, 1)


_VIEW: Mapping[str, Callable[[str, Json], Problems]] = {
    "section": _section,
    "context": _context,
    "header": _header,
    "divider": _divider,
    "actions": _actions,
    "input": _input,
}
_MESSAGE = {**_VIEW, "markdown": _markdown, "context_actions": _context_actions}


# ------------------------------------------------------------------------------------------------------------ elements


def _elements(at: str, elements: Any, kinds: Mapping[str, Callable[[str, Json], Problems]], most: int) -> Problems:
    if not isinstance(elements, Sequence) or not 1 <= len(elements) <= most:
        yield f"{at} must have 1 to {most} elements"
        return
    actions = [element["action_id"] for element in elements if element.get("action_id")]
    if len(set(actions)) < len(actions):
        yield f"{at}: an action_id is there twice"
    for number, element in enumerate(elements):
        here = f"{at}.elements[{number}]"
        check = kinds.get(str(element.get("type")))
        if check is None:
            yield f"{here}: an element of type {element.get('type')!r} is not possible here"
            continue
        yield from _string(f"{here}.action_id", element.get("action_id", "x"), ID)
        yield from check(here, element)


def _image(at: str, element: Json) -> Problems:
    yield from _keys(at, element, {"image_url", "alt_text"}, set())
    yield from _string(f"{at}.image_url", element.get("image_url"), 3_000)
    yield from _string(f"{at}.alt_text", element.get("alt_text"), 2_000)


def _button(at: str, element: Json) -> Problems:
    yield from _keys(at, element, {"text"}, {"url", "value", "style", "confirm", "accessibility_label"})
    yield from _plain(f"{at}.text", element.get("text"), 75)
    yield from _string(f"{at}.value", element.get("value", "x"), 2_000)
    yield from _string(f"{at}.url", element.get("url", "x"), 3_000)
    yield from _string(f"{at}.accessibility_label", element.get("accessibility_label", "x"), 75)
    if element.get("style", "primary") not in ("primary", "danger"):
        yield f"{at}.style is {element['style']!r}"


def _icon_button(at: str, element: Json) -> Problems:
    optional = {"value", "confirm", "accessibility_label", "visible_to_user_ids"}
    yield from _keys(at, element, {"icon", "text"}, optional)
    yield from _plain(f"{at}.text", element.get("text"), 75)


def _feedback(at: str, element: Json) -> Problems:
    yield from _keys(at, element, {"positive_button", "negative_button"}, set())
    for name in ("positive_button", "negative_button"):
        button = element.get(name) or {}
        if unknown := set(button) - {"text", "value", "accessibility_label"}:
            yield f"{at}.{name} has unknown keys {sorted(unknown)}"
        yield from _plain(f"{at}.{name}.text", button.get("text"), 75)
        yield from _string(f"{at}.{name}.value", button.get("value"), 2_000)
        yield from _string(f"{at}.{name}.accessibility_label", button.get("accessibility_label", "x"), 75)


def _choice(at: str, element: Json) -> Problems:
    optional = {"initial_option", "initial_options", "placeholder", "confirm", "focus_on_load"}
    yield from _keys(at, element, {"options"}, optional)
    most = 100 if element.get("type") == "static_select" else 10
    options = element.get("options", ())
    if not 1 <= len(options) <= most:
        yield f"{at} must have 1 to {most} options"
    for number, option in enumerate(options):
        here = f"{at}.options[{number}]"
        yield from _text(f"{here}.text", option.get("text"), 75)
        yield from _string(f"{here}.value", option.get("value"), 150)
    if "placeholder" in element:
        yield from _plain(f"{at}.placeholder", element["placeholder"], 150)


def _text_input(at: str, element: Json) -> Problems:
    optional = {
        *("initial_value", "multiline", "min_length", "max_length"),
        *("dispatch_action_config", "focus_on_load", "placeholder"),
    }
    yield from _keys(at, element, set(), optional)
    if not 0 < element.get("max_length", TEXT) <= TEXT or element.get("min_length", 0) > element.get(
        "max_length", TEXT
    ):
        yield f"{at}: min_length and max_length do not fit"
    if "placeholder" in element:
        yield from _plain(f"{at}.placeholder", element["placeholder"], 150)


_BUTTONS: Mapping[str, Callable[[str, Json], Problems]] = {"button": _button}
_CHOICES = dict.fromkeys(("static_select", "radio_buttons", "checkboxes"), _choice)


# --------------------------------------------------------------------------------------------------------------- texts


def _text(at: str, text: Any, most: int) -> Problems:
    """A text object of either kind."""
    if not isinstance(text, Mapping):
        yield f"{at} is no text object"
        return
    kind = text.get("type")
    if kind not in ("mrkdwn", "plain_text"):
        yield f"{at}.type is {kind!r}"
    yield from _keys(at, text, {"text"}, {"verbatim"} if kind == "mrkdwn" else {"emoji"})
    yield from _string(f"{at}.text", text.get("text"), most)


def _plain(at: str, text: Any, most: int) -> Problems:
    if isinstance(text, Mapping) and text.get("type") != "plain_text":
        yield f"{at} must be plain_text"
    yield from _text(at, text, most)


def _string(at: str, value: Any, most: int, *, least: int = 1) -> Problems:
    """A string of `least` to `most` characters that is not blank and can be sent as UTF-8."""
    if not isinstance(value, str):
        yield f"{at} is no string"
        return
    if not least <= len(value) <= most or (least and not value.strip()):
        yield f"{at} has {len(value)} characters, not {least} to {most}, or is blank"
    if any(0xD800 <= ord(character) < 0xE000 for character in value):
        yield f"{at} has half a surrogate pair"


def _keys(at: str, value: Json, required: set[str], optional: set[str]) -> Problems:
    if missing := required - set(value):
        yield f"{at} lacks {sorted(missing)}"
    if unknown := set(value) - required - optional - {"type", "block_id", "action_id"}:
        yield f"{at} has unknown keys {sorted(unknown)}"
