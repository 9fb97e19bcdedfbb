"""The text of a secret setting, for the client that sends it."""

from __future__ import annotations

__all__ = ["secret"]


def secret(value: object) -> str | None:
    """Return the text of a secret setting, None if it isn't set."""
    from pydantic import SecretStr

    return value.get_secret_value() if isinstance(value, SecretStr) else None
