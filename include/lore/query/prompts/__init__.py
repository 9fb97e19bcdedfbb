"""The prompts, one Markdown file each."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["load_prompt"]


@cache
def load_prompt(name: str) -> str:
    """The text of `name`.md beside this file, wherever the package is installed."""
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
