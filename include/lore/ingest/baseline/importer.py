"""The import of a baseline: a new index made of the documents in a file, without asking any source.

A file's fingerprints and cursors go in only where the converter is the file's: passages are made anew by the splitter
and embedder of the index, but what another converter made of a document must not pass for what this one would make. The
converter's name says what it redacts; documents of another one are redacted before they go in.
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
from lore.ingest.baseline.parquet_file import BaselineFile, Header
from lore.ingest.baseline.row import Row, passages
from lore.ingest.extract.staging import alone
from lore.ingest.finish.visibility import hidden, is_hidden, shown
from lore.ingest.report import Listener, silent
from lore.ingest.strategies.strategy import mark_of
from lore.ingest.write.fingerprint import recipe_of
from lore.ingest.write.writer import EntryWriter
from lore.protocols import Embedder, Splitter, Store
from lore.redact.redactor import Redactor
from lore.types import Chunk, SourceState

if TYPE_CHECKING:
    from lore.types import Matrix, Vector

__all__ = ["BaselineImport", "ImportReport"]

UNFINISHED = "The import of a baseline was not finished; run it again."
IMPORTED = "imported:"
"""Begins the fingerprint of a document that the next sync must make anew: no computed one begins so."""
BASIC = ""
"""An import makes plain passages; where a source declares another strategy, its next sync makes them over."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was loaded. `cursors` names the sources whose next sync goes on from where the file's index had been."""

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
        """The report as JSON values."""
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
        self._recipe = recipe_of(redactor.name)

    def run(self, path: Path, *, replacing: bool = False, listener: Listener = silent) -> ImportReport:
        """See `Baseline.load`."""
        with BaselineFile.open(path) as file, ExitStack() as locks:
            file.check()
            header = file.header
            for source_id in sorted(header.sources):
                locks.enter_context(alone(self._staging_uri, source_id))
            if not replacing:
                self._refuse_others(header)
            report = {"status": "failed", "reason": UNFINISHED, "baseline": header.digest}
            for source_id in header.sources:
                self._store.save_state(SourceState(source_id, status="failed", report=report))
            result = self._load(file, listener)
            for source_id in header.sources:
                self._store.save_state(self._state(header, source_id))
            return result

    def _refuse_others(self, header: Header) -> None:
        """Raise ConfigurationError when the index holds something else than (a part of) this baseline."""

        def is_ours(state: SourceState) -> bool:
            then = header.states.get(state.source_id)  # a sync since then would have left its own moment
            untouched = state.synced_at is None or (then is not None and state.synced_at == then.synced_at)
            return untouched and state.report.get("baseline") == header.digest

        states = self._store.states()
        total = self._store.count().documents
        ours = [source_id for source_id, state in states.items() if is_ours(state)]
        if sum(self._store.count(source_id).documents for source_id in ours) == total:
            return
        held = [source_id for source_id in sorted(states) if source_id not in ours]
        names = ", ".join(held) or "documents of a source whose first sync is not finished"
        raise ConfigurationError(
            f"The index is not empty: it holds {total} documents ({names}).",
            remedy="Set LORE_INDEX_URI (or LORE_WEAVIATE_PREFIX) to a new index, or give --replace to put the file's "
            "sources in the place of those in the index; other sources stay.",
        )

    def _load(self, file: BaselineFile, listener: Listener) -> ImportReport:
        header = file.header
        same_converter = header.converter == self._recipe
        embedder = KnownVectors(self._embedder)
        writer = EntryWriter(self._store, embedder)
        known = {source_id: self._store.fingerprints(source_id) for source_id in header.sources}
        unsettled = {name for ids in header.unsettled.values() for name in ids}
        gone = {source_id: set(marks) for source_id, marks in known.items()}
        unchanged = 0
        for done, row in enumerate(file.rows(), start=1):
            document = row.document if same_converter else self._redactor.document(row.document)
            trusted = same_converter and document.id not in unsettled
            untrusted = hidden if is_hidden(row.fingerprint) and document.id not in unsettled else shown
            mark = mark_of((trusted and row.fingerprint) or untrusted(self._untrusted(row)), BASIC)
            gone[document.source_id].discard(document.id)
            if mark_of(known[document.source_id].get(document.id, ""), BASIC) == mark:
                unchanged += 1
            else:
                chunks = passages(self._splitter, document, mark)
                if document == row.document and header.splitter == self._splitter.name and self._same_space(header):
                    embedder.learn(chunks, row.vectors)
                writer.add(document, mark, chunks)
            embedder.forget(writer.chunks)
            listener(done, header.documents)
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

    def _same_space(self, header: Header) -> bool:
        return (header.embedder, header.dimensions) == (self._embedder.name, self._embedder.dimensions)

    def _untrusted(self, row: Row) -> str:
        """A mark that no sync computes, and that a second import of the same document by the same converter does."""
        document = row.document
        values = (document.id, document.url, document.title, document.text, document.audiences, self._recipe)
        metadata = json.dumps(dict(document.metadata), sort_keys=True)
        return IMPORTED + sha256(json.dumps([*values, metadata]).encode()).hexdigest()

    def _state(self, header: Header, source_id: str) -> SourceState:
        """The state that ends an import; a cursor of another converter would skip what was never made by this one."""
        state = header.states.get(source_id, SourceState(source_id))
        report = {**state.report, "baseline": header.digest}
        if header.converter == self._recipe == state.recipe and source_id not in header.unsettled:
            return replace(state, report=report)
        return replace(state, cursor=None, recipe="", report=report)

    def _verify(self, header: Header) -> None:
        """Read back: every document is there, and has the chunks that it says it has."""
        for source_id, documents in header.sources.items():
            counts = self._store.count(source_id)
            marks = self._store.fingerprints(source_id)
            if counts.documents != documents or counts.chunks != counts.recorded_chunks or "" in marks.values():
                raise StoreError(
                    f"The store does not hold what was imported for {source_id}: {counts.documents} of {documents} "
                    f"documents, and {counts.chunks} chunks where its documents record {counts.recorded_chunks}.",
                    remedy="Run the import again: what is there is not written twice.",
                    retryable=True,
                )


class KnownVectors:
    """An embedder that gives the vectors it was told of, and asks the one behind it for the others."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vector] = {}
        self._written = 0
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.max_tokens = embedder.max_tokens
        self.embedded = 0

    def learn(self, chunks: Sequence[Chunk], vectors: Matrix | None) -> None:
        """Take in the vectors of a document's passages; another number of them belongs to other passages."""
        if vectors is not None and len(vectors) == len(chunks):
            self._vectors.update(zip((chunk.embedded_text for chunk in chunks), vectors, strict=True))

    def forget(self, written: int) -> None:
        """Drop everything once more chunks are written than at the last call."""
        if written != self._written:
            self._written, self._vectors = written, {}

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_documents`."""
        import numpy as np

        missing = [text for text in texts if text not in self._vectors]
        self.embedded += len(missing)
        made = dict(zip(missing, self._embedder.embed_documents(missing), strict=True)) if missing else {}
        matrix: Matrix = np.array([self._vectors[text] if text in self._vectors else made[text] for text in texts])
        return matrix

    def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`."""
        return self._embedder.embed_query(text)
