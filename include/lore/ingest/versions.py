"""Updates of a version of the index from the kept documents: no source is read, nothing is converted.

The same update builds a new version, resumes a build that was killed, and lets a sync write to every version. It
compares the fingerprint of each kept document with the one that the version's chunks were made at. A sync may change a
document in the middle, so the comparison is repeated until nothing differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any
from zlib import crc32

from lore.errors import LoreError, StoreError
from lore.ingest.finish.visibility import is_hidden
from lore.ingest.report import ProgressCallback, no_progress
from lore.ingest.strategies.strategy import Splitters, basic_splitter_only, strategy_of
from lore.ingest.write.writer import EntryWriter
from lore.protocols import Embedder, Splitter, Store
from lore.types import IndexVersion

__all__ = ["BuildReport", "VersionBuilder", "catch_up_versions", "in_share", "outdated_ids"]

PASSES = 20


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Work of an update: documents and chunks written, texts embedded, and documents removed from the version."""

    version: int
    documents: int = 0
    removed: int = 0
    chunks: int = 0
    embedding_calls: int = 0
    embedded_texts: int = 0
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)


class VersionBuilder:
    """Writes the passages of kept documents into one version, as its recipe says.

    `relatives` are stores of other versions with vectors of the same embedder. `splitters` returns the splitter of the
    strategy that a fingerprint names; without it, only the version's own `splitter` is available.
    """

    def __init__(
        self,
        version: IndexVersion,
        store: Store,
        embedder: Embedder,
        splitter: Splitter,
        *,
        relatives: Sequence[Store] = (),
        splitters: Splitters | None = None,
    ) -> None:
        self.version = version
        self.store = store
        self._embedder = embedder
        self._splitters = splitters or basic_splitter_only(splitter)
        self._relatives = relatives

    def catch_up(
        self,
        source_id: str | None = None,
        *,
        ids: Sequence[str] | None = None,
        part: tuple[int, int] | None = None,
        on_progress: ProgressCallback = no_progress,
    ) -> BuildReport:
        """Bring the version up to date for all documents, those of a source, or those `ids`.

        `part` (k, n) takes the k-th of n shares of the documents, one for each of several workers. May be killed and
        called again. `on_progress` receives the number of embedded documents, and their total. Raises ModelError,
        StoreError, and ConfigurationError for an unavailable strategy; what was written before stays.
        """
        started = monotonic()
        removed = total = 0
        writer = EntryWriter(
            self.store,
            self._embedder,
            write=self.store.replace_chunks,
            relatives=self._relatives,
            on_progress=lambda documents, _: on_progress(documents, total),
        )
        for _ in range(PASSES):
            changed, gone = self._differences(source_id, ids, part)
            if not changed and not gone:
                return BuildReport(
                    version=self.version.number,
                    documents=len(set(writer.written)),
                    removed=removed,
                    chunks=writer.chunks,
                    embedding_calls=writer.embedding_calls,
                    embedded_texts=writer.embedded_texts,
                    seconds=round(monotonic() - started, 3),
                )
            if gone:
                self.store.remove_chunks(gone)
                removed += len(gone)
            total = len(writer.written) + len(changed)
            for document in self.store.documents(ids=list(changed)):
                wanted = changed[document.id]
                chunks = () if is_hidden(wanted) else self._splitters(strategy_of(wanted)).split(document)
                writer.add(document, wanted, chunks)
            writer.flush()
        raise StoreError(
            f"Version {self.version.number} can't be completed: documents change faster than it is built.",
            remedy="Run `lore index build` again when no sync is running.",
            retryable=True,
        )

    def _differences(
        self, source_id: str | None, ids: Sequence[str] | None, part: tuple[int, int] | None = None
    ) -> tuple[dict[str, str], list[str]]:
        """Return the documents to write, each with its fingerprint, and the ids of those to remove.

        Fingerprints are read before documents. `replace_chunks` leaves out a text newer than its fingerprint; an older
        text under a newer fingerprint would go unnoticed.
        """
        indexed = self.store.fingerprints(source_id, ids=ids)
        kept = self.store.document_fingerprints(source_id, ids=ids)

        def is_mine(document_id: str) -> bool:
            return part is None or in_share(document_id, part)

        changed = {
            document_id: wanted
            for document_id, wanted in kept.items()
            if indexed.get(document_id) != wanted and is_mine(document_id)
        }
        return changed, [document_id for document_id in indexed if document_id not in kept and is_mine(document_id)]


def outdated_ids(store: Store) -> list[str]:
    """Return the ids of documents that a version doesn't hold as they are kept, or holds and shouldn't."""
    indexed, kept = store.fingerprints(), store.document_fingerprints()
    return [document_id for document_id in {**indexed, **kept} if indexed.get(document_id) != kept.get(document_id)]


def in_share(document_id: str, part: tuple[int, int]) -> bool:
    """Return True if a document belongs to the k-th of n shares; the same in every process."""
    number, of = part
    return crc32(document_id.encode("utf-8", "surrogatepass")) % of == number


def catch_up_versions(
    builders: Callable[[], Sequence[VersionBuilder | LoreError]],
    source_id: str,
    written: Sequence[str],
    on_progress: ProgressCallback,
    *,
    last: bool = False,
) -> tuple[str, ...]:
    """Write the written documents into every version; returns a note for each version that couldn't be written.

    At the end of a run (`last`), a ready version gets all documents of the source, also those written before it was
    made. A version that isn't ready is built by its own builder.
    """
    notes: list[str] = []
    if not written and not last:
        return ()
    for builder in builders():
        if isinstance(builder, LoreError):
            notes.append(str(builder))
            continue
        everything = last and builder.version.status == "ready"
        if not everything and not written:
            continue
        try:
            builder.catch_up(source_id, ids=None if everything else written, on_progress=on_progress)
        except LoreError as error:
            notes.append(f"Version {builder.version.number} of the index is outdated: {error}")
    return tuple(notes)
