"""Findings: the outcome of a check, or the error that it raised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lore.errors import LoreError

Status: TypeAlias = Literal["ok", "warning", "problem", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check. `remedy` says what to do; it is empty if there is nothing to do."""

    name: str
    status: Status
    detail: str
    remedy: str = ""


def guarded(name: str, check: Callable[[], Finding]) -> Finding:
    """Return the check's finding, or its error as one."""
    try:
        return check()
    except LoreError as error:
        return Finding(name, "problem", error.message, error.remedy)
    except ImportError as error:
        return Finding(name, "problem", f"cannot be loaded: {error}", "Install the locked requirements: make install")
