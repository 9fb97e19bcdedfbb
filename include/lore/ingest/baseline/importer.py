"""The import of a baseline: a new index made from the documents in a file, without reading any source.

Fingerprints and cursors are imported only if the file's converter is the present one: a document that another converter
made must not count as unchanged. The converter's name includes its redaction; documents of another one are redacted
before they are stored. Passages are made by the splitter and embedder of the index.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore.errors import ConfigurationError, StoreError
from lore.ingest.baseline.parquet_file import BaselineFile, BaselineHeader
from lore.ingest.baseline.row import BaselineRow, passages
from lore.ingest.extract.staging import source_lock
from lore.ingest.finish.visibility import as_hidden, as_shown, is_hidden
from lore.ingest.report import ProgressCallback, no_progress
from lore.ingest.strategies.strategy import with_strategy
from lore.ingest.write.fingerprint import document_recipe
from lore.ingest.write.writer import EntryWriter
from lore.protocols import Embedder, Splitter, Store
from lore.redact.redactor import Redactor
from lore.types import Chunk, SourceState

if TYPE_CHECKING:
    from lore.types import Matrix, Vector

__all__ = ["BaselineImport", "ImportReport"]

UNFINISHED = "The import of a baseline did not finish; run it again."
IMPORTED = "imported:"
"""Beginning of the fingerprint of a document that the next sync must make again: no computed one begins so."""
BASIC = ""
"""Strategy of imported passages; if a source declares another one, its next sync makes them again."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Documents by outcome, and chunks. `cursors` names the sources whose next sync continues from their cursor."""

    documents: int
    written: int
    unchanged: int
    removed: int
    chunks: int
    embedded_texts: int
    sources: Mapping[str, int]
    cursors: tuple[str, ...]
    same_converter: bool

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)


class BaselineImport:
    """Loads a file into an index."""

    def __init__(
        self, store: Store, embedder: Embedder, splitter: Splitter, *, staging_uri: str, redactor: Redactor
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._splitter = splitter
        self._staging_uri = staging_uri
        self._redactor = redactor
        self._recipe = document_recipe(redactor.name)

    def run(self, path: Path, *, replacing: bool = False, on_progress: ProgressCallback = no_progress) -> ImportReport:
        """See `Baseline.load`."""
        with BaselineFile.open(path) as file, ExitStack() as locks:
            file.check()
            header = file.header
            for source_id in sorted(header.sources):
                locks.enter_context(source_lock(self._staging_uri, source_id))
            if not replacing:
                self._refuse_others(header)
            report = {"status": "failed", "reason": UNFINISHED, "baseline": header.digest}
            for source_id in header.sources:
                self._store.save_state(SourceState(source_id, status="failed", report=report))
            result = self._load(file, on_progress)
            for source_id in header.sources:
                self._store.save_state(self._state(header, source_id))
            return result

    def _refuse_others(self, header: BaselineHeader) -> None:
        """Raise ConfigurationError if the index holds anything but (a part of) this baseline."""

        def is_ours(state: SourceState) -> bool:
            then = header.states.get(state.source_id)  # a later sync would have left another time
            untouched = state.synced_at is None or (then is not None and state.synced_at == then.synced_at)
            return untouched and state.report.get("baseline") == header.digest

        states = self._store.states()
        total = self._store.count().documents
        ours = [source_id for source_id, state in states.items() if is_ours(state)]
        if sum(self._store.count(source_id).documents for source_id in ours) == total:
            return
        held = [source_id for source_id in sorted(states) if source_id not in ours]
        names = ", ".join(held) or "documents of a source whose first sync did not finish"
        raise ConfigurationError(
            f"The index is not empty: it holds {total} documents ({names}).",
            remedy="Set LORE_INDEX_URI (or LORE_WEAVIATE_PREFIX) to a new index. Or give --replace: the file's sources "
            "then replace those in the index, and other sources stay.",
        )

    def _load(self, file: BaselineFile, on_progress: ProgressCallback) -> ImportReport:
        header = file.header
        same_converter = header.converter == self._recipe
        embedder = BaselineEmbedder(self._embedder)
        indexed = {source_id: self._store.fingerprints(source_id) for source_id in header.sources}
        unsettled = {document_id for ids in header.unsettled.values() for document_id in ids}
        gone = {source_id: set(fingerprints) for source_id, fingerprints in indexed.items()}
        unchanged = 0

        def report(embedded: int, _: int = 0) -> None:
            on_progress(unchanged + embedded, header.documents)

        writer = EntryWriter(self._store, embedder, on_progress=report)
        for row in file.rows():
            document = row.document if same_converter else self._redactor.document(row.document)
            trusted = same_converter and document.id not in unsettled
            as_before = as_hidden if is_hidden(row.fingerprint) and document.id not in unsettled else as_shown
            wanted = with_strategy((trusted and row.fingerprint) or as_before(self._untrusted(row)), BASIC)
            gone[document.source_id].discard(document.id)
            if with_strategy(indexed[document.source_id].get(document.id, ""), BASIC) == wanted:
                unchanged += 1
                report(len(writer.written))
            else:
                chunks = passages(self._splitter, document, wanted)
                if document == row.document and header.splitter == self._splitter.name and self._same_space(header):
                    embedder.learn(chunks, row.vectors)
                writer.add(document, wanted, chunks)
            embedder.forget(writer.chunks)
        writer.flush()
        removed = sum(self._store.delete(source_id, sorted(ids)) for source_id, ids in gone.items() if ids)
        self._store.optimize()
        self._verify(header)
        return ImportReport(
            documents=header.documents,
            written=len(writer.written),
            unchanged=unchanged,
            removed=removed,
            chunks=writer.chunks,
            embedded_texts=embedder.embedded,
            sources=header.sources,
            cursors=tuple(name for name in sorted(header.sources) if self._state(header, name).cursor is not None),
            same_converter=same_converter,
        )

    def _same_space(self, header: BaselineHeader) -> bool:
        return (header.embedder, header.dimensions) == (self._embedder.name, self._embedder.dimensions)

    def _untrusted(self, row: BaselineRow) -> str:
        """Return a fingerprint that no sync computes, the same in each import by the same converter."""
        document = row.document
        values = (document.id, document.url, document.title, document.text, document.audiences, self._recipe)
        metadata = json.dumps(dict(document.metadata), sort_keys=True)
        return IMPORTED + sha256(json.dumps([*values, metadata]).encode()).hexdigest()

    def _state(self, header: BaselineHeader, source_id: str) -> SourceState:
        """Return the state after an import; another converter's cursor would skip documents never made by this one."""
        state = header.states.get(source_id, SourceState(source_id))
        report = {**state.report, "baseline": header.digest}
        if header.converter == self._recipe == state.recipe and source_id not in header.unsettled:
            return replace(state, report=report)
        return replace(state, cursor=None, recipe="", report=report)

    def _verify(self, header: BaselineHeader) -> None:
        """Raise StoreError if a document is missing, or if the chunks don't add up to what documents record."""
        for source_id, documents in header.sources.items():
            counts = self._store.count(source_id)
            incomplete = "" in self._store.fingerprints(source_id).values()
            if counts.documents != documents or counts.chunks != counts.recorded_chunks or incomplete:
                raise StoreError(
                    f"The index doesn't hold what was imported for {source_id}: {counts.documents} of {documents} "
                    f"documents, and {counts.chunks} chunks where its documents record {counts.recorded_chunks}.",
                    remedy="Run the import again; it writes only what is missing.",
                    retryable=True,
                )


class BaselineEmbedder:
    """An embedder that returns the vectors of the file, and asks another one for the rest."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vector] = {}
        self._written = 0
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.max_tokens = embedder.max_tokens
        self.embedded = 0

    def learn(self, chunks: Sequence[Chunk], vectors: Matrix | None) -> None:
        """Add the vectors of a document's passages; ignore them if their number differs."""
        if vectors is not None and len(vectors) == len(chunks):
            self._vectors.update(zip((chunk.embedded_text for chunk in chunks), vectors, strict=True))

    def forget(self, written: int) -> None:
        """Drop all vectors if more chunks are written than at the last call."""
        if written != self._written:
            self._written, self._vectors = written, {}

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_documents`."""
        import numpy as np

        missing = [text for text in texts if text not in self._vectors]
        self.embedded += len(missing)
        embedded = dict(zip(missing, self._embedder.embed_documents(missing), strict=True)) if missing else {}
        matrix: Matrix = np.array([self._vectors[text] if text in self._vectors else embedded[text] for text in texts])
        return matrix

    def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`."""
        return self._embedder.embed_query(text)
