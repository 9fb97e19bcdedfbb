"""The prompts, one Markdown file each."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files

__all__ = ["load_prompt", "prompt_version"]

VERSION_DIGITS = 12


@cache
def load_prompt(name: str) -> str:
    """The text of `name`.md beside this file, wherever the package is installed."""
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()


@cache
def prompt_version(name: str) -> str:
    """The beginning of the sha256 of a prompt's text, as hexadecimal digits: another text, another version."""
    return sha256(load_prompt(name).encode()).hexdigest()[:VERSION_DIGITS]
