"""Rows about sources, for lists of them: as declared, and what the index holds of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lore.declarations import Declaration, Declarations
    from lore.types import IndexSummary, SourceState

__all__ = ["source_rows"]


def source_rows(declarations: Declarations, summary: IndexSummary | None) -> list[dict[str, Any]]:
    """Return a row of JSON values for each declared source, then for those that are in the index alone."""
    states = summary.states if summary else {}
    declared: dict[str, Declaration | None] = {declaration.id: declaration for declaration in declarations.valid}
    declared |= {source_id: None for source_id in sorted(states) if source_id not in declared}
    rows: list[dict[str, Any]] = []
    for source_id, declaration in declared.items():
        state = states.get(source_id)
        counts = summary.counts.get(source_id) if summary else None
        rows.append(
            {
                "id": source_id,
                "kind": declaration.kind if declaration else None,
                "title": declaration.title if declaration else None,
                "schedule": declaration.schedule if declaration else None,
                "documents": counts.documents if counts else 0,
                "chunks": counts.chunks if counts else 0,
                "last_sync": state.synced_at.isoformat() if state and state.synced_at else None,
                "state": state.status if state else "never synced",
                "reason": state.report.get("reason", "") if state else "",
                "declared": declaration is not None,
                "duplicates": _duplicates(state),
                "lost_text": dict(state.report.get("lost_text") or {}) if state else {},
                "failures": [
                    {"document_id": failure.document_id, "reason": failure.reason}
                    for failure in (state.failures if state else ())
                ],
            }
        )
    return rows


def _duplicates(state: SourceState | None) -> dict[str, Any]:
    """Return the number of pages that the last sync left hidden, and the first of them with their originals."""
    report = (state.report.get("duplicates") if state else None) or {}
    return {"hidden": report.get("hidden", 0), "named": report.get("named", [])}
