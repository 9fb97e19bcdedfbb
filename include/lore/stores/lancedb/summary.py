"""A summary of an index beside its tables: the states and counts of its sources, read without loading LanceDB.

Loading LanceDB takes longer than listing the sources. Each saved state writes the summary, together with the names of
the tables' commits; it is ignored as soon as a table has other commits.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from lore.errors import StoreError
from lore.stores.manifest import IndexManifest
from lore.stores.values import state_json, to_state
from lore.types import Counts, IndexSummary, IndexVersion, SourceState

if TYPE_CHECKING:
    from lore.stores.lancedb.folder import VersionTables

__all__ = ["read_summary", "save_summary"]

MANIFEST_FILE = "manifest.json"
SUMMARY_FILE = "summary.json"


def read_summary(folder: Path, choices: Mapping[str, object], schema: int) -> IndexSummary | None:
    """Return the summary of the version made by these choices, None if there is none or it is outdated."""
    try:
        manifest = IndexManifest.from_json((folder / MANIFEST_FILE).read_text(encoding="utf-8"), f"in {folder}")
        version = manifest.version(manifest.live)
        if version.schema != schema or any(version.recipe.choices.get(name) != choices[name] for name in choices):
            return None
        values = json.loads((folder / SUMMARY_FILE).read_text(encoding="utf-8"))
        if values["commits"] != _commits(folder, version):
            return None
        states = (to_state(text) for text in values["states"])
        return IndexSummary(
            {state.source_id: state for state in states},
            {source_id: Counts(*counts) for source_id, counts in values["counts"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StoreError):
        return None


def save_summary(folder: Path, version: IndexVersion, tables: VersionTables, states: Mapping[str, SourceState]) -> None:
    """Save the summary of a version, if the folder can be written. Hold the write lock."""
    values = {
        "commits": _commits(folder, version),
        "states": [state_json(state) for state in states.values()],
        "counts": {source_id: astuple(counts) for source_id, counts in _counts(tables).items()},
    }
    with suppress(OSError), NamedTemporaryFile("w", dir=folder, prefix=SUMMARY_FILE, delete=False) as file:
        try:
            file.write(json.dumps(values))
            file.close()
            Path(file.name).replace(folder / SUMMARY_FILE)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _counts(tables: VersionTables) -> dict[str, Counts]:
    import pyarrow.compute as pc

    from lore.stores.lancedb.tables import NOT_BLANK, select

    chunks = {
        group["values"]: group["counts"]
        for group in pc.value_counts(select(tables.chunks, ["source_id"], NOT_BLANK)["source_id"]).to_pylist()
    }
    documents = select(tables.indexed, ["source_id", "chunk_count"], None)
    sums = documents.group_by("source_id").aggregate([("chunk_count", "count"), ("chunk_count", "sum")]).to_pylist()
    return {
        group["source_id"]: Counts(
            group["chunk_count_count"], chunks.get(group["source_id"], 0), group["chunk_count_sum"]
        )
        for group in sums
    }


def _commits(folder: Path, version: IndexVersion) -> dict[str, Any]:
    """Return the names of the commits of the version's tables, which change with each write."""
    tables = ("state", "documents", f"marks_{version.number}", f"chunks_{version.number}")
    return {"version": version.number, "created_at": version.created_at.isoformat()} | {
        table: sorted(os.listdir(folder / f"{table}.lance" / "_versions"))  # noqa: PTH208 - names only
        for table in tables
    }
