"""The export of a baseline: the documents of an index in a file.

What a later sync skips is decided by fingerprints and cursors, so a file must not carry one that says more than is
true. A fingerprint goes out only for a document that was kept at it before and after it was read; a source's cursor
only when that holds for all its documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore.errors import ConfigurationError
from lore.ingest.baseline.parquet_file import FORMAT, BaselineWriter, Header, writing
from lore.ingest.baseline.row import Row, passages
from lore.ingest.report import Listener, silent
from lore.protocols import Embedder, Splitter, Store
from lore.types import Document, SourceState

if TYPE_CHECKING:
    from lore.types import Matrix, Vector

__all__ = ["BaselineExport", "ExportReport"]

GROUP_DOCUMENTS = 64
GROUP_CHARACTERS = 4_000_000


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written. `unsettled` counts, by source, the documents that changed meanwhile: after an import the next
    sync makes them anew, and reads their source from its start.
    """

    documents: int
    sources: Mapping[str, int]
    unsettled: Mapping[str, int]
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return asdict(self)


class BaselineExport:
    """Writes an index into a file. `recipe` names the converter by which the documents were made."""

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
        listener: Listener = silent,
    ) -> ExportReport:
        """See `Baseline.export`."""
        states = dict(self._store.states())
        total = self._store.count().documents
        if not total:
            raise ConfigurationError("The index is empty: there is nothing to export.", remedy="Run: lore sync --all")
        seen = _Seen({source_id: self._store.document_fingerprints(source_id) for source_id in states})
        with writing(path, force=force) as file, BaselineWriter(file) as writer:
            for group in _groups(self._store.documents()):
                for row in self._rows(group, seen, vectors):
                    writer.add(row)
                listener(seen.total, total)
            header = self._header(states, seen)
            writer.finish(header)
        unsettled = {source_id: len(ids) for source_id, ids in header.unsettled.items()}
        return ExportReport(header.documents, header.sources, unsettled, path.stat().st_size)

    def _rows(self, documents: Sequence[Document], seen: _Seen, with_vectors: bool) -> Iterator[Row]:
        marks = {document.id: seen.add(document) for document in documents}
        split = {document.id: passages(self._splitter, document, marks[document.id]) for document in documents}
        hashes = [chunk.content_hash for chunks in split.values() for chunk in chunks]
        known = self._store.vectors_for(hashes) if with_vectors and hashes else {}
        for document in documents:
            chunks = split[document.id]
            complete = with_vectors and all(chunk.content_hash in known for chunk in chunks)
            matrix = self._matrix([known[chunk.content_hash] for chunk in chunks]) if complete else None
            yield Row(document, marks[document.id], matrix)

    def _matrix(self, vectors: Sequence[Vector]) -> Matrix:
        import numpy as np

        matrix: Matrix = np.array(vectors, dtype=np.float32).reshape(-1, self._embedder.dimensions)
        return matrix

    def _header(self, states: Mapping[str, SourceState], seen: _Seen) -> Header:
        unsettled = {
            source_id: seen.unsettled(source_id, self._store.document_fingerprints(source_id)) for source_id in seen.ids
        }
        unsettled = {source_id: ids for source_id, ids in unsettled.items() if ids}
        return Header(
            format=FORMAT,
            lore_version=self._lore_version,
            created_at=datetime.now(UTC).isoformat(),
            converter=self._recipe,
            splitter=self._splitter.name,
            embedder=self._embedder.name,
            dimensions=self._embedder.dimensions,
            documents=seen.total,
            sources={source_id: len(ids) for source_id, ids in seen.ids.items()},
            states={
                source_id: replace(state, cursor=None) if source_id in unsettled else state
                for source_id, state in states.items()
            },
            unsettled=unsettled,
        )


@dataclass(slots=True)
class _Seen:
    """What an export went through: the fingerprints before it, and the ids exported."""

    before: Mapping[str, Mapping[str, str]]
    ids: dict[str, list[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(map(len, self.ids.values()))

    def add(self, document: Document) -> str:
        """Note a document; returns the fingerprint that it was kept at before the export, "" for a new one."""
        self.ids.setdefault(document.source_id, []).append(document.id)
        return self.before.get(document.source_id, {}).get(document.id, "")

    def unsettled(self, source_id: str, after: Mapping[str, str]) -> list[str]:
        """The documents of a source that were not the same before and after they were read."""
        before = self.before.get(source_id, {})
        return [name for name in self.ids[source_id] if not before.get(name) or before[name] != after.get(name)]


def _groups(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """The documents in handfuls of a bounded number and size."""
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
