"""The limit of a statement's rows: the statement's own if it is a small number, else ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["with_limit"]


def with_limit(tree: exp.Expression, rows: int) -> exp.Expression:
    """Return the statement with a limit of at most `rows` rows; a limit that isn't a plain number is replaced."""
    from sqlglot import exp

    limit = tree.args.get("limit")
    value = limit.expression if isinstance(limit, exp.Limit) else None
    if isinstance(limit, exp.Fetch) and not limit.args.get("limit_options"):
        value = limit.args.get("count")
    if isinstance(value, exp.Literal) and not value.is_string and value.this.isdigit() and int(value.this) <= rows:
        return tree
    changed = tree.copy()
    changed.set("limit", exp.Limit(expression=exp.Literal.number(rows)))
    return changed
