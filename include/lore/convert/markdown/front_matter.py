"""Front matter: YAML between `---` or TOML between `+++` at the start of a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

__all__ = ["split_front_matter"]

MAX_LENGTH = 32 * 1024
MAX_BRACKETS = 500
"""More brackets aren't metadata, and YAML's parser takes quadratic time in their depth."""
MAX_DEPTH = 20

BLOCK = re.compile(
    r"\A(?P<fence>---|\+\+\+)[ \t]*\n(?P<body>.*?)(?:^|\n)(?P=fence)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
PLAIN_LINE = re.compile(r"(?P<key>[A-Za-z_][\w .-]*?)[ \t]*:(?:[ \t]+(?P<value>.*))?$")


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the metadata (JSON values only) and the rest of the text; ({}, text) without front matter."""
    match = BLOCK.match(text[: MAX_LENGTH + 8])
    if match is None:
        return {}, text
    body = match["body"]
    loaded = _load_toml(body) if match["fence"] == "+++" else _load_yaml(body)
    if loaded is None:
        return {}, text
    return {str(key): _to_json(value) for key, value in loaded.items()}, text[match.end() :].lstrip("\n")


def _load_toml(body: str) -> Mapping[Any, Any] | None:
    import tomllib

    try:
        return tomllib.loads(body)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _load_yaml(body: str) -> Mapping[Any, Any] | None:
    """Return the mapping, or None for other text that looks like front matter, such as a rule above a paragraph."""
    import yaml

    if body.count("[") + body.count("{") > MAX_BRACKETS:
        return None
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(body, Loader=yaml.SafeLoader)):
            return _load_lines(body)  # aliases let a few lines expand to billions
        loaded = yaml.safe_load(body)
    except (yaml.YAMLError, ValueError, RecursionError):
        return _load_lines(body)
    if loaded is None:
        return {}
    return loaded if isinstance(loaded, dict) else None


def _load_lines(body: str) -> Mapping[Any, Any] | None:
    """Read `key: value` lines one by one: authors write values that YAML rejects, such as `title: Lore: a guide`."""
    found: dict[str, str] = {}
    for line in body.splitlines():
        if not line.strip() or line.startswith((" ", "\t", "#", "-", "]", "}")):
            continue
        match = PLAIN_LINE.match(line)
        if match is None:
            return None
        if match["value"]:
            found[match["key"]] = match["value"].strip().strip("\"'")
    return found or None


def _to_json(value: Any, depth: int = 0) -> Any:
    if isinstance(value, int) and value.bit_length() > 63:
        return hex(value)  # other JSON readers can't read it, and str() rejects the longest numbers
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)  # JSON has no NaN and no infinity
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if depth >= MAX_DEPTH:
        return str(type(value).__name__)
    if isinstance(value, Mapping):
        return {str(key): _to_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_to_json(item, depth + 1) for item in value]
    return str(value)
