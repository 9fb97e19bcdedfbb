"""Detection of recursive statements that nothing ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["endless_recursion"]

MAX_STEPS = 100_000


def endless_recursion(tree: exp.Expression) -> Iterator[str]:
    """Yield a reason for each recursive CTE without an end.

    It ends if its recursive term counts a column up (down) under a condition with a number above (below), or if UNION
    drops repeated rows and the term returns only columns and constants, of which there are finitely many.
    """
    from sqlglot import exp

    for cte in tree.find_all(exp.CTE):
        name = cte.alias.lower()
        calls = [table for table in cte.this.find_all(exp.Table) if table.name.lower() == name and not table.db]
        if not calls:
            continue
        union = cte.this
        reason = f"the recursion of {name[:60]} has no end: count a column up to a number, or write UNION without ALL"
        if type(union) is not exp.Union or len(calls) != 1 or not isinstance(union.expression, exp.Select):
            yield reason
            continue
        term = union.expression
        if _counts(term, _column_names(cte, union)):
            continue
        plain = all(isinstance(item.unalias(), (exp.Column, exp.Literal, exp.Null)) for item in term.expressions)
        if not (union.args.get("distinct") and plain):
            yield reason


def _column_names(cte: exp.Expression, union: exp.Expression) -> list[str]:
    named = [str(column.name) for column in (cte.args["alias"].args.get("columns") or ())]
    return [name.lower() for name in named or union.this.named_selects]


def _counts(term: exp.Select, names: list[str]) -> bool:
    """Return True if a condition that every row meets stops a counter."""
    from sqlglot import exp

    where = term.args.get("where")
    conditions = (
        list(where.this.flatten()) if where and isinstance(where.this, exp.And) else [where.this] if where else []
    )
    ways: dict[type, type[exp.Binary]] = {exp.LT: exp.Add, exp.LTE: exp.Add, exp.GT: exp.Sub, exp.GTE: exp.Sub}
    for condition in conditions:
        step = ways.get(type(condition))
        if step is None or not isinstance(condition.this, exp.Column) or not _number(condition.expression):
            continue
        counter = condition.this.name.lower()
        if counter not in names or names.index(counter) >= len(term.expressions):
            continue
        change: Any = term.expressions[names.index(counter)].unalias()
        same = isinstance(change, step) and isinstance(change.this, exp.Column) and change.this.name.lower() == counter
        if same and _number(change.expression, least=1):
            return True
    return False


def _number(value: exp.Expression, least: int = 0) -> bool:
    from sqlglot import exp

    plain = isinstance(value, exp.Literal) and not value.is_string and value.this.isdigit()
    return plain and least <= int(value.this) <= MAX_STEPS
