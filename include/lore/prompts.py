"""Reader of prompts, which are Markdown files beside the code that sends them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["read_prompt"]


@cache
def read_prompt(package: str, name: str) -> str:
    """Return the text of `name`.md in a package of prompts, wherever Lore is installed."""
    return files(package).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
