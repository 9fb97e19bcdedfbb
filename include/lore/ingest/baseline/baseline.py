"""Baselines: the documents of an index in a file, and a new index made of them without asking any source."""

from __future__ import annotations

from pathlib import Path

from lore.ingest.baseline.export import BaselineExport, ExportReport
from lore.ingest.baseline.importer import BaselineImport, ImportReport
from lore.ingest.report import Listener, silent
from lore.ingest.write.fingerprint import recipe_of
from lore.protocols import Embedder, Splitter, Store
from lore.redact.redactor import Redactor

__all__ = ["Baseline", "ExportReport", "ImportReport"]


class Baseline:
    """Writes an index into a file, and loads a file into an index."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        splitter: Splitter,
        *,
        staging_uri: str,
        lore_version: str = "",
        redactor: Redactor | None = None,
    ) -> None:
        redactor = redactor or Redactor()
        recipe = recipe_of(redactor.name)
        self._export = BaselineExport(store, embedder, splitter, recipe=recipe, lore_version=lore_version)
        self._import = BaselineImport(store, embedder, splitter, staging_uri=staging_uri, redactor=redactor)

    def export(
        self, path: Path, *, force: bool = False, vectors: bool = True, listener: Listener = silent
    ) -> ExportReport:
        """Write all documents, with the states of their sources, into one Parquet file; nothing is embedded.

        It may run beside syncs: states are read first, so that no cursor is ahead of its documents. Raises
        ConfigurationError when the index is empty or the file exists and `force` is not given, and StoreError.
        """
        return self._export.run(path, force=force, vectors=vectors, listener=listener)

    def load(self, path: Path, *, replacing: bool = False, listener: Listener = silent) -> ImportReport:
        """Load a file into the index; no source is asked, and what the file has the vectors of is not embedded.

        With `replacing` the file's sources take the place of the same ones in the index, and others stay. The whole
        file is checked before anything is written. When it is cut off, running it again completes it; until then
        these sources have no cursor. Raises ConfigurationError for a file that cannot be used or an index that is not
        empty, ModelError and StoreError.
        """
        return self._import.run(path, replacing=replacing, listener=listener)
