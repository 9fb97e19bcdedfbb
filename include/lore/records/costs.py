"""Costs of model calls, summed by day, model or stage."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sqlalchemy import BigInteger, cast, func, select

from lore.records.engine import explained, reading
from lore.records.entries import Cost
from lore.records.tables import answers, calls

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Engine

__all__ = ["Grouping", "costs", "spent"]

Grouping: TypeAlias = Literal["day", "model", "stage"]


def costs(engine: Engine, by: Grouping, since: datetime | None = None) -> list[Cost]:
    """Return a `Cost` for each day (UTC, oldest first), model or stage (most expensive first). Days include questions
    without a call. Raises RecordsError.
    """
    key = _day(engine) if by == "day" else calls.c[by]
    query = (
        select(
            key.label("key"),
            func.count(func.distinct(answers.c.id)).label("questions"),
            func.count(calls.c.ordinal).label("calls"),
            _sum(calls.c.input_tokens).label("input_tokens"),
            _sum(calls.c.output_tokens).label("output_tokens"),
            func.coalesce(func.sum(calls.c.cost), 0.0).label("cost"),
            (func.count(calls.c.ordinal) - func.count(calls.c.cost)).label("unpriced"),
        )
        .select_from(answers.join(calls, isouter=by == "day"))
        .group_by(key)
    )
    if since is not None:
        query = query.where(answers.c.asked_at >= since)
    with explained("read"), reading(engine) as connection:
        found = [Cost(**row) for row in connection.execute(query).mappings()]
    return sorted(found, key=lambda cost: cost.key if by == "day" else (-cost.cost, cost.key))


def spent(engine: Engine, since: datetime) -> float:
    """Return the US dollars that the calls since a moment cost, as far as prices are known. Raises RecordsError."""
    query = select(func.sum(calls.c.cost)).select_from(answers.join(calls)).where(answers.c.asked_at >= since)
    with explained("read"), reading(engine) as connection:
        return float(connection.execute(query).scalar() or 0.0)


def _sum(tokens: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(tokens), 0), BigInteger)  # PostgreSQL sums into a decimal number


def _day(engine: Engine) -> ColumnElement[Any]:
    if engine.dialect.name == "postgresql":
        return func.to_char(func.timezone("UTC", answers.c.asked_at), "YYYY-MM-DD")
    return func.date(answers.c.asked_at)
