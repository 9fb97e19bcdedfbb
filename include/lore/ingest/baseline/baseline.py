"""Baselines: the documents of an index in a file, and a new index made from them without reading any source."""

from __future__ import annotations

from pathlib import Path

from lore.ingest.baseline.export import BaselineExport, ExportReport
from lore.ingest.baseline.importer import BaselineImport, ImportReport
from lore.ingest.report import ProgressCallback, no_progress
from lore.ingest.write.fingerprint import document_recipe
from lore.protocols import Embedder, Splitter, Store
from lore.redact.redactor import Redactor

__all__ = ["Baseline", "ExportReport", "ImportReport"]


class Baseline:
    """Exports an index into a file, and imports a file into an index."""

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
        recipe = document_recipe(redactor.name)
        self._export = BaselineExport(store, embedder, splitter, recipe=recipe, lore_version=lore_version)
        self._import = BaselineImport(store, embedder, splitter, staging_uri=staging_uri, redactor=redactor)

    def export(
        self, path: Path, *, force: bool = False, vectors: bool = True, on_progress: ProgressCallback = no_progress
    ) -> ExportReport:
        """Write all documents, with the states of their sources, into one Parquet file; nothing is embedded.

        It may run beside syncs: states are read first, so that no cursor is ahead of its documents. Raises
        ConfigurationError if the index is empty, or if the file exists and `force` is False; and StoreError.
        """
        return self._export.run(path, force=force, vectors=vectors, on_progress=on_progress)

    def load(self, path: Path, *, replacing: bool = False, on_progress: ProgressCallback = no_progress) -> ImportReport:
        """Load a file into the index; no source is read, and passages with a vector in the file aren't embedded.

        With `replacing`, the file's sources replace the same ones in the index; others stay. The whole file is checked
        before anything is written. If the import is cut off, running it again completes it; until then these sources
        have no cursor. Raises ConfigurationError for an unusable file or an index with other documents, ModelError and
        StoreError.
        """
        return self._import.run(path, replacing=replacing, on_progress=on_progress)
