"""What a check found, and how an error becomes a finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lore.errors import LoreError

Status: TypeAlias = Literal["ok", "warning", "problem", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check. `remedy` says what to do, and is empty where nothing has to be done."""

    name: str
    status: Status
    detail: str
    remedy: str = ""


def guarded(name: str, check: Callable[[], Finding]) -> Finding:
    """The check's finding; its error is a finding too."""
    try:
        return check()
    except LoreError as error:
        return Finding(name, "problem", error.message, error.remedy)
    except ImportError as error:
        return Finding(name, "problem", f"cannot be loaded: {error}", "Install the locked requirements: make install")
