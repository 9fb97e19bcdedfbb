"""Prompts of the query module, one Markdown file each."""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from lore.prompts import read_prompt

__all__ = ["load_prompt", "prompt_version"]

VERSION_DIGITS = 12


def load_prompt(name: str) -> str:
    """Return the text of `name`.md in this folder."""
    return read_prompt(__name__, name)


@cache
def prompt_version(name: str) -> str:
    """Return the first 12 hexadecimal digits of the sha256 of a prompt's text."""
    return sha256(load_prompt(name).encode()).hexdigest()[:VERSION_DIGITS]
