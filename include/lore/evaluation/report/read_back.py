"""Dataclasses read back from the JSON of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from lore.errors import ConfigurationError

__all__ = ["read_back"]

Report = TypeVar("Report")


def read_back(kind: type[Report], values: Mapping[str, Any], *, called: str, remedy: str) -> Report:
    """Return the dataclass with these JSON values as fields. Raises ConfigurationError, which names it as `called` and
    the first mistake.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise ConfigurationError(f"Invalid {called}: {where}: {first['msg']}.", remedy=remedy) from None
