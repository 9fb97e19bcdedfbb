"""Prompts are Markdown files that lie beside the code that sends them; this is how each part reads its own."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["read_prompt"]


@cache
def read_prompt(package: str, name: str) -> str:
    """The text of `name`.md in a package of prompts, wherever Lore is installed."""
    return files(package).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
