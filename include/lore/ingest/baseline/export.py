"""The export of a baseline: the documents of an index in a file.

Fingerprints and cursors decide what a later sync skips, so the file must not claim more than is true. A document gets
its fingerprint only if it had it both before and after it was read. A source gets its cursor only if all its documents
have theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore.errors import ConfigurationError
from lore.ingest.baseline.parquet_file import FORMAT, BaselineHeader, BaselineWriter, atomic_file
from lore.ingest.baseline.row import BaselineRow, passages
from lore.ingest.report import ProgressCallback, no_progress
from lore.protocols import Embedder, Splitter, Store
from lore.types import Document, SourceState

if TYPE_CHECKING:
    from lore.types import Matrix, Vector

__all__ = ["BaselineExport", "ExportReport"]

GROUP_DOCUMENTS = 64
GROUP_CHARACTERS = 4_000_000


@dataclass(frozen=True, slots=True)
class ExportReport:
    """Documents written, by source, and the size of the file.

    `unsettled` counts the documents that changed meanwhile: after an import, the next sync reads their source from its
    start and makes them again.
    """

    documents: int
    sources: Mapping[str, int]
    unsettled: Mapping[str, int]
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)


class BaselineExport:
    """Writes an index into a file. `recipe` names the converter that made the documents."""

    def __init__(
        self, store: Store, embedder: Embedder, splitter: Splitter, *, recipe: str, lore_version: str = ""
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._splitter = splitter
        self._recipe = recipe
        self._lore_version = lore_version

    def run(
        self,
        path: Path,
        *,
        force: bool = False,
        vectors: bool = True,
        on_progress: ProgressCallback = no_progress,
    ) -> ExportReport:
        """See `Baseline.export`."""
        states = dict(self._store.states())
        total = self._store.count().documents
        if not total:
            raise ConfigurationError("The index is empty: nothing to export.", remedy="Run: lore sync --all")
        exported = _ExportedDocuments({source_id: self._store.document_fingerprints(source_id) for source_id in states})
        with atomic_file(path, force=force) as file, BaselineWriter(file) as writer:
            for group in _groups(self._store.documents()):
                for row in self._rows(group, exported, vectors):
                    writer.add(row)
                on_progress(exported.total, total)
            header = self._header(states, exported)
            writer.finish(header)
        unsettled = {source_id: len(ids) for source_id, ids in header.unsettled.items()}
        return ExportReport(header.documents, header.sources, unsettled, path.stat().st_size)

    def _rows(
        self, documents: Sequence[Document], exported: _ExportedDocuments, with_vectors: bool
    ) -> Iterator[BaselineRow]:
        fingerprints = {document.id: exported.add(document) for document in documents}
        split = {document.id: passages(self._splitter, document, fingerprints[document.id]) for document in documents}
        hashes = [chunk.content_hash for chunks in split.values() for chunk in chunks]
        known = self._store.vectors_for(hashes) if with_vectors and hashes else {}
        for document in documents:
            chunks = split[document.id]
            complete = with_vectors and all(chunk.content_hash in known for chunk in chunks)
            matrix = self._matrix([known[chunk.content_hash] for chunk in chunks]) if complete else None
            yield BaselineRow(document, fingerprints[document.id], matrix)

    def _matrix(self, vectors: Sequence[Vector]) -> Matrix:
        import numpy as np

        matrix: Matrix = np.array(vectors, dtype=np.float32).reshape(-1, self._embedder.dimensions)
        return matrix

    def _header(self, states: Mapping[str, SourceState], exported: _ExportedDocuments) -> BaselineHeader:
        unsettled = {
            source_id: exported.unsettled(source_id, self._store.document_fingerprints(source_id))
            for source_id in exported.ids
        }
        unsettled = {source_id: ids for source_id, ids in unsettled.items() if ids}
        return BaselineHeader(
            format=FORMAT,
            lore_version=self._lore_version,
            created_at=datetime.now(UTC).isoformat(),
            converter=self._recipe,
            splitter=self._splitter.name,
            embedder=self._embedder.name,
            dimensions=self._embedder.dimensions,
            documents=exported.total,
            sources={source_id: len(ids) for source_id, ids in exported.ids.items()},
            states={
                source_id: replace(state, cursor=None) if source_id in unsettled else state
                for source_id, state in states.items()
            },
            unsettled=unsettled,
        )


@dataclass(slots=True)
class _ExportedDocuments:
    """The ids that an export has written, and the fingerprints before it."""

    before: Mapping[str, Mapping[str, str]]
    ids: dict[str, list[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(map(len, self.ids.values()))

    def add(self, document: Document) -> str:
        """Add a document; returns its fingerprint before the export, "" for a new one."""
        self.ids.setdefault(document.source_id, []).append(document.id)
        return self.before.get(document.source_id, {}).get(document.id, "")

    def unsettled(self, source_id: str, after: Mapping[str, str]) -> list[str]:
        """Return the documents of a source whose fingerprint changed while they were read."""
        before = self.before.get(source_id, {})
        return [name for name in self.ids[source_id] if not before.get(name) or before[name] != after.get(name)]


def _groups(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Yield the documents in groups of bounded number and size."""
    group: list[Document] = []
    characters = 0
    for document in documents:
        group.append(document)
        characters += len(document.text)
        if len(group) >= GROUP_DOCUMENTS or characters >= GROUP_CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group
