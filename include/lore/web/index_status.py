"""The state of the index for those who run it: sources, versions, and the answers of a week."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from lore.web.access import refusal

if TYPE_CHECKING:
    from lore.records.records import Records
    from lore.settings import Settings

__all__ = ["IndexStatus", "MayRead", "make_index_routes"]

DAYS = 7
MOST_ANSWERS = 10_000
MOST_FAILURES = 50
"""Failed documents shown of a source; the page says how many more there are."""

MayRead: TypeAlias = Callable[[Request, Collection[str]], set[str]]
"""Returns which of these parts a caller may read: `source:ID`, `versions` and `answers`."""


class IndexStatus:
    """Reads the state of the index. Raises the errors of the stores and of the records."""

    def __init__(self, settings: Settings, records: Records | None) -> None:
        self._settings = settings
        self._records = records

    def sources(self) -> list[dict[str, Any]]:
        """Return a row for each source, with its failed documents."""
        from lore.declarations import load_declarations
        from lore.wiring.source_rows import source_rows
        from lore.wiring.stores import summarize_index

        declarations = load_declarations(self._settings.project.sources_dir)
        summary = summarize_index(self._settings, [declaration.id for declaration in declarations.valid])
        rows = source_rows(declarations, summary)
        return [{**row, "failed": len(row["failures"]), "failures": row["failures"][:MOST_FAILURES]} for row in rows]

    def versions(self) -> list[dict[str, Any]]:
        """Return the versions of the index with their contents and scores."""
        from lore.evaluation.versions import IndexVersions

        return [status.to_json() for status in IndexVersions(self._settings).all()]

    def answers(self) -> dict[str, Any] | None:
        """Return counts and cost of the answers of a week; None if they aren't recorded.

        `unpriced` is the number of answers with a call of unknown price; `cost`, in US dollars, is that of the others.
        """
        if self._records is None:
            return None
        rows = self._records.latest(MOST_ANSWERS, since=datetime.now(UTC) - timedelta(days=DAYS))
        seconds = sorted(row.seconds for row in rows if row.seconds is not None)
        return {
            "days": DAYS,
            "questions": len(rows),
            "not_found": sum(not row.found for row in rows),
            "helpful": sum(row.helpful for row in rows),
            "unhelpful": sum(row.unhelpful for row in rows),
            "median_seconds": round(seconds[len(seconds) // 2], 2) if seconds else None,
            "cost": round(sum(row.cost or 0.0 for row in rows), 4),
            "unpriced": sum(row.cost is None for row in rows),
        }


def make_index_routes(status: IndexStatus, may_read: MayRead) -> APIRouter:
    """Return the route of the page about the index. Each caller sees the parts that they may read."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/api/index", response_model=None)
    def read(request: Request) -> Response:
        sources = status.sources()
        parts = [f"source:{row['id']}" for row in sources]
        allowed = may_read(request, [*parts, "versions", "answers"])
        if not allowed:
            return refusal(403, "You may not read the state of the index.", "Ask whoever runs it.")
        return JSONResponse(
            {
                "sources": [row for row in sources if f"source:{row['id']}" in allowed],
                "versions": status.versions() if "versions" in allowed else None,
                "answers": status.answers() if "answers" in allowed else None,
            },
            headers={"Cache-Control": "no-store"},
        )

    return routes
