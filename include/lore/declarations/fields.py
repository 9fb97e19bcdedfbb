"""Types of the values in declarations; each error completes a sentence that starts with the key."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo

__all__ = ["Location", "Name", "Schedule", "WebAddress"]

PRESETS = ("@once", "@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
CRON_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
CRON_NAMES = {
    "month": ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    "weekday": ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}


def _schedule(value: str) -> str:
    if value.startswith("@"):
        if value not in PRESETS:
            raise ValueError(f"is an invalid schedule; the presets are {', '.join(PRESETS)}")
        return value
    parts = value.split()
    if len(parts) != len(CRON_FIELDS):
        raise ValueError('is an invalid schedule; write five cron fields, such as "30 4 * * *", or "@daily"')
    for part, (name, low, high) in zip(parts, CRON_FIELDS, strict=True):
        for item in part.split(","):
            if not _is_cron_item(item, low, high, CRON_NAMES.get(name, [])):
                raise ValueError(f"is an invalid schedule: {item!r} is an invalid {name} (cron takes {low} to {high})")
    return " ".join(parts)


def _is_cron_item(item: str, low: int, high: int, names: list[str]) -> bool:
    span, slash, step = item.partition("/")
    if slash and not (step.isascii() and step.isdigit() and int(step) > 0):
        return False
    if span == "*":
        return True
    bounds = [str(names.index(word) + low) if word in names else word for word in span.lower().split("-")]
    if len(bounds) > 2 or not all(bound.isascii() and bound.isdigit() for bound in bounds):
        return False
    numbers = [int(bound) for bound in bounds]
    return numbers == sorted(numbers) and low <= numbers[0] and numbers[-1] <= high


def _web_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s<>\"]", value):
        raise ValueError("is an invalid web address; it should start with https:// or http://")
    if parts.username is not None:
        raise ValueError("holds a user name or password; put secrets into a connection or a setting")
    if parts.query or parts.fragment:
        raise ValueError("should be a base address, without ? or #")
    return value.rstrip("/")


def _location(value: Path, info: ValidationInfo) -> Path:
    if value.parts[:1] and value.parts[0].startswith("~"):
        raise ValueError(
            "starts with ~, which isn't expanded; write an absolute path, or one relative to the declaration's folder"
        )
    folder: Path | None = (info.context or {}).get("folder")
    if folder is None and not value.is_absolute():
        raise ValueError("should be absolute, since there is no declaration file")
    return Path(os.path.abspath((folder or Path()) / value))  # noqa: PTH100 - `resolve` would follow links


Schedule: TypeAlias = Annotated[str, AfterValidator(_schedule)]
"""Five cron fields, or a preset such as "@daily"."""
WebAddress: TypeAlias = Annotated[str, AfterValidator(_web_address)]
"""A base address (http or https, no user name, query or fragment), without the slash at its end."""
Location: TypeAlias = Annotated[Path, AfterValidator(_location)]
"""An absolute path; in the file it may be relative to the declaration's folder."""
Name: TypeAlias = Annotated[str, Field(min_length=1)]
