"""The prompts, one Markdown file each."""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from lore.prompts import read_prompt

__all__ = ["load_prompt", "prompt_version"]

VERSION_DIGITS = 12


def load_prompt(name: str) -> str:
    """The text of `name`.md beside this file, wherever the package is installed."""
    return read_prompt(__name__, name)


@cache
def prompt_version(name: str) -> str:
    """The beginning of the sha256 of a prompt's text, as hexadecimal digits: another text, another version."""
    return sha256(load_prompt(name).encode()).hexdigest()[:VERSION_DIGITS]
