"""The syntax that a statement may have: a list of what reads, so that anything else is refused."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["refused_syntax"]

_ALLOWED = """
Select From Join Where Group Having Order Ordered Limit Offset Fetch LimitOptions With CTE Subquery Union Intersect
Except Table TableAlias Alias Column Identifier Star Literal Null Boolean Paren Tuple Between In Case If DataType
DataTypeParam Interval Var Window WindowSpec WithinGroup Filter Distinct Exists Any All Values Lateral Escape Collate
NamedWindow IgnoreNulls RespectNulls AtTimeZone Rollup Cube GroupingSets National IntervalSpan
"""
"""sqlglot's classes, apart from operators and functions."""
REFUSED = ("Dot", "Operator", "PropertyEQ", "JSONKeyValue", "Parameter", "Pragma")
"""Operators that reach into rows or other schemas."""
MESSAGES = {
    "Into": "it writes into a table or file (INTO)",
    "Lock": "it locks rows (FOR UPDATE or FOR SHARE)",
    "Insert": "it writes (INSERT)",
    "Update": "it writes (UPDATE)",
    "Delete": "it writes (DELETE)",
    "Merge": "it writes (MERGE)",
    "Command": "it is a command, not a question",
    "Placeholder": "it has a placeholder instead of a value",
    "Parameter": "it has a parameter instead of a value",
    "Dot": "it reads a field of a whole row",
    "Operator": "it names an operator of another schema",
}
REFUSED_TYPES = {"USERDEFINED", "OBJECT_IDENTIFIER", "UNKNOWN", "None"}
"""A type that isn't built in brings functions that aren't, either."""


def refused_syntax(tree: exp.Expression) -> Iterator[str]:
    """Yield a reason for each kind of syntax that isn't known to be harmless."""
    from sqlglot import exp

    refused, allowed = _classes()
    for node in tree.walk():
        name = type(node).__name__
        if isinstance(node, refused) or not isinstance(node, allowed):
            yield MESSAGES.get(name, f"it has unsupported syntax ({name})")
        if isinstance(node, exp.DataType) and (type(node) is not exp.DataType or _type_name(node) in REFUSED_TYPES):
            yield "it converts to a type that isn't built in"
        if isinstance(node, exp.Join) and node.method not in ("", "NATURAL"):
            yield f"it has an unsupported join ({node.method})"
        if isinstance(node, exp.Select) and (node.args.get("kind") or node.args.get("operation_modifiers")):
            yield "it has an unsupported kind of SELECT"


def _type_name(node: exp.DataType) -> str:
    return str(getattr(node.this, "value", node.this))


@cache
def _classes() -> tuple[tuple[type, ...], tuple[type, ...]]:
    from sqlglot import exp

    refused = tuple(getattr(exp, name) for name in REFUSED if hasattr(exp, name))
    allowed = tuple(getattr(exp, name) for name in _ALLOWED.split() if hasattr(exp, name))
    groups = (exp.Binary, exp.Unary, exp.Func, exp.JSONPathPart, exp.JSONPath)
    return refused, (*allowed, *groups)
