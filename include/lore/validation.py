"""Words for what pydantic finds wrong with a value: each completes a sentence that starts with the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["explain_error"]

REASONS = {
    "missing": "is missing",
    "bool": "should be true or false",
    "int": "should be a whole number",
    "float": "should be a number",
    "finite_number": "should be a finite number",
    "string_type": "should be text",
    "string_sub_type": "should be text",
    "string_unicode": "should be text in UTF-8",
    "string_too_short": "should have at least {min_length} characters",
    "string_too_long": "should have at most {max_length} characters",
    "string_pattern_mismatch": "should match the pattern {pattern}",
    "greater_than": "should be greater than {gt:,.15g}",
    "greater_than_equal": "should be {ge:,.15g} or more",
    "less_than": "should be less than {lt:,.15g}",
    "less_than_equal": "should be {le:,.15g} or less",
    "multiple_of": "should be a multiple of {multiple_of:,.15g}",
    "literal_error": "should be {expected}",
    "enum": "should be {expected}",
    "date": "should be a date such as 2026-11-30",
    "datetime": "should be a time such as 2026-11-30T08:00Z",
    "tuple_type": "should be a list",
    "list_type": "should be a list",
    "set_type": "should be a list",
    "dict_type": "should be a mapping of keys to values",
    "model_type": "should be a mapping of keys to values",
    "model_attributes_type": "should be a mapping of keys to values",
    "path_type": "should be a path",
    "too_short": "should have at least {min_length} entries",
    "too_long": "should have at most {max_length} entries",
    "url": "should be a web address",
}
"""By pydantic's type of an error, or the beginning of it up to an underscore."""


def explain_error(item: ErrorDetails) -> str:
    """Return the reason as the rest of a sentence: "should be a whole number". The value is never repeated."""
    kind, context = item["type"], item.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    reason = REASONS.get(kind) or REASONS.get(kind.partition("_")[0], "is invalid")
    try:
        return _one_entry(reason.format(**context))
    except (KeyError, ValueError):  # pydantic gives a bound as text for some types
        return "is invalid"


def _one_entry(reason: str) -> str:
    for noun in ("entries", "characters"):
        if reason.endswith(f" 1 {noun}"):
            return reason.removesuffix(noun) + {"entries": "entry", "characters": "character"}[noun]
    return reason
