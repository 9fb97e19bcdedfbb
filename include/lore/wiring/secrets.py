"""A key's text, for the client that sends it and nobody else."""

from __future__ import annotations

__all__ = ["secret"]


def secret(value: object) -> str | None:
    """The text of a secret setting, None where it is not set."""
    from pydantic import SecretStr

    return value.get_secret_value() if isinstance(value, SecretStr) else None
