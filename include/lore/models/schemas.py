"""Pydantic models as JSON schemas for language models, and the parsing of their replies."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any, TypeVar

from lore.errors import ModelError
from lore.validation import explain_error

__all__ = ["first_object", "strict_schema", "validated"]

Schema = TypeVar("Schema")

JSON_ATTEMPTS = 20
_TRAILING_COMMA = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|(,\s*)([}\]])")
"""A string, which stays, or a comma before a closing bracket."""


def strict_schema(schema: Any) -> Any:
    """The JSON schema for strict modes: every property required, no others allowed, no defaults."""
    if isinstance(schema, list):
        return [strict_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: strict_schema(value) for key, value in schema.items() if key != "default"}
    if isinstance(strict.get("properties"), dict):
        # A property may itself be called "default", so the names come from the original.
        strict["properties"] = {name: strict_schema(value) for name, value in schema["properties"].items()}
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    return strict


def first_object(text: str) -> Any:
    """The first JSON object in a text, even after words or inside a code fence; None if there is none.

    Commas before a closing bracket are forgiven.
    """
    decoder = json.JSONDecoder()
    text = _TRAILING_COMMA.sub(lambda match: match[0] if match[1] is None else match[2], text)
    for opening in islice(re.finditer(r"\{", text), JSON_ATTEMPTS):
        try:
            return decoder.raw_decode(text, opening.start())[0]
        except (ValueError, RecursionError):
            continue
    return None


def validated(value: Any, schema: type[Schema], name: str) -> Schema:
    """The value as an instance of `schema`. Raises ModelError that names the model if it does not fit."""
    from pydantic import ValidationError

    if value is None:
        raise ModelError(f"{name} returned no JSON object.", retryable=True)
    try:
        return schema.model_validate(value)  # type: ignore[attr-defined, no-any-return]
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'the reply'} {explain_error(item)}" for item in error.errors()
        )
        raise ModelError(f"{name} returned JSON that does not fit the schema: {wrong[:300]}.", retryable=True) from None
