"""Baselines: the documents of an index in a file, and a new index made of them without asking any source.

What a later sync skips is decided by fingerprints and cursors, so a file must not carry one that says more than is
true. A fingerprint goes out only for a document that was kept at it before and after it was read; a source's cursor
only when that holds for all its documents. Both go in only where the converter is the file's: passages are made anew by
the splitter and embedder of the index, but what another converter made of a document must not pass for what this one
would make. The converter's name says what it redacts; documents of another one are redacted before they go in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from include.lore.errors import ConfigurationError, StoreError
from include.lore.ingest.baseline_file import FORMAT, BaselineFile, BaselineWriter, Header, Row, writing
from include.lore.ingest.fingerprint import recipe_of
from include.lore.ingest.redact import Redactor
from include.lore.ingest.report import Listener, silent
from include.lore.ingest.stage import alone
from include.lore.ingest.strategy import mark_of
from include.lore.ingest.visibility import hidden, is_hidden, shown
from include.lore.ingest.write import EntryWriter
from include.lore.protocols import Embedder, Splitter, Store
from include.lore.types import Chunk, Document, SourceState

if TYPE_CHECKING:
    from include.lore.types import Matrix, Vector

__all__ = ["Baseline", "ExportReport", "ImportReport"]

GROUP_DOCUMENTS = 64
GROUP_CHARACTERS = 4_000_000
UNFINISHED = "The import of a baseline was not finished; run it again."
IMPORTED = "imported:"
"""Begins the fingerprint of a document that the next sync must make anew: no computed one begins so."""
BASIC = ""
"""An import makes plain passages; where a source declares another strategy, its next sync makes them over."""


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
        self._store = store
        self._embedder = embedder
        self._splitter = splitter
        self._staging_uri = staging_uri
        self._lore_version = lore_version
        self._redactor = redactor or Redactor()
        self._recipe = recipe_of(self._redactor.name)

    # ------------------------------------------------------------------------------------------------------- export

    def export(
        self,
        path: Path,
        *,
        force: bool = False,
        vectors: bool = True,
        listener: Listener = silent,
    ) -> ExportReport:
        """Write all documents, with the states of their sources, into one Parquet file; nothing is embedded.

        It may run beside syncs: states are read first, so that no cursor is ahead of its documents. Raises
        ConfigurationError when the index is empty or the file exists and `force` is not given, and StoreError.
        """
        states = dict(self._store.states())
        total = self._store.count().documents
        if not total:
            raise ConfigurationError("The index is empty: there is nothing to export.", remedy="Run: lore sync --all")
        seen = _Seen({source_id: self._store.kept(source_id) for source_id in states})
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
        split = {document.id: self._split(document, marks[document.id]) for document in documents}
        hashes = [chunk.content_hash for chunks in split.values() for chunk in chunks]
        known = self._store.vectors_for(hashes) if with_vectors and hashes else {}
        for document in documents:
            chunks = split[document.id]
            complete = with_vectors and all(chunk.content_hash in known for chunk in chunks)
            matrix = self._matrix([known[chunk.content_hash] for chunk in chunks]) if complete else None
            yield Row(document, marks[document.id], matrix)

    def _split(self, document: Document, mark: str) -> Sequence[Chunk]:
        return () if is_hidden(mark) else self._splitter.split(document)

    def _matrix(self, vectors: Sequence[Vector]) -> Matrix:
        import numpy as np

        matrix: Matrix = np.array(vectors, dtype=np.float32).reshape(-1, self._embedder.dimensions)
        return matrix

    def _header(self, states: Mapping[str, SourceState], seen: _Seen) -> Header:
        unsettled = {source_id: seen.unsettled(source_id, self._store.kept(source_id)) for source_id in seen.ids}
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

    # ------------------------------------------------------------------------------------------------------- import

    def load(self, path: Path, *, replacing: bool = False, listener: Listener = silent) -> ImportReport:
        """Load a file into the index; no source is asked, and what the file has the vectors of is not embedded.

        With `replacing` the file's sources take the place of the same ones in the index, and others stay. The whole
        file is checked before anything is written. When it is cut off, running it again completes it; until then
        these sources have no cursor. Raises ConfigurationError for a file that cannot be used or an index that is not
        empty, ModelError and StoreError.
        """
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
                chunks = self._split(document, mark)
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
